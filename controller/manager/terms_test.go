package manager_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/controller/events"
	"github.com/kinform/kinform/controller/manager"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/informer/factory"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/queue"
)

// reign is a manager that the test gives terms.
type reign struct {
	*votes
	log    journal
	server *fake.Server
	inf    *informer.Informer[key, *gadget]
	m      *manager.Manager
}

func newReign(t *testing.T, opts manager.Options) *reign {
	r := &reign{}
	r.votes = &votes{won: make(chan struct{}), lost: make(chan error), log: &r.log}
	r.server, r.inf = setup(t)
	opts.Elector = r.votes
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	r.m = manager.New(opts)
	return r
}

// control adds a controller of all gadgets.
func (r *reign) control(reconcile func(context.Context, key) error, filters ...func(informer.Event[key, *gadget]) bool) *controller.Controller[key] {
	c := controller.New("gadgets", reconcile, controller.Options[key]{Queue: queue.Options[key]{OnError: func(key, error) {}}})
	controller.For(c, r.inf, filters...)
	r.m.AddControllers(c)
	return c
}

func (r *reign) create(t *testing.T, name string) {
	t.Helper()
	if _, err := fake.Create(r.server, &gadget{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name}}); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
}

// win begins a term.
func (r *reign) win() {
	r.won <- struct{}{}
	synctest.Wait()
}

// lose ends it.
func (r *reign) lose() {
	r.votes.lost <- errors.New("the lease has another holder")
	synctest.Wait()
}

func (r *reign) want(t *testing.T, want string) {
	t.Helper()
	if got := r.log.take(); got != want {
		t.Errorf("it did %q, want %q", got, want)
	}
}

// A process that loses the leadership keeps its caches and what serves all processes. The rest stops, and begins again
// with the next term, which finds all changes since. No list is sent for that.
func TestTerms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var records strings.Builder
		r := newReign(t, manager.Options{Logger: slog.New(slog.NewTextHandler(&records, nil))})
		r.control(func(_ context.Context, k key) error { r.log.add("reconciles " + k.Name); return nil })
		r.m.Add("led", r.log.part("led"))
		r.m.AddToAll("all", r.log.part("all"))
		end := begin(t, r.m)
		synctest.Wait()
		r.want(t, "all starts")
		requests := r.server.Requests()
		for _, name := range []string{"one", "two", "three"} {
			r.create(t, name)
			time.Sleep(time.Minute)
			r.want(t, "")
			r.win()
			r.want(t, "led starts, reconciles "+name)
			r.create(t, name+"-more")
			r.want(t, "reconciles "+name+"-more")
			r.lose()
			r.want(t, "gives up, led ends")
			if ready, healthy := get(r.m.Readyz()), get(r.m.Healthz()); ready != "200 ok" || healthy != ready {
				t.Errorf("the probes answer %s, %s", ready, healthy)
			}
		}
		for request, n := range r.server.Requests() {
			if n != requests[request] {
				t.Errorf("%d requests to %v", n-requests[request], request)
			}
		}
		if text := records.String(); strings.Count(text, `level=WARN msg="manager: leadership lost, standing again" error="the lease has another holder"`) != 3 || strings.Count(text, "\n") != 3 {
			t.Errorf("the log is %s", text)
		}
		if err := end(); err != nil {
			t.Error(err)
		}
		r.want(t, "all ends")
	})
}

// A key whose reconcile runs at the loss comes back in the next term, and has not failed. A delayed key comes when it is
// due, or with the next term.
func TestKeysOverTerms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReign(t, manager.Options{})
		calls := map[string]int{}
		c := r.control(func(ctx context.Context, k key) error {
			calls[k.Name]++
			switch {
			case k.Name == "later" && calls[k.Name] == 1:
				return controller.Again(time.Minute)
			case k.Name == "runs" && calls[k.Name] == 1:
				<-ctx.Done()
				return context.Cause(ctx)
			}
			r.log.add("reconciles " + k.Name)
			return nil
		})
		end := begin(t, r.m)
		r.create(t, "later")
		r.win()
		r.create(t, "runs")
		r.create(t, "waits")
		r.want(t, "")
		r.lose()
		r.want(t, "gives up")
		time.Sleep(time.Hour)
		r.want(t, "")
		r.win()
		r.want(t, "reconciles later, reconciles runs, reconciles waits")
		if m := c.Metrics(); m.Results.Failed != 0 || m.Depth+m.Running+m.Delayed != 0 {
			t.Errorf("the metrics are %+v", m)
		}
		r.lose()
		if err := end(); err != nil {
			t.Error(err)
		}
	})
}

