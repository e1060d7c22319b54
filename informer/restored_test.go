package informer_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faketest"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/store"
)

func sizeOf(w *widget) (projection, error) {
	return &projected{Key: key{Namespace: w.Namespace, Name: w.Name}, Size: w.Spec.Size}, nil
}

// TestRestored puts the server back to a backup under an informer, and lets it write on: not
// as far as the informer had seen, and beyond. The cache must be equal to the server in both
// cases, and every handler's history legal.
func TestRestored(t *testing.T) {
	for _, overtaken := range []bool{false, true} {
		for _, stream := range []bool{false, true} {
			for seed := range uint64(20) {
				name := fmt.Sprintf("overtaken=%v/stream=%v/%d", overtaken, stream, seed)
				opts := reflector.Tuning{DisableWatchList: !stream}
				t.Run(name+"/typed", func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						server := newServer(t)
						restoreUnder(t, server, seed, overtaken, source(t, server), store.ObjectKey, opts,
							func(w *widget) (*widget, error) { return w, nil })
					})
				})
				t.Run(name+"/projected", func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						server := newServer(t)
						src := reflector.Map(source(t, server), sizeOf)
						restoreUnder(t, server, seed, overtaken, src, projection.key, opts, sizeOf)
					})
				})
				t.Run(name+"/metadata", func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						server := newServer(t)
						src := reflector.Map(source(t, server), metadataOf)
						restoreUnder(t, server, seed, overtaken, src, store.ObjectKey, opts, metadataOf)
					})
				})
			}
		}
	}
}

// metadataOf returns an object as a metadata source has it.
func metadataOf(w *widget) (*widget, error) {
	return &widget{ObjectMeta: w.ObjectMeta}, nil
}

// boxed hides metadata from faketest.Histories: a restored server may go back in time.
type boxed[T any] struct{ object T }

// historiesOf returns what a new handler of inf sees.
func historiesOf[T any](t *testing.T, inf *informer.Informer[key, T]) *faketest.Histories[key, boxed[T]] {
	seen := &faketest.Histories[key, boxed[T]]{Packed: allPacked()}
	must1(inf.AddHandler(informer.HandlerFunc[key, T](func(ev informer.Event[key, T]) {
		switch ev.Type {
		case informer.Added:
			seen.Added(ev.Key, boxed[T]{ev.Object})
		case informer.Updated:
			seen.Updated(ev.Key, boxed[T]{ev.Old}, boxed[T]{ev.Object})
		case informer.Deleted:
			seen.Deleted(ev.Key, boxed[T]{ev.Object})
		}
	}), informer.HandlerOptions[T]{}))(t)
	return seen
}

