package clientgo_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/controller/manager"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/internal/longtest"
	"github.com/kinform/kinform/internal/pause"
	"github.com/kinform/kinform/shard/leader"
)

// ballot is a Lease that candidates of both libraries stand for. Who leads writes.
type ballot struct {
	t      *testing.T
	server *fake.Server
	mu     sync.Mutex
	leads  map[string]context.Context // contexts of work, by identity
	terms  map[bool]int               // of client-go (true) and of Kinform
	writes map[bool]int               // like terms
	last   string
}

// work takes the place of a leader's work.
func (b *ballot) work(ctx context.Context, identity string, theirs bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for other, context := range b.leads {
		if context.Err() == nil {
			b.t.Errorf("%s and %s lead", other, identity)
		}
	}
	clear(b.leads)
	b.leads[identity] = ctx
	b.terms[theirs]++
	b.last = identity
}

// writeOn writes until ctx ends.
func (b *ballot) writeOn(ctx context.Context, conn client.Connection) {
	c, err := client.New(conn, leader.Kind, client.Options{Namespace: "written"})
	check(b.t, err)
	for ctx.Err() == nil {
		_, _ = c.Create(ctx, &leader.Lease{ObjectMeta: metav1.ObjectMeta{GenerateName: "w"}}, metav1.CreateOptions{})
		_ = pause.For(ctx, time.Second)
	}
}

// arrives checks a write that comes to the server: it is from who has begun to lead last.
func (b *ballot) arrives(identity string, theirs bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.writes[theirs]++
	if identity != b.last {
		b.t.Errorf("%s writes, and %s leads", identity, b.last)
	}
}

// leader returns who leads; empty if nobody does.
func (b *ballot) leader() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if ctx := b.leads[b.last]; ctx == nil || ctx.Err() != nil {
		return ""
	}
	return b.last
}

// create makes a task, which is a Lease without a holder.
func (b *ballot) create(n int) {
	b.t.Helper()
	_, err := fake.Create(b.server, &leader.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "tasks", Name: fmt.Sprint(n)}})
	check(b.t, err)
}

// doTasks returns a controller that writes by whom a task was done.
func doTasks(conn client.Connection, by string) *controller.Controller[kinform.Key] {
	handle := kinform.Open(conn, leader.Kind, controller.OpenOptions[*leader.Lease]{Client: client.Options{Namespace: "tasks"}})
	c := controller.New("tasks", func(ctx context.Context, key kinform.Key) error {
		if task, ok := handle.Cached(key); !ok || task.Spec.HolderIdentity != nil {
			return nil
		}
		_, err := handle.Patch(ctx, key, types.MergePatchType, []byte(`{"spec":{"holderIdentity":"`+by+`"}}`), metav1.PatchOptions{})
		return err
	}, controller.Options[kinform.Key]{Logger: slog.New(slog.DiscardHandler)})
	controller.For(c, handle)
	return c
}

// line is the way to the server. It is slow, and can be cut.
type line struct {
	b        *ballot
	identity string
	theirs   bool
	next     http.RoundTripper
	cut      atomic.Bool
}

