package controller_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/queue"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type key = types.NamespacedName

// gadget is a resource whose objects belong to the owner that they name.
type gadget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Owner             string `json:"owner,omitempty"`
}

var gadgetKind = kind.Of[*gadget](schema.GroupVersion{Version: "v1"}, "gadgets")

func owner(dst []string, g *gadget) []string { return append(dst, g.Owner) }

func newGadget(name, owner string) *gadget {
	return &gadget{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name}, Owner: owner}
}

func setup(t testing.TB) (*fake.Server, *informer.Informer[key, *gadget]) {
	t.Helper()
	server := fake.New(fake.Options{})
	if err := fake.Register(server, gadgetKind, fake.Rules{}); err != nil {
		t.Fatal(err)
	}
	return server, informerWith(t, server, informer.Options[*gadget]{})
}

func create(t testing.TB, server *fake.Server, g *gadget) *gadget {
	t.Helper()
	g, err := fake.Create(server, g)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// calls collects the keys that were reconciled.
type calls[Q comparable] struct {
	mu   sync.Mutex
	keys []Q
}

func (c *calls[Q]) reconcile(_ context.Context, key Q) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keys = append(c.keys, key)
	return nil
}

// take returns the keys in order of their text, and forgets them.
func (c *calls[Q]) take() (texts []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, key := range c.keys {
		texts = append(texts, fmt.Sprint(key))
	}
	slices.Sort(texts)
	c.keys = nil
	return texts
}

// reconciling calls run of a delayed controller. stop ends it, without an error.
func reconciling[Q comparable](t *testing.T, run func(context.Context, func(context.Context, Q) error) error) (got *calls[Q], stop func()) {
	got = new(calls[Q])
	return got, started(t, func(ctx context.Context) error { return run(ctx, got.reconcile) })
}

// started calls run in a goroutine. stop ends it, without an error.
func started(t *testing.T, run func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	return func() {
		t.Helper()
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run returned %v", err)
		}
	}
}

// An object that a Filter refuses from now on leaves both owners something to do: the one that it
// had in the cache, and the one that it has now.
func TestWatchQueuesOwnerOfRefusedObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, _ := setup(t)
		all, err := fake.NewSource[*gadget](server, fake.Selection{})
		if err != nil {
			t.Fatal(err)
		}
		some := reflector.Filter(all, func(g *gadget) bool { return g.Owner != "y" })
		inf, err := informer.New(some, store.ObjectKey, informer.Options[*gadget]{})
		if err != nil {
			t.Fatal(err)
		}
		g := create(t, server, newGadget("one", "x"))
		c, runC := delayed[string]("")
		controller.Watch(c, inf, owner)
		got, stop := reconciling(t, runC)
		synctest.Wait()
		got.take()
		g.Owner = "y"
		if _, err := fake.Update(server, g); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if keys := got.take(); !slices.Equal(keys, []string{"x", "y"}) {
			t.Errorf("reconciled %q, want x and y", keys)
		}
		stop()
	})
}

func TestWatchQueuesOldAndNewOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, inf := setup(t)
		g := create(t, server, newGadget("one", "x"))
		create(t, server, newGadget("two", "x"))
		c, runC := delayed[string]("")
		controller.Watch(c, inf, owner)
		got, stop := reconciling(t, runC)
		for _, step := range []struct {
			name string
			do   func() error
			want []string
		}{
			{"initial list", func() error { return nil }, []string{"x"}},
			{"a reference moves", func() (err error) {
				g.Owner = "y"
				g, err = fake.Update(server, g)
				return err
			}, []string{"x", "y"}},
			{"the object goes", func() error {
				_, err := fake.Delete[*gadget](server, key{Namespace: "a", Name: "one"})
				return err
			}, []string{"y"}},
		} {
			if err := step.do(); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if keys := got.take(); !slices.Equal(keys, step.want) {
				t.Errorf("%s: reconciled %q, want %q", step.name, keys, step.want)
			}
		}
		stop()
	})
}