func restoreUnder[T any](t *testing.T, server *fake.Server, seed uint64, overtaken bool, src reflector.Source[T],
	keyOf store.KeyFunc[key, T], fetch reflector.Tuning, project func(*widget) (T, error)) {
	rng := rand.New(rand.NewPCG(seed, 12))
	var mu sync.Mutex
	restored := 0
	inf, err := informer.New(src, keyOf, informer.Options[T]{Reflector: fetch, OnError: func(err error) {
		mu.Lock()
		defer mu.Unlock()
		if errors.Is(err, reflector.ErrRestored) {
			restored++
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	seen := historiesOf(t, inf)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- inf.Run(ctx) }()

	writeWidgets(t, server, rng, 10)
	time.Sleep(time.Second)
	writeWidgets(t, server, rng, rng.IntN(10))
	backup := server.Backup()
	lost := 1 + rng.IntN(10)
	writeWidgets(t, server, rng, lost)
	if rng.IntN(2) == 0 {
		server.JumpResourceVersion(rng.IntN(5))
		server.Bookmark()
	}
	synctest.Wait() // the informer has seen it all
	before := server.ResourceVersion()
	if err := server.Restore(backup); err != nil {
		t.Fatal(err)
	}
	if overtaken {
		writeWidgets(t, server, rng, lost)
		server.JumpResourceVersion(5)
		writeWidgets(t, server, rng, rng.IntN(3))
	} else {
		writeWidgets(t, server, rng, rng.IntN(lost))
	}
	for range 3 {
		time.Sleep(20 * time.Second)
		compareWidgets(t, server, inf, project)
		writeWidgets(t, server, rng, 3)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := seen.Err(); err != nil {
		t.Error(err)
	}
	mu.Lock()
	defer mu.Unlock()
	// Objects without metadata can differ at one version without being different objects.
	_, named := any(*new(T)).(metav1.Object)
	if restored == 0 && (named || inf.Stats().Relists.Restored == 0) {
		t.Errorf("seed %d: the restore from %s to before was not reported; stats %+v", seed, before, inf.Stats())
	}
}

// TestRestoredAndBumped puts the server back to a backup as etcdutl does with --bump-revision
// and --mark-compacted: all versions of before are gone, and newer ones follow.
func TestRestoredAndBumped(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 13))
			server := newServer(t)
			inf := newInformer(t, source(t, server), informer.Options[*widget]{OnError: ignore})
			seen := historiesOf(t, inf)
			writeWidgets(t, server, rng, 10)
			stop := run(t, inf)
			backup := server.Backup()
			writeWidgets(t, server, rng, 1+rng.IntN(10))
			synctest.Wait()
			must1(0, server.Restore(backup))(t)
			server.JumpResourceVersion(1000)
			must1(0, server.Compact(server.ResourceVersion()))(t)
			writeWidgets(t, server, rng, rng.IntN(5))
			for range 2 {
				time.Sleep(20 * time.Second)
				compareWidgets(t, server, inf, func(w *widget) (*widget, error) { return w, nil })
				writeWidgets(t, server, rng, 3)
			}
			synctest.Wait()
			stop()
			if err := seen.Err(); err != nil {
				t.Error(err)
			}
			if t.Failed() {
				t.Logf("seed %d", seed)
			}
		})
	}
}

// TestRestoredAndSilent: a server that was restored says nothing, because nothing changes. It has come as far
// as the newest version seen, so it would have repeated the newest event by the end of the watch, however that
// ends. One list follows, even if another object is as it was.
func TestRestoredAndSilent(t *testing.T) {
	atItsTime := reflector.Tuning{WatchTimeout: time.Minute, IdleTimeout: -1, DisableWatchList: true}
	itself := func(src reflector.Source[*widget]) reflector.Source[*widget] { return src }
	for watch, c := range map[string]struct {
		tuning reflector.Tuning
		source func(reflector.Source[*widget]) reflector.Source[*widget]
	}{
		"idle":    {reflector.Tuning{}, itself},
		"ended":   {atItsTime, itself},
		"overdue": {atItsTime, func(src reflector.Source[*widget]) reflector.Source[*widget] { return deafSource{src} }},
	} {
		for name, lost := range map[string]func(t *testing.T, server *fake.Server){
			"a creation": func(t *testing.T, server *fake.Server) { must1(fake.Create(server, newWidget("n", "b", "")))(t) },
			"a deletion": func(t *testing.T, server *fake.Server) {
				must1(fake.Delete[*widget](server, key{Namespace: "n", Name: "a"}))(t)
			},
		} {
			t.Run(watch+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					server := serverWith(t, fake.Options{NoBookmarks: true})
					src := c.source(source(t, server))
					inf := newInformer(t, src, informer.Options[*widget]{Reflector: c.tuning, OnError: ignore})
					stop := run(t, inf)
					defer stop()
					must1(fake.Create(server, newWidget("n", "a", "")))(t)
					must1(fake.Create(server, newWidget("n", "c", "")))(t)
					backup := server.Backup()
					lost(t, server)
					synctest.Wait()
					must1(0, server.Restore(backup))(t)
					server.JumpResourceVersion(2)
					time.Sleep(10 * time.Minute)
					compareWidgets(t, server, inf, func(w *widget) (*widget, error) { return w, nil })
					time.Sleep(time.Hour)
					if n := inf.Stats().Relists.Restored; n != 1 {
						t.Errorf("%d lists, want one", n)
					}
				})
			})
		}
	}
}

