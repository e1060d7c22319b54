package clientgo_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/with/clientgo"
)

// scene is an informer of a server's ConfigMaps.
type scene struct {
	t      *testing.T
	server *fake.Server
	inf    cache.SharedIndexInformer
	stop   func()
}

// withScene runs test with an informer of NewSharedIndexInformer that has not started, and stops
// the informer.
func withScene(t *testing.T, resync time.Duration, test func(*scene)) {
	t.Helper()
	withSceneOf(t, ours["untyped"], resync, test)
}

// withScenes is withScene with each of our informers.
func withScenes(t *testing.T, resync time.Duration, test func(*scene)) {
	for name, make := range ours {
		t.Run(name, func(t *testing.T) { withSceneOf(t, make, resync, test) })
	}
}

func withSceneOf(t *testing.T, make constructor, resync time.Duration, test func(*scene)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server, lw := newServer(t)
		s := &scene{t: t, server: server, stop: func() {}}
		s.inf = make(t, lw, resync, cache.Indexers{"value": byValue})
		test(s)
		s.stop()
	})
}

// start starts the informer.
func (s *scene) start() {
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		s.inf.Run(stop)
		close(ended)
	}()
	s.stop = func() {
		close(stop)
		<-ended
		s.stop = func() {}
	}
	synctest.Wait()
}

func (s *scene) create(name, value string) {
	s.t.Helper()
	_, err := fake.Create(s.server, newMap(name, value))
	check(s.t, err)
	synctest.Wait()
}

func (s *scene) add(h cache.ResourceEventHandler) cache.ResourceEventHandlerRegistration {
	s.t.Helper()
	reg, err := s.inf.AddEventHandler(h)
	check(s.t, err)
	synctest.Wait()
	return reg
}

func (s *scene) expect(c *calls, want ...string) {
	s.t.Helper()
	synctest.Wait()
	if got, _ := c.take(); !slices.Equal(got, want) {
		s.t.Errorf("calls %q, want %q", got, want)
	}
}

func (s *scene) fails(what string, err error, text string) {
	s.t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		s.t.Errorf("%s: error %v, want one with %q", what, err, text)
	}
}

func TestTransform(t *testing.T) {
	withScene(t, 0, func(s *scene) {
		check(t, s.inf.SetTransform(func(obj any) (any, error) {
			m := obj.(*corev1.ConfigMap)
			if m.Name == "bad" {
				return nil, errors.New("not this one")
			}
			m.Data["v"] += "!"
			return m, nil
		}))
		s.create("good", "1")
		s.create("bad", "1")
		s.start()
		var heard calls
		s.add(&heard)
		s.expect(&heard, "add good@2=1!, initial true")
		if keys := s.inf.GetStore().ListKeys(); !slices.Equal(keys, []string{"n/good"}) {
			t.Errorf("keys %q", keys)
		}
		s.fails("too late", s.inf.SetTransform(nil), "started")
	})
}

// What the transform function returns may be of any type.
func TestTransformToAnotherType(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, lw := newServer(t)
		_, err := fake.Create(server, newMap("one", "1"))
		check(t, err)
		inf := clientgo.NewSharedInformer(lw, &corev1.ConfigMap{}, 0)
		check(t, inf.SetTransform(func(obj any) (any, error) {
			return &metav1.PartialObjectMetadata{ObjectMeta: obj.(*corev1.ConfigMap).ObjectMeta}, nil
		}))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { inf.RunWithContext(ctx); close(ended) }()
		synctest.Wait()
		obj, _, err := inf.GetStore().GetByKey("n/one")
		if about, ok := obj.(*metav1.PartialObjectMetadata); err != nil || !ok || about.ResourceVersion != "2" {
			t.Errorf("the store has %v, %v", obj, err)
		}
		cancel()
		<-ended
	})
}