func (l *line) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	if l.cut.Load() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if r.Method == http.MethodGet {
		return l.next.RoundTrip(r)
	}
	renews := strings.Contains(r.URL.Path, "/namespaces/n/")
	there, back := time.Duration(1+rand.IntN(1000))*time.Millisecond, time.Duration(0)
	if renews {
		there, back = 3*there, there // with client-go not longer: it writes until 13 s after an answer, and others wait 15
	}
	answered := make(chan struct{})
	var answer *http.Response
	var err error
	time.AfterFunc(there, func() { // even if ctx ends before
		if !renews {
			l.b.arrives(l.identity, l.theirs)
		}
		answer, err = l.next.RoundTrip(r.WithContext(context.WithoutCancel(ctx)))
		time.Sleep(back)
		close(answered)
	})
	select {
	case <-answered:
		return answer, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// voter is a candidate that runs.
type voter struct {
	line  *line
	end   context.CancelFunc
	ended chan struct{}
}

// stand makes a candidate of one of the libraries.
func (b *ballot) stand(identity string, theirs bool) *voter {
	ctx, cancel := context.WithCancel(context.Background())
	v := &voter{line: &line{b: b, identity: identity, theirs: theirs, next: b.server.Client().Transport}, end: cancel, ended: make(chan struct{})}
	httpClient := &http.Client{Transport: v.line}
	lead := b.theirs
	if !theirs {
		lead = b.ours
	}
	run := lead(identity, httpClient)
	go func() {
		defer close(v.ended)
		run(ctx)
	}()
	return v
}

// ours is a program with a manager, which stands again when it has lost the Lease.
func (b *ballot) ours(identity string, httpClient *http.Client) func(context.Context) {
	conn := client.Connection{URL: fake.URL, HTTP: httpClient}
	quiet := slog.New(slog.DiscardHandler)
	e := leader.New(conn, leader.Options{Namespace: "n", Name: "l", Identity: identity, Logger: quiet})
	m := manager.New(manager.Options{Elector: e, Logger: quiet})
	gated := e.Gate(conn)
	m.AddControllers(doTasks(gated, "Kinform"))
	m.Add("work", manager.Func(func(ctx context.Context) error {
		b.work(ctx, identity, false)
		b.writeOn(ctx, gated)
		return nil
	}))
	return func(ctx context.Context) {
		if err := m.Run(ctx); err != nil {
			b.t.Error(err)
		}
	}
}

func (b *ballot) theirs(identity string, httpClient *http.Client) func(context.Context) {
	config := &rest.Config{Host: fake.URL, Timeout: 5 * time.Second, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
	clients, err := kubernetes.NewForConfigAndClient(config, httpClient)
	check(b.t, err)
	e, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Namespace: "n", Name: "l"}, Client: clients.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
		},
		LeaseDuration: leader.DefaultLeaseDuration, RenewDeadline: leader.DefaultRenewDeadline, RetryPeriod: leader.DefaultRetryPeriod,
		// Not ReleaseOnCancel: then client-go ends the context of work only after it has tried to
		// give the Lease up, even if it could not renew it. So its work outlives its lease if the
		// server does not answer.
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) {
				b.work(ctx, identity, true)
				conn := client.Connection{URL: fake.URL, HTTP: httpClient}
				m := manager.New(manager.Options{Logger: slog.New(slog.DiscardHandler)})
				m.AddControllers(doTasks(conn, "client-go"))
				m.Add("work", manager.Func(func(ctx context.Context) error { b.writeOn(ctx, conn); return nil }))
				check(b.t, m.Run(ctx))
			},
			OnStoppedLeading: func() {},
		},
	})
	check(b.t, err)
	return e.Run
}

// TestMixedElection lets candidates of both libraries stand for one Lease, while renewals are slow, and leaders end in
// order, or are cut off; some of ours then stand again. There is always one that leads, and never a second that leads or
// writes. Their controllers leave no task.
func TestMixedElection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &ballot{t: t, server: fake.New(fake.Options{}), leads: map[string]context.Context{}, terms: map[bool]int{}, writes: map[bool]int{}}
		check(t, fake.Register(b.server, leader.Kind, fake.Rules{}))
		rng := rand.New(rand.NewPCG(1, 2))
		voters := map[string]*voter{}
		for n := range 4 {
			identity := fmt.Sprint("c", n)
			voters[identity] = b.stand(identity, n%2 == 0)
		}
		time.Sleep(30 * time.Second)
		for round := range longtest.N(40, 400) {
			identity := b.leader()
			if identity == "" {
				t.Errorf("round %d: nobody leads; the last was %s", round, b.last)
				break
			}
			lease, err := fake.Get[*leader.Lease](b.server, types.NamespacedName{Namespace: "n", Name: "l"})
			check(t, err)
			if *lease.Spec.HolderIdentity != identity || *lease.Spec.LeaseDurationSeconds != 15 {
				t.Errorf("round %d: %s leads, but the Lease is %+v", round, identity, lease.Spec)
			}
			v, wait := voters[identity], 5*time.Second
			if rng.IntN(2) == 0 {
				v.line.cut.Store(true)
				wait = 20 * time.Second
			} else {
				v.end()
			}
			b.create(2 * round)
			time.Sleep(time.Duration(rng.Int64N(int64(wait))))
			synctest.Wait()
			b.create(2*round + 1)
			time.Sleep(wait)
			if !v.line.theirs && v.line.cut.Load() && rng.IntN(2) == 0 {
				v.line.cut.Store(false) // it stands again by itself
			} else {
				v.end()
				<-v.ended
				voters[identity] = b.stand(identity, rng.IntN(2) == 0)
			}
			time.Sleep(30 * time.Second)
			synctest.Wait()
		}
		tasks, err := fake.List[*leader.Lease](b.server, fake.Selection{Namespace: "tasks"})
		check(t, err)
		done := map[string]int{}
		for _, task := range tasks {
			if task.Spec.HolderIdentity == nil {
				t.Errorf("nobody has done task %s", task.Name)
			} else {
				done[*task.Spec.HolderIdentity]++
			}
		}
		for _, v := range voters {
			v.end()
			<-v.ended
		}
		time.Sleep(10 * time.Second) // for what is still on its way
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.terms[true] < 5 || b.terms[false] < 5 || b.writes[true] < 100 || b.writes[false] < 100 || done["client-go"] < 5 || done["Kinform"] < 5 {
			t.Error("that is not enough")
		}
		t.Logf("client-go led %d times and wrote %d times, Kinform %d and %d times; tasks: %v", b.terms[true], b.writes[true], b.terms[false], b.writes[false], done)
	})
}
