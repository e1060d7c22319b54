package sim_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/sim"
	"github.com/kinform/kinform/fake/sim/internal/planted"
	"github.com/kinform/kinform/reflector"
)

// idle is a program that does nothing.
func idle(ctx context.Context, _ client.Connection) error {
	<-ctx.Done()
	return nil
}

// stay outlasts all schedules. Its goroutine is lost: nothing can end it.
func stay() error {
	time.Sleep(1000 * time.Hour)
	return nil
}

// TestTrouble explores programs that cannot be explored. Each gets an error that names the cause, and no test hangs.
func TestTrouble(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var stopSpinning atomic.Bool
	outside := make(chan struct{})
	var schedules atomic.Int32
	for name, c := range map[string]struct {
		run   func(ctx context.Context, to client.Connection) error
		users func(w *sim.World) error
		free  func() // lets the program go on that hung
		want  []string
	}{
		"it does not end": {
			run:  func(context.Context, client.Connection) error { return stay() },
			want: []string{"Run has not returned five minutes after its context ended", "sim_test.stay"},
		},
		"it uses the network": {
			run: func(ctx context.Context, _ client.Connection) error {
				_, _ = listener.Accept()
				return idle(ctx, client.Connection{})
			},
			free: func() { _ = listener.Close() },
			want: []string{"real time", "IO wait", "net."},
		},
		"it waits for a goroutine outside": {
			run:  func(ctx context.Context, to client.Connection) error { <-outside; return idle(ctx, to) },
			free: func() { close(outside) },
			want: []string{"real time", "chan receive", "TestTrouble"},
		},
		"it computes for ever": {
			run: func(ctx context.Context, to client.Connection) error {
				for !stopSpinning.Load() {
				}
				return idle(ctx, to)
			},
			free: func() { stopSpinning.Store(true) },
			want: []string{"real time", "TestTrouble"},
		},
		"it leaves a goroutine": {
			run: func(ctx context.Context, to client.Connection) error {
				go func() { _ = stay() }()
				return idle(ctx, to)
			},
			want: []string{"leaves goroutines that never end"},
		},
		"it panics": {
			run:  func(context.Context, client.Connection) error { panic("no shop") },
			want: []string{"process 1 ended on its own", "panic: no shop"},
		},
		"it quits": {
			run:  func(context.Context, client.Connection) error { runtime.Goexit(); return nil },
			want: []string{"process 1 ended on its own: it ended its goroutine, as t.Fatal does"},
		},
		"it ends": {
			run:  func(context.Context, client.Connection) error { return errors.New("no license") },
			want: []string{"process 1 ended on its own", "no license"},
		},
		"it is not the same each time": {
			run: func(ctx context.Context, to client.Connection) error {
				name := strings.Repeat("a", int(schedules.Load()))
				configs, err := client.New(to, planted.Configs, client.Options{})
				if err != nil {
					return err
				}
				_, err = configs.Create(ctx, fake.Object(&planted.Config{}, "prod", name), metav1.CreateOptions{})
				if apierrors.IsAlreadyExists(err) {
					err = nil
				}
				return errors.Join(err, idle(ctx, to))
			},
			want: []string{"not deterministic", `prod/a`, `prod/aa`},
		},
		"it writes other values each time": {
			run: func(ctx context.Context, to client.Connection) error {
				config := fake.Object(&planted.Config{Data: map[string]string{"drawn": fmt.Sprint("lot-", schedules.Load())}}, "prod", "a")
				_, err := kinform.Open(to, planted.Configs).Create(ctx, config, metav1.CreateOptions{})
				if apierrors.IsAlreadyExists(err) {
					err = nil
				}
				return errors.Join(err, idle(ctx, to))
			},
			want: []string{"not deterministic: two runs without a fault end differently", `lot-`},
		},
		"it floods the server": {
			run: func(ctx context.Context, to client.Connection) error {
				configs, err := client.New(to, planted.Configs, client.Options{})
				for err == nil && ctx.Err() == nil {
					_, _ = configs.Get(ctx, types.NamespacedName{Namespace: "prod", Name: "a"}, metav1.GetOptions{})
				}
				return err
			},
			want: []string{"sends too many requests", "get configs.example.com prod/a"},
		},
		"the server lacks a resource": {
			run: func(ctx context.Context, to client.Connection) error {
				shops, err := client.New(to, planted.Shops, client.Options{})
				if err == nil {
					_, err = shops.List(ctx, metav1.ListOptions{}, func(reflector.Event[*planted.Shop], error) bool { return true })
				}
				return errors.Join(err, idle(ctx, to))
			},
			want: []string{"list shops.example.com *", "call fake.Register"},
		},
		"users fail": {
			run:   idle,
			users: func(*sim.World) error { return errors.New("no such shop") },
			want:  []string{"the script does not apply: Users: no such shop"},
		},
		"users quit": {
			run:   idle,
			users: func(*sim.World) error { runtime.Goexit(); return nil },
			want:  []string{"the script does not apply: Users: it ended its goroutine, as t.Fatal does"},
		},
		"users never return": {
			run:   idle,
			users: func(*sim.World) error { return stay() },
			want:  []string{"the script does not end", "sim_test.stay"},
		},
		"users settle for ever": {
			run: idle,
			users: func(w *sim.World) error {
				for {
					w.Settle()
				}
			},
			want: []string{"the script does not end", "in github.com/kinform/kinform/fake/sim.(*World).Settle, at", "trouble_test.go"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if c.users == nil {
				c.users = func(*sim.World) error { return nil }
			}
			patience := 5 * time.Minute // only a program that hangs needs it
			if c.free != nil {
				patience = 2 * time.Second
			}
			got := sim.Trouble(t, func() sim.Program {
				schedules.Add(1)
				server := fake.New(fake.Options{})
				if err := fake.Register(server, planted.Configs, fake.Rules{}); err != nil {
					t.Fatal(err)
				}
				return sim.Program{Server: server, Run: c.run, Users: c.users, Keeps: []string{"configs.example.com"}}
			}, patience, c.free)
			for _, part := range c.want {
				if !strings.Contains(got, part) {
					t.Errorf("got %q, want %q in it", got, part)
				}
			}
		})
	}
}