// deafSource never learns that a watch broke off.
type deafSource struct{ reflector.Source[*widget] }

func (s deafSource) Watch(ctx context.Context, opts metav1.ListOptions) iter.Seq2[reflector.Event[*widget], error] {
	return func(yield func(reflector.Event[*widget], error) bool) {
		for ev, err := range s.Source.Watch(ctx, opts) {
			if err == nil && !yield(ev, nil) {
				return
			}
		}
		<-ctx.Done()
	}
}

// TestRestoredUnderOverdueWatches: the server does not end the watch in time, because it was restored and nothing has
// told the client that the connection is lost. Then the server has to show its history, as after a watch that broke off.
func TestRestoredUnderOverdueWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		opts := informer.Options[*widget]{Reflector: reflector.Tuning{WatchTimeout: time.Minute, IdleTimeout: -1}, OnError: ignore}
		inf := newInformer(t, deafSource{source(t, server)}, opts)
		stop := run(t, inf)
		defer stop()
		must1(fake.Create(server, newWidget("n", "a", "")))(t)
		backup := server.Backup()
		must1(fake.Create(server, newWidget("n", "b", "")))(t)
		synctest.Wait()
		must1(0, server.Restore(backup))(t)
		must1(fake.Create(server, newWidget("n", "c", "")))(t)
		time.Sleep(5 * time.Minute)
		compareWidgets(t, server, inf, func(w *widget) (*widget, error) { return w, nil })
	})
}

// within is the widgets of a namespace.
func within(t *testing.T, server *fake.Server, namespace string) reflector.Source[*widget] {
	t.Helper()
	return must1(fake.NewSource[*widget](server, fake.Selection{Namespace: namespace}))(t)
}

// TestRestoredNamespaces puts the server back to a backup. Of the namespaces, one notices
// that, one does not, and one is new. They all list again. If the first one has no more than a
// doubt, the second one is right after Tuning.IdleTimeout, which is three minutes and up to a
// quarter more.
func TestRestoredNamespaces(t *testing.T) {
	noticed := 0
	for seed := range uint64(40) {
		synctest.Test(t, func(t *testing.T) {
			var restored atomic.Bool
			notice := func(err error) { restored.Store(restored.Load() || errors.Is(err, reflector.ErrRestored)) }
			rng := rand.New(rand.NewPCG(seed, 14))
			server := newServer(t)
			u := newPlaces(t, informer.Options[*widget]{OnError: notice})
			u.add(t, "a", within(t, server, "a")) // notices it
			u.add(t, "b", deafSource{within(t, server, "b")})
			seen := historiesOf(t, u.Informer)
			writeWidgetsIn(t, server, rng, 20, "a", "b", "c")
			stop := run(t, u.Informer)
			backup := server.Backup()
			writeWidgetsIn(t, server, rng, 1+rng.IntN(20), "a", "b", "c")
			synctest.Wait()
			must1(0, server.Restore(backup))(t)
			writeWidgetsIn(t, server, rng, rng.IntN(20), "a", "b", "c")
			u.add(t, "c", within(t, server, "c"))
			for range 2 {
				time.Sleep(20 * time.Second)
				if restored.Load() {
					noticed++
				} else {
					time.Sleep(4 * time.Minute)
				}
				compareWidgets(t, server, u.Informer, func(w *widget) (*widget, error) { return w, nil })
				writeWidgetsIn(t, server, rng, 3, "a", "b", "c")
			}
			for _, n := range u.Stats().Namespaces {
				if !n.Synced {
					t.Errorf("%s has not listed", n.Namespace)
				}
			}
			synctest.Wait()
			stop()
			if err := seen.Err(); err != nil {
				t.Error(err)
			}
			if t.Failed() {
				t.Logf("seed %d", seed)
			}
		})
	}
	if noticed < 20 {
		t.Errorf("%d of 80 times a namespace had noticed the restore", noticed)
	}
}