func TestSyncedAndStopped(t *testing.T) {
	withScenes(t, 0, func(s *scene) {
		s.create("one", "1")
		var heard calls
		reg := s.add(&heard)
		done := s.inf.HasSyncedChecker()
		if s.inf.HasSynced() || reg.HasSynced() || s.inf.IsStopped() || s.inf.GetController().HasSynced() {
			t.Error("synced or stopped before Run")
		}
		s.inf.GetController().Run(nil) // does nothing
		s.start()
		if !s.inf.HasSynced() || !reg.HasSynced() || s.inf.IsStopped() || !cache.IsDone(done) || !cache.IsDone(reg.HasSyncedChecker()) {
			t.Error("not synced, or stopped")
		}
		if done.Name() == "" || reg.HasSyncedChecker().Name() == done.Name() {
			t.Errorf("the checkers are called %q and %q", done.Name(), reg.HasSyncedChecker().Name())
		}
		if !cache.WaitForCacheSync(s.t.Context().Done(), s.inf.HasSynced, s.inf.GetController().HasSynced) {
			t.Error("WaitForCacheSync failed")
		}
		s.inf.RunWithContext(s.t.Context()) // a second time: returns
		s.stop()
		if !s.inf.IsStopped() {
			t.Error("not stopped")
		}
		_, err := s.inf.AddEventHandler(&heard)
		if !errors.Is(err, informer.ErrStopped) {
			t.Errorf("a handler after the end: %v", err)
		}
		if err := s.inf.AddIndexers(cache.Indexers{"late": byValue}); !errors.Is(err, informer.ErrStopped) {
			t.Errorf("indexers after the end: %v", err)
		}
		if _, err := s.inf.AddEventHandler(nil); !errors.Is(err, informer.ErrInvalid) {
			t.Errorf("a nil handler: %v", err)
		}
	})
}

func TestRemoval(t *testing.T) {
	withScenes(t, 0, func(s *scene) {
		other := clientgo.NewSharedIndexInformer(nil, nil, 0, nil)
		var stays, goes, early calls
		s.add(&stays)
		reg := s.add(&early)
		check(t, s.inf.RemoveEventHandler(reg))
		s.start()
		reg = s.add(&goes)
		s.create("one", "1")
		check(t, other.RemoveEventHandler(reg)) // not its own
		s.create("two", "1")
		check(t, cache.ShutDownEventHandler(s.inf, reg))
		check(t, s.inf.RemoveEventHandler(reg)) // again
		s.create("three", "1")
		s.expect(&stays, "add one@2=1, initial false", "add three@4=1, initial false", "add two@3=1, initial false")
		s.expect(&goes, "add one@2=1, initial false", "add two@3=1, initial false")
		s.expect(&early)
		s.fails("a registration of client-go", s.inf.RemoveEventHandler(nil), "no registration")
	})
}

func TestResync(t *testing.T) {
	withScenes(t, time.Minute, func(s *scene) {
		s.create("one", "1")
		count := func(n *int) cache.ResourceEventHandler {
			return cache.ResourceEventHandlerFuncs{UpdateFunc: func(old, obj any) {
				if old != obj {
					t.Error("a resync with two objects")
				}
				*n++
			}}
		}
		var usual, never, often, tiny int
		s.add(count(&usual))
		for period, n := range map[time.Duration]*int{0: &never, 10 * time.Second: &often, time.Millisecond: &tiny} {
			_, err := s.inf.AddEventHandlerWithResyncPeriod(count(n), period)
			check(t, err)
		}
		s.start()
		time.Sleep(10*time.Minute + time.Second)
		synctest.Wait()
		if usual < 9 || usual > 11 || never != 0 || often < 59 || often > 61 || tiny < 599 || tiny > 602 {
			t.Errorf("in ten minutes: by default %d, never %d, each 10 seconds %d, each second %d", usual, never, often, tiny)
		}
	})
}

// A list that finds an object unchanged is an update for handlers.
func TestUnchanged(t *testing.T) {
	withScenes(t, 0, func(s *scene) {
		s.create("one", "1")
		var heard calls
		s.add(&heard)
		s.start()
		s.expect(&heard, "add one@2=1, initial true")
		check(t, s.server.Inject(faults.Fault{Verb: faults.VerbWatch, Times: 1, Status: faults.Refusal(http.StatusGone, metav1.StatusReasonExpired, 0)}))
		s.server.DropWatches()
		time.Sleep(time.Minute)
		s.expect(&heard, "update one@2=1 to one@2=1")
	})
}