// A change does not wait behind a resync of many keys, whether the changed key is among them or not.
// All keys of the resync have their turn.
func TestResyncGoesBehind(t *testing.T) {
	const objects, each = 1000, 100 * time.Millisecond
	for _, changed := range []string{"old777", "new"} { // one of the keys that wait, and another one
		synctest.Test(t, func(t *testing.T) {
			server, _ := setup(t)
			for n := range objects {
				create(t, server, newGadget(fmt.Sprint("old", n), ""))
			}
			const period = time.Hour
			inf := informerWith(t, server, informer.Options[*gadget]{Resync: period})
			c, runC := delayed("", controller.Options[key]{Queue: queue.Options[key]{}})
			controller.For(c, inf)
			ctx, cancel := context.WithCancel(t.Context())
			var mu sync.Mutex
			at := map[string]time.Time{}
			resynced := 0
			ended := make(chan error, 1)
			go func() {
				ended <- runC(ctx, func(_ context.Context, k key) error {
					time.Sleep(each)
					mu.Lock()
					defer mu.Unlock()
					at[k.Name] = time.Now()
					resynced++
					return nil
				})
			}()
			time.Sleep(period/2 - time.Minute) // after the first list
			mu.Lock()
			resynced = 0
			mu.Unlock()
			for { // until the resync goes on for a time, so that its keys have aged
				time.Sleep(time.Second)
				mu.Lock()
				n := resynced
				mu.Unlock()
				if n >= 300 {
					break
				}
			}
			began := time.Now()
			g := newGadget(changed, "")
			if changed == "new" {
				create(t, server, g)
			} else {
				g = done(fake.Get[*gadget](server, key{Namespace: "a", Name: changed}))
				g.Owner = "changed"
				done(fake.Update(server, g))
			}
			time.Sleep(time.Second)
			mu.Lock()
			if took := at[changed].Sub(began); took < 0 || took > 3*each {
				t.Errorf("%s is done %v after its change: one key was running, and one may have aged", changed, took)
			}
			mu.Unlock()
			time.Sleep(2 * objects * each)
			mu.Lock()
			if resynced < objects {
				t.Errorf("%d keys had their turn", resynced)
			}
			mu.Unlock()
			cancel()
			ok(t, <-ended)
		})
	}
}

// Whatever watches the objects, the keys of their resync have a lower priority than changes.
func TestResyncPriority(t *testing.T) {
	byName := func(g *gadget) key { return key{Namespace: g.Namespace, Name: g.Owner} }
	for call, watch := range map[string]func(c *controller.Controller[key], owners, resynced *informer.Informer[key, *gadget]){
		"For": func(c *controller.Controller[key], _, resynced *informer.Informer[key, *gadget]) {
			controller.For(c, resynced)
		},
		"Watch": func(c *controller.Controller[key], _, resynced *informer.Informer[key, *gadget]) {
			controller.Watch(c, resynced, func(dst []key, g *gadget) []key { return append(dst, byName(g)) })
		},
		"Owns": func(c *controller.Controller[key], owners, resynced *informer.Informer[key, *gadget]) {
			controller.For(c, owners)
			controller.Owns(c, owners, resynced)
		},
		"References": func(c *controller.Controller[key], owners, resynced *informer.Informer[key, *gadget]) {
			controller.For(c, owners)
			controller.References(c, resynced, informer.AddIndex(owners, index.By("owner", byName)))
		},
	} {
		t.Run(call, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server, owners := setup(t)
				one := create(t, server, newGadget("one", ""))
				two := newGadget("two", "one")
				yes := true
				two.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Gadget", Name: one.Name, UID: one.UID, Controller: &yes}}
				create(t, server, two)
				c, runC := delayed[key]("")
				watch(c, owners, informerWith(t, server, informer.Options[*gadget]{Resync: time.Hour}))
				ctx, cancel := context.WithCancel(t.Context())
				ended, release := make(chan error, 1), make(chan struct{})
				go func() {
					ended <- runC(ctx, func(_ context.Context, k key) error {
						if k.Name == "busy" {
							<-release
						}
						return nil
					})
				}()
				time.Sleep(time.Minute)
				c.Queue().Add(key{Name: "busy"}) // holds the only worker
				var queued []queue.KeyStatus[key]
				for n := 0; len(queued) == 0 && n < 2*60*60; n++ {
					time.Sleep(time.Second)
					queued = c.Queue().Snapshot().Queued
				}
				if len(queued) == 0 {
					t.Error("a resync queues nothing")
				}
				for _, k := range queued {
					if k.Priority != -100 {
						t.Errorf("%v has the priority %d", k.Key, k.Priority)
					}
				}
				close(release)
				cancel()
				ok(t, <-ended)
			})
		})
	}
}