// A reconcile that the loss cuts short has served nothing, whatever it returns: in the next term it is known why its key was
// queued.
func TestCausesOverTerms(t *testing.T) {
	for name, result := range map[string]func(context.Context) error{
		"cut short": func(ctx context.Context) error { return ctx.Err() },
		"retry":     func(context.Context) error { return errors.New("refused by the gate") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newReign(t, manager.Options{})
				ends := false
				r.control(func(ctx context.Context, _ key) error {
					causes := controller.CausesOf(ctx)
					r.log.add(fmt.Sprint(causes.Newest, " of ", causes.Adds))
					if ends {
						return nil
					}
					<-ctx.Done()
					return result(ctx)
				})
				end := begin(t, r.m)
				synctest.Wait()
				r.win()
				r.create(t, "one")
				found := r.log.take()
				event, alone := strings.CutSuffix(found, "] of 1")
				if !strings.HasPrefix(event, "[gadgets a/one added ") || !alone {
					t.Errorf("got %q", found)
				}
				again := "[" + name + " " + strings.TrimPrefix(event, "[") + "] of 2"
				for range 5 {
					r.lose()
					r.want(t, "gives up")
					time.Sleep(time.Minute)
					r.win()
					r.want(t, again)
				}
				r.lose()
				ends = true
				time.Sleep(time.Minute)
				r.win()
				r.want(t, again+", gives up")
				if err := end(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A recorder of events can be a part like any other: it runs once in each term.
func TestRecorderOverTerms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReign(t, manager.Options{})
		if err := fake.Register(r.server, events.Kind, fake.Rules{}); err != nil {
			t.Fatal(err)
		}
		recorder := events.New(client.Connection{URL: fake.URL, HTTP: r.server.Client()}, events.Options{Controller: "example.com/gadgets"})
		record := events.For(recorder, kind.Of[*gadget](schema.GroupVersion{Version: "v1"}, "gadgets"))
		r.m.Add("events", recorder)
		end := begin(t, r.m)
		synctest.Wait()
		for n := range 3 {
			r.win()
			record.Normal(&gadget{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "one"}}, "Began", "Begin", "term %d", n)
			time.Sleep(time.Minute)
			r.lose()
		}
		if stats := recorder.Stats(); stats.Written != 3 || stats.Dropped.Total() != 0 {
			t.Errorf("the counts are %+v", stats)
		}
		if err := end(); err != nil {
			t.Error(err)
		}
	})
}

// What can run once only is no part of a term, and the error says where it belongs.
func TestRunsOnce(t *testing.T) {
	_, inf := setup(t)
	for name, part := range map[string]manager.Runner{"cache": inf, "factory": factory.New(client.Connection{}, factory.Options{})} {
		const text = `: it can run once, but Run is called in each term of the Elector: give it to AddToAll, or a cache to AddCaches`
		for _, test := range []struct {
			opts manager.Options
			all  bool
			want string
		}{
			{opts: manager.Options{Elector: flighty{}}, want: `manager: "` + name + `"` + text},
			{opts: manager.Options{Elector: flighty{}}, all: true},
			{opts: manager.Options{Elector: flighty{}, EndWithLeadership: true}},
			{opts: manager.Options{}},
		} {
			m := manager.New(test.opts)
			if test.all {
				m.AddToAll(name, part)
			} else {
				m.Add(name, part)
			}
			if got := fmt.Sprint(m.Err()); got != cmp.Or(test.want, "<nil>") {
				t.Errorf("%s: got %s", name, got)
			}
		}
	}
}

// hasty is an Elector that does not wait for work, and leads again at once.
type hasty struct{ term time.Duration }

func (h hasty) Lead(ctx context.Context, work func(context.Context)) error {
	lead, lose := context.WithTimeout(ctx, h.term)
	defer lose()
	go work(lead)
	<-lead.Done()
	if ctx.Err() != nil {
		return nil
	}
	return errors.New("lost")
}