func TestIndexers(t *testing.T) {
	withScenes(t, 0, func(s *scene) {
		s.create("one", "1")
		s.create("two", "2")
		s.start()
		check(t, s.inf.AddIndexers(cache.Indexers{
			"name":          func(obj any) ([]string, error) { return []string{obj.(metav1.Object).GetName(), "any"}, nil },
			"only of three": func(any) ([]string, error) { return nil, errors.New("no") },
		}))
		x := s.inf.GetIndexer()
		s.create("three", "2")
		like, err := x.Index("name", newMap("three", ""))
		if err != nil || len(like) != 3 {
			t.Errorf("Index: %d objects, %v", len(like), err)
		}
		same, err := x.Index("value", newMap("", "2"))
		if err != nil || len(same) != 2 {
			t.Errorf("Index with one value: %d objects, %v", len(same), err)
		}
		keys, err := x.IndexKeys("name", "three")
		if err != nil || !slices.Equal(keys, []string{"n/three"}) {
			t.Errorf("IndexKeys: %q, %v", keys, err)
		}
		if values := x.ListIndexFuncValues("only of three"); len(values) != 0 {
			t.Errorf("values of an index that fails: %q", values)
		}
		if n := len(x.GetIndexers()); n != 3 {
			t.Errorf("%d indexers", n)
		}
		if values := x.ListIndexFuncValues("none"); values != nil {
			t.Errorf("values of no index: %q", values)
		}
		_, err = x.Index("none", newMap("three", ""))
		s.fails("Index", err, `"none"`)
		_, err = x.IndexKeys("none", "v")
		s.fails("IndexKeys", err, `"none"`)
		_, err = x.ByIndex("none", "v")
		s.fails("ByIndex", err, `"none"`)
		_, err = x.Index("only of three", newMap("three", ""))
		s.fails("Index with a function that fails", err, "no")
		s.fails("a name twice", x.AddIndexers(cache.Indexers{"value": byValue, "new": byValue}), `"value"`)
		if _, err := x.ByIndex("new", "1"); err == nil {
			t.Error("half of the indexers were added")
		}
	})
}