// TestInitialPriority makes sure that what changes is not held up by what was there.
func TestInitialPriority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, inf := setup(t)
		for n := range 10 {
			create(t, server, newGadget(fmt.Sprint("old", n), ""))
		}
		c, runC := delayed[key]("")
		controller.For(c, inf)
		ctx, cancel := context.WithCancel(t.Context())
		goOn := make(chan struct{})
		var order []string
		ended := make(chan error, 1)
		go func() {
			ended <- runC(ctx, func(_ context.Context, k key) error {
				<-goOn
				order = append(order, k.Name)
				return nil
			})
		}()
		synctest.Wait()
		create(t, server, newGadget("new", ""))
		synctest.Wait()
		close(goOn)
		synctest.Wait()
		cancel()
		<-ended
		if len(order) != 11 || order[1] != "new" {
			t.Errorf("reconciled %q, want the new one right after the one that was running", order)
		}
	})
}

func TestReconcileFindsWholeCaches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, inf := setup(t)
		for n := range 100 {
			create(t, server, newGadget(fmt.Sprint(n), "x"))
		}
		c, runC := delayed[string]("")
		controller.Watch(c, inf, owner)
		err := runC(t.Context(), func(context.Context, string) error {
			if got := inf.Store().Len(); got != 100 {
				t.Errorf("reconcile found %d objects, want 100", got)
			}
			c.Queue().ShutDown()
			return nil
		})
		if err != nil {
			t.Errorf("Run returned %v after ShutDown", err)
		}
	})
}

func TestSharedInformerGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, inf := setup(t)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- inf.Run(ctx) }()
		synctest.Wait()

		c, runC := delayed[key]("")
		controller.For(c, inf)
		controller.For(c, inf)
		mine, stop := context.WithCancel(ctx)
		stopped := make(chan error, 1)
		go func() { stopped <- runC(mine, new(calls[key]).reconcile) }()
		synctest.Wait()
		stop()
		if err := <-stopped; err != nil {
			t.Errorf("Run returned %v", err)
		}
		create(t, server, newGadget("one", ""))
		synctest.Wait()
		if inf.Store().Len() != 1 {
			t.Error("the informer stopped with the controller")
		}
		third, runThird := delayed[key]("")
		controller.For(third, inf)
		go func() { stopped <- runThird(t.Context(), new(calls[key]).reconcile) }()
		synctest.Wait()
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the informer's Run returned %v", err)
		}
		if err := <-stopped; !errors.Is(err, informer.ErrStopped) {
			t.Errorf("a controller goes on with an informer that has stopped, or returned %v", err)
		} else if want := "controller: gadgets: the cache has stopped, because the controller"; !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
		again, runAgain := delayed[key]("")
		controller.For(again, inf)
		mine, stop = context.WithCancel(t.Context())
		var seen calls[key]
		go func() { stopped <- runAgain(mine, seen.reconcile) }()
		synctest.Wait()
		stop()
		if keys, err := seen.take(), <-stopped; err != nil || len(keys) != 1 {
			t.Errorf("a controller that runs a stopped informer again saw %v and returned %v", keys, err)
		}
	})
}

// ended is a context of which others know the end already.
type ended struct{ context.Context }

func (ended) Err() error { return context.Canceled }

// An informer that somebody else runs may stop for the same reason as the controller, and
// sooner: that is no error.
func TestForeignInformerStopsFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, inf := setup(t)
		ctx, cancel := context.WithCancel(t.Context())
		stopped := make(chan error, 2)
		go func() { stopped <- inf.Run(ctx) }()
		synctest.Wait()
		c, runC := delayed[key]("")
		controller.For(c, inf)
		go func() { stopped <- runC(ended{t.Context()}, new(calls[key]).reconcile) }()
		synctest.Wait()
		cancel()
		if err := errors.Join(<-stopped, <-stopped); err != nil {
			t.Error(err)
		}
	})
}

func TestForeignInformerStopsBeforeSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, inf := setup(t)
		silent := faults.Fault{Verb: faults.VerbList, Times: -1, Status: faults.Refusal(500, metav1.StatusReasonInternalError, 0)}
		if err := server.Inject(silent); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- inf.Run(ctx) }()
		synctest.Wait()
		c, runC := delayed[key]("")
		controller.For(c, inf)
		go func() { ended <- runC(t.Context(), new(calls[key]).reconcile) }()
		synctest.Wait()
		cancel()
		if err := errors.Join(<-ended, <-ended); !errors.Is(err, informer.ErrStopped) {
			t.Errorf("got %v, want ErrStopped", err)
		}
	})
}