// A reconcile that ignores its context delays the next term: no key runs twice, and no more than the workers run.
func TestStubbornReconcile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReign(t, manager.Options{})
		m := manager.New(manager.Options{Elector: hasty{7 * time.Second}, Logger: slog.New(slog.DiscardHandler)})
		var running, calls atomic.Int32
		c := controller.New("stubborn", func(context.Context, key) error {
			if running.Add(1) > 1 {
				t.Error("two reconciles run")
			}
			defer running.Add(-1)
			calls.Add(1)
			time.Sleep(5 * time.Second)
			return controller.Again(0)
		})
		controller.For(c, r.inf)
		m.AddControllers(c)
		end := begin(t, m)
		r.create(t, "one")
		time.Sleep(time.Hour)
		if err := end(); err != nil || calls.Load() < 600 {
			t.Errorf("%d calls, %v", calls.Load(), err)
		}
	})
}

// The leadership is lost before the controller has seen the initial objects. It waits for them once, and works in the
// term that follows.
func TestLossWhileFilling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReign(t, manager.Options{})
		release := make(chan struct{})
		r.control(func(_ context.Context, k key) error { r.log.add("reconciles " + k.Name); return nil },
			func(informer.Event[key, *gadget]) bool { <-release; return true })
		r.create(t, "one")
		end := begin(t, r.m)
		synctest.Wait()
		r.win()
		time.Sleep(time.Minute)
		r.lose()
		r.want(t, "gives up")
		close(release)
		time.Sleep(time.Minute)
		r.want(t, "")
		r.win()
		r.want(t, "reconciles one")
		if err := end(); err != nil {
			t.Error(err)
		}
	})
}

// stages is an Elector that does one thing after the other.
type stages []func(ctx context.Context, work func(context.Context)) error

func (s *stages) Lead(ctx context.Context, work func(context.Context)) error {
	if len(*s) == 0 {
		<-ctx.Done()
		return nil
	}
	next := (*s)[0]
	*s = (*s)[1:]
	return next(ctx, work)
}

// leads is a term that ends with the program.
func leads(ctx context.Context, work func(context.Context)) error {
	work(ctx)
	return nil
}

// An Elector that does not lead before it returns ends Run, and so do a part that fails in a later term and a panic.
func TestEndsOfElections(t *testing.T) {
	broken := errors.New("broken")
	term := func(ctx context.Context, work func(context.Context)) error {
		lead, lose := context.WithTimeout(ctx, time.Hour)
		defer lose()
		work(lead)
		return nil
	}
	for name, test := range map[string]struct {
		elector stages
		want    error
		takes   time.Duration
	}{
		"at once":       {stages{func(context.Context, func(context.Context)) error { return nil }}, manager.ErrLeadership, time.Second},
		"with an error": {stages{func(context.Context, func(context.Context)) error { return broken }}, broken, time.Second},
		"later":         {stages{term, func(context.Context, func(context.Context)) error { return broken }}, broken, time.Hour + time.Second},
		"panics":        {stages{term, func(context.Context, func(context.Context)) error { panic(broken) }}, broken, time.Hour},
		"a part fails":  {stages{term, term, leads}, errPart, 2*time.Hour + time.Minute},
		"panics while it leads": {stages{func(ctx context.Context, work func(context.Context)) error {
			go work(ctx)
			time.Sleep(time.Hour)
			panic(broken)
		}}, broken, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := manager.New(manager.Options{Elector: &test.elector, Logger: slog.New(slog.DiscardHandler)})
				terms := 0
				m.Add("part", manager.Func(func(ctx context.Context) error {
					if terms++; terms < 3 {
						<-ctx.Done()
						return ctx.Err()
					}
					time.Sleep(time.Minute)
					return errPart
				}))
				began := time.Now()
				err := m.Run(t.Context())
				var panicked *informer.PanicError
				if took := time.Since(began); !errors.Is(err, test.want) && !(errors.As(err, &panicked) && panicked.Value == test.want) || took != test.takes {
					t.Errorf("after %v: %v", took, err)
				}
			})
		})
	}
}

var errPart = errors.New("the part is broken")