// Tests fill a cache without a server.
func TestWritesOfIndexer(t *testing.T) {
	inf := clientgo.NewSharedIndexInformer(nil, &corev1.ConfigMap{}, 0, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	x := inf.GetIndexer()
	check(t, x.Add(newMap("one", "1")))
	check(t, x.Add(newMap("two", "1")))
	check(t, x.Update(newMap("two", "2")))
	lister := corelisters.NewConfigMapLister(x)
	found, err := lister.ConfigMaps("n").List(labels.Everything())
	if err != nil || len(found) != 2 {
		t.Errorf("the lister found %d, %v", len(found), err)
	}
	two, err := lister.ConfigMaps("n").Get("two")
	if err != nil || two.Data["v"] != "2" {
		t.Errorf("the lister has %v, %v", two, err)
	}
	check(t, x.Delete(two))
	check(t, x.Delete(two))
	if _, err := lister.ConfigMaps("n").Get("two"); !apierrors.IsNotFound(err) {
		t.Errorf("after the deletion: %v", err)
	}
	check(t, x.Replace([]any{newMap("three", "3")}, "7"))
	obj, exists, err := x.Get(newMap("three", ""))
	if _, state := textOf(obj); err != nil || !exists || state != "three@=3" || x.LastStoreSyncResourceVersion() != "7" {
		t.Errorf("after Replace: %s, %v, %v at %q", state, exists, err, x.LastStoreSyncResourceVersion())
	}
	x.Bookmark("9")
	if rv := inf.LastSyncResourceVersion(); rv != "9" {
		t.Errorf("at %s after a bookmark", rv)
	}
	check(t, x.Resync())
	for what, err := range map[string]error{"Add": x.Add(7), "Delete": x.Delete(7), "Replace": x.Replace([]any{7}, "8"), "Get": last(x.Get(7))} {
		if !errors.As(err, new(cache.KeyError)) {
			t.Errorf("%s of a number: %v", what, err)
		}
	}
	if keys := x.ListKeys(); !slices.Equal(keys, []string{"n/three"}) {
		t.Errorf("keys %q", keys)
	}
}

func last(_ any, _ bool, err error) error { return err }

func TestWatchErrorHandler(t *testing.T) {
	withScene(t, 0, func(s *scene) {
		var causes []string
		check(t, s.inf.SetWatchErrorHandler(func(r *cache.Reflector, err error) {
			if r == nil || !apierrors.IsForbidden(err) {
				t.Errorf("reflector %v, error %v", r, err)
			}
			causes = append(causes, err.Error())
		}))
		check(t, s.server.Inject(faults.Fault{Verb: faults.VerbList, Times: 1, Status: faults.Refusal(http.StatusForbidden, metav1.StatusReasonForbidden, 0)}))
		check(t, s.server.Inject(faults.Fault{Verb: faults.VerbWatch, Times: 1, Status: faults.Refusal(http.StatusForbidden, metav1.StatusReasonForbidden, 0)}))
		s.start()
		time.Sleep(time.Minute)
		if len(causes) == 0 || !s.inf.HasSynced() {
			t.Errorf("heard %q, synced: %v", causes, s.inf.HasSynced())
		}
		s.fails("too late", s.inf.SetWatchErrorHandler(nil), "started")
	})
}

// What a broken ListerWatcher brings is a failed request, which is tried again.
func TestBadListerWatchers(t *testing.T) {
	none := func(context.Context, metav1.ListOptions) (watch.Interface, error) { return nil, nil }
	for name, lw := range map[string]cache.ListerWatcher{
		"nil":         nil,
		"nil pointer": (*cache.ListWatch)(nil),
		"nil list":    &cache.ListWatch{ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) { return nil, nil }, WatchFuncWithContext: none},
		"no list":     &cache.ListWatch{ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) { return newMap("a", ""), nil }, WatchFuncWithContext: none},
	} {
		synctest.Test(t, func(t *testing.T) {
			inf := clientgo.NewSharedIndexInformer(lw, &corev1.ConfigMap{}, 0, nil)
			failures := 0
			check(t, inf.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
				if failures++; err == nil {
					t.Error("no error")
				}
			}))
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			inf.RunWithContext(ctx)
			if failures < 2 || inf.HasSynced() {
				t.Errorf("%s: %d failures, synced: %v", name, failures, inf.HasSynced())
			}
		})
	}
}

// Objects of another type are left out.
func TestForeignObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events := watch.NewFake()
		lw := &cache.ListWatch{
			ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
				return &corev1.List{ListMeta: metav1.ListMeta{ResourceVersion: "5"}, Items: []runtime.RawExtension{
					{Object: newMap("one", "1")}, {Object: &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "secret"}}},
				}}, nil
			},
			WatchFuncWithContext: func(_ context.Context, opts metav1.ListOptions) (watch.Interface, error) {
				if opts.SendInitialEvents != nil {
					return nil, apierrors.NewBadRequest("no streaming lists")
				}
				return events, nil
			},
		}
		inf := clientgo.NewSharedIndexInformer(lw, &corev1.ConfigMap{}, 0, nil)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { inf.RunWithContext(ctx); close(ended) }()
		synctest.Wait()
		events.Add(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "another", ResourceVersion: "6"}})
		two := newMap("two", "2")
		two.ResourceVersion = "7"
		events.Add(two)
		synctest.Wait()
		keys := inf.GetStore().ListKeys()
		if slices.Sort(keys); !slices.Equal(keys, []string{"n/one", "n/two"}) {
			t.Errorf("keys %q", keys)
		}
		cancel()
		<-ended
	})
}

// A ListerWatcher that panics ends Run with the value of its panic.
func TestListerWatcherPanics(t *testing.T) {
	empty := func(context.Context, metav1.ListOptions) (runtime.Object, error) {
		return &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: "5"}}, nil
	}
	for name, lw := range map[string]*cache.ListWatch{
		"list": {
			ListWithContextFunc:  func(context.Context, metav1.ListOptions) (runtime.Object, error) { panic("broken") },
			WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) { return nil, errors.New("no watch") },
		},
		"watch": {
			ListWithContextFunc:  empty,
			WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) { panic("broken") },
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			inf := clientgo.NewSharedIndexInformer(lw, &corev1.ConfigMap{}, 0, nil)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			defer func() {
				if v := recover(); v != "broken" || !inf.IsStopped() {
					t.Errorf("%s: Run panicked with %v; stopped: %v", name, v, inf.IsStopped())
				}
			}()
			inf.RunWithContext(ctx)
		})
	}
}