// An informer with several handlers is run once: its end is not the end of an informer that
// somebody else runs.
func TestErrorOfSharedInput(t *testing.T) {
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			server, inf := setup(t)
			create(t, server, newGadget("one", "x"))
			c, runC := delayed[string]("")
			controller.Watch(c, inf, owner)
			controller.Watch(c, inf, func([]string, *gadget) []string { panic("keys") })
			controller.Watch(c, inf, owner)
			err := runC(t.Context(), new(calls[string]).reconcile)
			var panicked *informer.PanicError
			if !errors.As(err, &panicked) || errors.Is(err, informer.ErrStopped) {
				t.Errorf("Run returned %v, want the panic alone", err)
			}
		})
	}
}

func TestPanicInKeysEndsRun(t *testing.T) {
	for name, value := range map[string]any{"of any kind": "keys", "as if somebody else ran the informer": informer.ErrRunning} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server, inf := setup(t)
				create(t, server, newGadget("one", "x"))
				c, runC := delayed[string]("")
				controller.Watch(c, inf, func([]string, *gadget) []string { panic(value) })
				var panicked *informer.PanicError
				if err := runC(t.Context(), new(calls[string]).reconcile); !errors.As(err, &panicked) || panicked.Key != "a/one" {
					t.Errorf("Run returned %v", err)
				}
			})
		})
	}
}

func TestMisuse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, inf := setup(t)
		c, runC := delayed[string]("mine")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := runC(ctx, new(calls[string]).reconcile); err != nil {
			t.Errorf("Run with a context that is done returned %v", err)
		}
		c.Queue().AddAfter("x", time.Hour)
		if c.Queue().Len() != 0 || len(c.Queue().Snapshot().Delayed) != 0 {
			t.Error("the queue still takes keys after Run")
		}
		if err := runC(t.Context(), new(calls[string]).reconcile); !errors.Is(err, controller.ErrStarted) || !strings.HasPrefix(err.Error(), "mine: ") {
			t.Errorf("a second Run returned %v", err)
		}
		controller.Watch(c, inf, owner)
		if err := c.Err(); !errors.Is(err, controller.ErrStopped) || !strings.Contains(err.Error(), "Watch of gadgets") {
			t.Errorf("after a Watch after Run, Err is %v", err)
		}
	})
}

// TestKeysReturnsOwnSlice: a function that gives away a part of the object must find it
// as it was.
func TestKeysReturnsOwnSlice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, inf := setup(t)
		g := newGadget("one", "")
		g.Finalizers = []string{"example.com/x", "example.com/y"}
		create(t, server, g)
		c, runC := delayed[string]("")
		finalizers := func(_ []string, g *gadget) []string { return g.Finalizers }
		controller.Watch(c, inf, finalizers)
		got, stop := reconciling(t, runC)
		synctest.Wait()
		cached, _ := inf.Store().Get(key{Namespace: "a", Name: "one"})
		if want := []string{"example.com/x", "example.com/y"}; !slices.Equal(got.take(), want) || !slices.Equal(cached.Finalizers, want) {
			t.Errorf("the cached object has finalizers %q", cached.Finalizers)
		}
		stop()
	})
}

// An update queues a key once, although the old object has it, too, and a worker is faster than the
// handler.
func TestWatchQueuesOnce(t *testing.T) {
	for _, size := range []int{1, 2, 100} {
		synctest.Test(t, func(t *testing.T) {
			server, inf := setup(t)
			one := newGadget("one", "1")
			one = create(t, server, one)
			c, runC := delayed[string]("")
			keys := func(dst []string, g *gadget) []string {
				time.Sleep(time.Minute)
				first, _ := strconv.Atoi(g.Owner)
				for n := range size {
					dst = append(dst, strconv.Itoa(first+n))
				}
				return dst
			}
			controller.Watch(c, inf, keys)
			got, stop := reconciling(t, runC)
			for _, step := range []struct {
				owner string
				want  int
			}{{"1", size}, {"1", size}, {"2", size + 1}} {
				one.Owner, one.Labels = step.owner, map[string]string{"at": one.ResourceVersion}
				time.Sleep(time.Hour)
				got.take()
				one = must(fake.Update(server, one))(t)
				time.Sleep(time.Hour)
				if keys := got.take(); len(keys) != step.want {
					t.Errorf("%d keys per object, owner %s: reconciled %v, want %d", size, step.owner, keys, step.want)
				}
			}
			stop()
		})
	}
}