// writeWidgets makes n random writes that change something.
func writeWidgets(t *testing.T, server *fake.Server, rng *rand.Rand, n int) {
	t.Helper()
	writeWidgetsIn(t, server, rng, n, "n")
}

// writeWidgetsIn is writeWidgets in one of some namespaces, or more.
func writeWidgetsIn(t *testing.T, server *fake.Server, rng *rand.Rand, n int, namespaces ...string) {
	t.Helper()
	for n > 0 {
		k := key{Namespace: namespaces[rng.IntN(len(namespaces))], Name: string(rune('a' + rng.IntN(5)))}
		w, err := fake.Get[*widget](server, k)
		switch {
		case err != nil:
			w = newWidget(k.Namespace, k.Name, "")
			w.Spec.Size = rng.Int()
			_, err = fake.Create(server, w)
		case rng.IntN(3) == 0:
			_, err = fake.Delete[*widget](server, k)
		default:
			w.Spec.Size = rng.Int()
			_, err = fake.Update(server, w)
		}
		if err != nil {
			t.Fatal(err)
		}
		n--
	}
}

// compareWidgets compares the cache with what the server has.
func compareWidgets[T any](t *testing.T, server *fake.Server, inf *informer.Informer[key, T], project func(*widget) (T, error)) {
	t.Helper()
	all, err := fake.List[*widget](server, fake.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	want, got := map[key]T{}, map[key]T{}
	for _, w := range all {
		if want[key{Namespace: w.Namespace, Name: w.Name}], err = project(w); err != nil {
			t.Fatal(err)
		}
	}
	for k, obj := range inf.Store().All() {
		got[k] = obj
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the cache (-server +cache):\n%s", diff)
	}
}

// leavingSource leaves the set when its watch is given up.
type leavingSource struct {
	reflector.Source[*widget]
	leave func()
}

func (s leavingSource) Watch(ctx context.Context, opts metav1.ListOptions) iter.Seq2[reflector.Event[*widget], error] {
	return func(yield func(reflector.Event[*widget], error) bool) {
		deafSource{s.Source}.Watch(ctx, opts)(yield)
		go s.leave()
	}
}

// TestRestoredNamespacesLeave removes namespaces in the very moment in which they begin again after a
// restore.
func TestRestoredNamespacesLeave(t *testing.T) {
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			server := newServer(t)
			u := newPlaces(t, informer.Options[*widget]{OnError: ignore})
			u.add(t, "n", within(t, server, "n"))
			for i := range 50 {
				name := fmt.Sprint(i)
				u.add(t, name, leavingSource{within(t, server, name), func() { u.remove(name) }})
			}
			writeWidgets(t, server, rand.New(rand.NewPCG(1, 15)), 10)
			stop := run(t, u.Informer)
			backup := server.Backup()
			writeWidgets(t, server, rand.New(rand.NewPCG(2, 15)), 5)
			synctest.Wait()
			must1(0, server.Restore(backup))(t)
			time.Sleep(20 * time.Second)
			if n := len(u.Stats().Namespaces); n != 1 {
				t.Errorf("%d namespaces are left", n)
			}
			stop()
		})
	}
}