// Objects without metadata are left out, and those beside them are there. Neither list nor watch
// ends by them.
func TestNoMetadata(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events := watch.NewFake()
		lw := &cache.ListWatch{
			ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
				return &corev1.List{ListMeta: metav1.ListMeta{ResourceVersion: "5"}, Items: []runtime.RawExtension{
					{Object: &metav1.Status{}}, {Object: (*corev1.ConfigMap)(nil)}, {}, {Object: newMap("one", "1")},
				}}, nil
			},
			WatchFuncWithContext: func(_ context.Context, opts metav1.ListOptions) (watch.Interface, error) {
				if opts.SendInitialEvents != nil {
					return nil, apierrors.NewBadRequest("no streaming lists")
				}
				return events, nil
			},
		}
		inf := clientgo.NewSharedIndexInformer(lw, nil, 0, nil) // of any type
		var heard calls
		_, err := inf.AddEventHandler(&heard)
		check(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { inf.RunWithContext(ctx); close(ended) }()
		synctest.Wait()
		events.Add(&corev1.PodExecOptions{})
		events.Modify((*corev1.ConfigMap)(nil))
		two := newMap("two", "2")
		two.ResourceVersion = "7"
		events.Add(two)
		synctest.Wait()
		got, _ := heard.take()
		if want := []string{"add one@=1, initial true", "add two@7=2, initial false"}; !inf.HasSynced() || !slices.Equal(got, want) {
			t.Errorf("synced: %v, calls %q", inf.HasSynced(), got)
		}
		cancel()
		<-ended
	})
}

// An object has no values in an index whose function fails or panics. It stays in the cache and in
// the other indexes.
func TestBadIndexFunctions(t *testing.T) {
	withScenes(t, 0, func(s *scene) {
		check(t, s.inf.AddIndexers(cache.Indexers{
			"fails":  func(any) ([]string, error) { return nil, errors.New("not this one") },
			"panics": func(any) ([]string, error) { panic("broken index") },
		}))
		var heard calls
		s.add(&heard)
		s.create("one", "1")
		s.start()
		s.create("two", "1")
		check(t, s.inf.AddIndexers(cache.Indexers{"late": func(any) ([]string, error) { panic("broken index") }}))
		s.expect(&heard, "add one@2=1, initial true", "add two@3=1, initial false")
		for name, want := range map[string]int{"value": 2, "fails": 0, "panics": 0, "late": 0} {
			if keys, err := s.inf.GetIndexer().IndexKeys(name, "1"); err != nil || len(keys) != want {
				t.Errorf("index %s has %q, %v", name, keys, err)
			}
		}
		// All of them, or none.
		err := s.inf.AddIndexers(cache.Indexers{"another": byValue, "value": byValue})
		s.fails("a name twice", err, `indexer conflict`)
		if _, ok := s.inf.GetIndexer().GetIndexers()["another"]; ok {
			t.Error("a part of the indexers was added")
		}
	})
}

// client-go's own handlers, and a nil one.
func TestForeignHandlers(t *testing.T) {
	withScenes(t, 0, func(s *scene) {
		var filtered, detailed calls
		s.add(cache.FilteringResourceEventHandler{
			FilterFunc: func(obj any) bool { return obj.(*corev1.ConfigMap).Data["v"] == "1" }, Handler: &filtered,
		})
		s.add(cache.ResourceEventHandlerDetailedFuncs{AddFunc: detailed.OnAdd}) // the others are nil
		for _, none := range []cache.ResourceEventHandler{nil, (*calls)(nil)} {
			_, err := s.inf.AddEventHandler(none)
			if !errors.Is(err, informer.ErrInvalid) {
				t.Errorf("a nil handler: %v", err)
			}
		}
		s.create("one", "1")
		s.start()
		s.create("two", "2")
		one := newMap("one", "2")
		_, err := fake.Update(s.server, one)
		check(t, err)
		s.expect(&filtered, "add one@2=1, initial true", "delete one@2=1")
		s.expect(&detailed, "add one@2=1, initial true", "add two@3=2, initial false")
	})
}