// A Program that lacks something gets an error with the name of the field, and so does one whose functions go wrong.
func TestBadProgram(t *testing.T) {
	outside := planted.Tickets().Server
	for name, c := range map[string]struct {
		change func(p *sim.Program)
		want   string
	}{
		"no server":         {func(p *sim.Program) { p.Server = nil }, "Program.Server is nil"},
		"server outside":    {func(p *sim.Program) { p.Server = outside }, "Program.Server is the same one each time"},
		"no run":            {func(p *sim.Program) { p.Run = nil }, "Program.Run is nil"},
		"no users":          {func(p *sim.Program) { p.Users = nil }, "Program.Users is nil"},
		"negative replicas": {func(p *sim.Program) { p.Replicas = -3 }, "Program.Replicas is -3"},
		"it quits":          {func(*sim.Program) { runtime.Goexit() }, "cannot explore: it ended its goroutine"},
		"it panics":         {func(*sim.Program) { panic("no server") }, "cannot explore: panic: no server"},
		"finally panics":    {func(p *sim.Program) { p.Finally = func(*sim.World) error { panic("oh") } }, `rule "finally" does not hold without any fault` + "\npanic: oh"},
		"finally quits":     {func(p *sim.Program) { p.Finally = func(*sim.World) error { runtime.Goexit(); return nil } }, "it ended its goroutine"},
		"finally waits":     {func(p *sim.Program) { p.Finally = func(w *sim.World) error { w.Settle(); return nil } }, "for the goroutine of Program.Users alone"},
		"always panics":     {func(p *sim.Program) { p.Always = func(*sim.World) error { panic("oh") } }, `rule "always" does not hold without any fault` + "\npanic: oh"},
		"always waits":      {func(p *sim.Program) { p.Always = func(w *sim.World) error { w.Settle(); return nil } }, "for the goroutine of Program.Users alone"},
	} {
		t.Run(name, func(t *testing.T) {
			got := sim.Trouble(t, func() sim.Program {
				p := planted.Tickets()
				c.change(&p)
				return p
			}, time.Minute, nil)
			if !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q in it", got, c.want)
			}
		})
	}
	if got := sim.Trouble(t, nil, time.Minute, nil); !strings.Contains(got, "the function that makes the Program is nil") {
		t.Errorf("got %q of no function", got)
	}
}

// Explore cannot be in a bubble, and says so.
func TestInBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := sim.Trouble(t, planted.Tickets, time.Minute, nil)
		if want := "sim: cannot explore: no bubble can begin here: synctest.Run called from within a synctest bubble"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// A panic prints the stack of its goroutine, which has the schedule.
func TestStackHasSchedule(t *testing.T) {
	const schedule = "lose create configs.example.com prod/a"
	stacks := make(map[bool]string)
	program := making(func(error) {})
	found := sim.Again(t, func() sim.Program {
		p := program()
		run := p.Run
		p.Run = func(ctx context.Context, to client.Connection) error {
			done := make(chan string)
			go func() { done <- string(debug.Stack()) }()
			stack := <-done
			stacks[strings.Contains(stack, schedule)] = stack
			return run(ctx, to)
		}
		return p
	}, schedule)
	if found != "" || len(stacks) != 2 || !strings.Contains(stacks[true], `labels:{"schedule": "`+schedule) {
		t.Errorf("%s; stacks %v", found, stacks)
	}
}