// A leadership that is lost before the new goroutine of an Elector calls work is lost like any other: nothing begins, and
// Run goes on with the next term. A call that comes still later belongs to no term.
func TestLostBeforeWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := func(after time.Duration, result error) func(context.Context, func(context.Context)) error {
			return func(ctx context.Context, work func(context.Context)) error {
				lead, lose := context.WithCancel(ctx)
				defer lose()
				go func() { time.Sleep(after); work(lead) }()
				return result
			}
		}
		for name, test := range map[string]struct {
			elector stages
			terms   int
			fails   bool
		}{
			"no result":     {stages{late(time.Millisecond, nil), leads}, 1, false},
			"with an error": {stages{late(999*time.Millisecond, errors.New("lost")), late(0, errors.New("lost")), leads}, 1, false},
			"too late":      {stages{late(2*time.Second, nil), leads}, 0, true},
		} {
			m := manager.New(manager.Options{Elector: &test.elector, Logger: slog.New(slog.DiscardHandler)})
			terms := 0
			m.Add("part", manager.Func(func(ctx context.Context) error { terms++; <-ctx.Done(); return nil }))
			end := begin(t, m)
			time.Sleep(time.Minute)
			if err := end(); terms != test.terms || errors.Is(err, manager.ErrLeadership) != test.fails {
				t.Errorf("%s: %d terms, %v", name, terms, err)
			}
		}
	})
}

// flighty is an Elector whose terms have no length.
type flighty struct{}

func (flighty) Lead(ctx context.Context, work func(context.Context)) error {
	lead, lose := context.WithCancel(ctx)
	lose()
	work(lead)
	return nil
}

// An Elector that loses the leadership at once is asked once in a second, and a stop does not wait for that.
func TestShortTerms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := manager.New(manager.Options{Elector: flighty{}, Logger: slog.New(slog.DiscardHandler)})
		var terms atomic.Int32
		m.Add("part", manager.Func(func(ctx context.Context) error { terms.Add(1); <-ctx.Done(); return nil }))
		end := begin(t, m)
		time.Sleep(time.Hour + time.Millisecond)
		if n := terms.Load(); n == 0 || n > 3601 {
			t.Errorf("%d terms", n)
		}
		began := time.Now()
		if err := end(); err != nil || time.Since(began) > 0 {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}

// A stop at the very moment of a loss is an orderly stop.
func TestStopAtLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		m := manager.New(manager.Options{Logger: slog.New(slog.DiscardHandler), Elector: &stages{func(_ context.Context, work func(context.Context)) error {
			lead, lose := context.WithCancel(context.WithoutCancel(ctx))
			time.AfterFunc(time.Second, func() { stop(); lose() })
			work(lead)
			return errors.New("the lease has another holder")
		}}})
		m.Add("part", manager.Func(func(ctx context.Context) error { <-ctx.Done(); return nil }))
		if err := m.Run(ctx); err != nil {
			t.Error(err)
		}
	})
}

// The context of work ends with Lead, even if it is not derived from Lead's.
func TestLeadThatReturnsEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		own, end := context.WithCancel(context.Background())
		defer end()
		early := func(_ context.Context, work func(context.Context)) error {
			go work(own)
			time.Sleep(time.Hour)
			return nil
		}
		m := manager.New(manager.Options{Elector: &stages{early, early}, Logger: slog.New(slog.DiscardHandler)})
		var terms, works atomic.Int32
		m.Add("part", manager.Func(func(ctx context.Context) error {
			terms.Add(1)
			works.Add(1)
			<-ctx.Done()
			works.Add(-1)
			return nil
		}))
		stop := begin(t, m)
		time.Sleep(3 * time.Hour)
		if terms.Load() != 2 || works.Load() != 0 {
			t.Errorf("%d terms, %d work", terms.Load(), works.Load())
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// RunOptions.Grace is for the end of the program. When the leadership is lost, another process may work, so calls end at
// once.
func TestGraceOfCallsAtLoss(t *testing.T) {
	for name, grace := range map[string]time.Duration{"some": 25 * time.Second, "without end": -1} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newReign(t, manager.Options{})
				c := controller.New("gadgets", func(ctx context.Context, _ key) error {
					select {
					case <-ctx.Done():
						r.log.add("cut")
					case <-time.After(20 * time.Second):
						r.log.add("worked to its end")
					}
					return nil
				}, controller.Options[key]{Run: queue.RunOptions{Grace: grace}})
				controller.For(c, r.inf)
				r.m.AddControllers(c)
				end := begin(t, r.m)
				synctest.Wait()
				r.win()
				r.create(t, "one")
				synctest.Wait()
				go r.lose()
				time.Sleep(10 * time.Second)
				r.want(t, "cut, gives up")
				r.win()
				r.create(t, "two")
				synctest.Wait()
				if err := end(); err != nil {
					t.Error(err)
				}
				if did := r.log.take(); !strings.Contains(did, "worked to its end") {
					t.Errorf("the stop of the program: it did %q", did)
				}
			})
		})
	}
}