// A handler that panics ends the process, as with client-go, unless that was turned off.
func TestHandlerPanics(t *testing.T) {
	defer func(was bool) { utilruntime.ReallyCrash = was }(utilruntime.ReallyCrash)
	for _, crash := range []bool{true, false} {
		utilruntime.ReallyCrash = crash
		withScene(t, 0, func(s *scene) {
			s.create("one", "1")
			s.create("two", "2")
			n := 0
			s.add(cache.ResourceEventHandlerFuncs{AddFunc: func(any) {
				n++
				panic("broken handler")
			}})
			ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
			defer cancel()
			panicked := func() (value any) {
				defer func() { value = recover() }()
				s.inf.RunWithContext(ctx)
				return nil
			}()
			if want := map[bool]int{true: 1, false: 2}[crash]; (panicked != nil) != crash || n != want {
				t.Errorf("crash %v: %d calls, Run panicked with %v", crash, n, panicked)
			}
			if crash && !strings.Contains(fmt.Sprint(panicked), "broken handler") {
				t.Errorf("the panic is %v", panicked)
			}
		})
	}
}

func TestNewInformer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, lw := newServer(t)
		_, err := fake.Create(server, newMap("one", "1"))
		check(t, err)
		var plain, indexed, changed calls
		store, one := clientgo.NewInformer(lw, &corev1.ConfigMap{}, 0, &plain)
		byIndex, two := clientgo.NewIndexerInformer(lw, &corev1.ConfigMap{}, 0, &indexed, cache.Indexers{"value": byValue})
		_, three := clientgo.NewInformerWithOptions(cache.InformerOptions{
			ListerWatcher: lw, ObjectType: &corev1.ConfigMap{}, Handler: &changed,
			Transform: func(obj any) (any, error) { obj.(*corev1.ConfigMap).Data["v"] = "x"; return obj, nil },
		})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{}, 3)
		for _, c := range []cache.Controller{one, two, three} {
			if c.HasSynced() {
				t.Error("synced before Run")
			}
			go func() { c.RunWithContext(ctx); ended <- struct{}{} }()
		}
		synctest.Wait()
		for _, c := range []cache.Controller{one, two, three} {
			if !c.HasSynced() || !cache.IsDone(c.HasSyncedChecker()) || c.LastSyncResourceVersion() != "2" {
				t.Errorf("synced: %v, at %s", c.HasSynced(), c.LastSyncResourceVersion())
			}
		}
		found, err := byIndex.ByIndex("value", "1")
		if err != nil || len(found) != 1 || len(store.List()) != 1 {
			t.Errorf("found %d, %v", len(found), err)
		}
		for c, want := range map[*calls]string{&plain: "add one@2=1, initial true", &indexed: "add one@2=1, initial true", &changed: "add one@2=x, initial true"} {
			if got, _ := c.take(); !slices.Equal(got, []string{want}) {
				t.Errorf("calls %q, want %q", got, want)
			}
		}
		cancel()
		for range 3 {
			<-ended
		}
	})
}

// client-go's typed layer is a wrapper, which takes any SharedIndexInformer.
func TestTyped(t *testing.T) {
	withScenes(t, 0, func(s *scene) {
		s.create("one", "1")
		typed := cache.NewTypedSharedIndexInformer[*corev1.ConfigMap](s.inf)
		var added []types.NamespacedName
		_, err := typed.AddTypedEventHandler(cache.TypedResourceEventHandlerFuncs[*corev1.ConfigMap]{AddFunc: func(m *corev1.ConfigMap) {
			added = append(added, types.NamespacedName{Namespace: m.Namespace, Name: m.Name})
		}})
		check(t, err)
		s.start()
		found, err := typed.GetTypedIndexer().ByTypedIndex("value", "1")
		if err != nil || len(found) != 1 || len(added) != 1 {
			t.Errorf("found %v, %v; added %v", found, err, added)
		}
	})
}