// TestRestoredUnderShortWatches: a restore is noticed though each watch ends before a server would
// have to repeat events.
func TestRestoredUnderShortWatches(t *testing.T) {
	for seed := range uint64(10) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 17))
			server := newServer(t)
			fetch := reflector.Tuning{WatchTimeout: time.Second}
			inf := newInformer(t, source(t, server), informer.Options[*widget]{Reflector: fetch, OnError: ignore})
			stop := run(t, inf)
			writeWidgets(t, server, rng, 10)
			synctest.Wait()
			backup := server.Backup()
			writeWidgets(t, server, rng, 3)
			synctest.Wait()
			must1(0, server.Restore(backup))(t)
			time.Sleep(20 * time.Second)
			compareWidgets(t, server, inf, func(w *widget) (*widget, error) { return w, nil })
			stop()
		})
	}
}

// TestRestoredTwice restores the server several times, each time before a watch has brought
// anything since the list that followed the restore before. As a rule, the server overtakes what
// the restore took back, and the object that would show the restore is gone. Watches may break off
// in between.
func TestRestoredTwice(t *testing.T) {
	for seed := range uint64(30) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 18))
			server := newServer(t)
			created := 0
			create := func(n int) {
				for range n {
					created++
					must1(fake.Create(server, newWidget("n", fmt.Sprint("w", created), "")))(t)
				}
			}
			inf := newInformer(t, source(t, server), informer.Options[*widget]{OnError: ignore})
			stop := run(t, inf)
			defer stop()
			backup := server.Backup()
			create(1 + rng.IntN(4))
			synctest.Wait()
			for range 4 {
				must1(0, server.Restore(backup))(t)
				create(1 + rng.IntN(6))
				for range rng.IntN(4) {
					time.Sleep(time.Duration(rng.IntN(2000)) * time.Millisecond)
					server.DropWatches()
				}
				time.Sleep(25 * time.Second)
				compareWidgets(t, server, inf, func(w *widget) (*widget, error) { return w, nil })
			}
		})
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// heldSource lists only while gate has a value to give, or is closed.
type heldSource struct {
	reflector.Source[*widget]
	gate chan struct{}
}

func (s heldSource) List(ctx context.Context, opts metav1.ListOptions, yield func(reflector.Event[*widget], error) bool) (metav1.ListMeta, error) {
	select {
	case <-s.gate:
	case <-ctx.Done():
		return metav1.ListMeta{}, ctx.Err()
	}
	return s.Source.List(ctx, opts, yield)
}

// TestRestoredNamespacesWait: only the first list after a restore ends waits. The lists of the other
// namespaces, which may come much later, do not.
func TestRestoredNamespacesWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		u := newPlaces(t, informer.Options[*widget]{Reflector: reflector.Tuning{DisableWatchList: true}, OnError: ignore})
		gate := make(chan struct{}, 1)
		gate <- struct{}{}
		u.add(t, "n", within(t, server, "n"))
		u.add(t, "late", heldSource{within(t, server, "late"), gate})
		stop := run(t, u.AsInformer())
		defer stop()
		create := func(name string) string {
			return must1(fake.Create(server, newWidget("n", name, "")))(t).ResourceVersion
		}
		create("a")
		backup := server.Backup()
		create("b")
		lost := create("c")
		synctest.Wait()
		waits := func(rv string) <-chan error {
			ended := make(chan error, 1)
			go func() { ended <- u.WaitForRV(t.Context(), rv) }()
			synctest.Wait()
			return ended
		}
		before := waits(lost + "0")
		must1(0, server.Restore(backup))(t)
		time.Sleep(5 * time.Second)
		if err := <-before; !errors.Is(err, store.ErrRewound) {
			t.Errorf("a wait for a lost version ended with %v", err)
		}
		after := waits(lost)
		close(gate)
		time.Sleep(20 * time.Second)
		compareWidgets(t, server, u.AsInformer(), func(w *widget) (*widget, error) { return w, nil })
		for _, name := range []string{"d", "e", "f"} {
			create(name)
		}
		server.Bookmark() // the late one is idle
		if err := <-after; err != nil {
			t.Errorf("a wait for a version that the server reached again ended with %v", err)
		}
	})
}
