package clientgo_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/with/clientgo"
)

// Typed readers and handlers, and client-go's, on one cache.
func TestInformerSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
		klog.SetLogger(log)
		defer klog.ClearLogger()
		server, lw := newServer(t)
		byFirst := index.New("first", func(dst []string, m *corev1.ConfigMap) []string { return append(dst, m.Data["v"][:1], "any") })
		inf := newTyped(t, lw, informer.Options[*corev1.ConfigMap]{
			Indexes: index.Of(byFirst, index.Namespace[*corev1.ConfigMap](), index.Labels[*corev1.ConfigMap]("labels", "app")),
		})
		shared, err := clientgo.Informer(inf)
		check(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- inf.Run(ctx) }()
		one, err := fake.Create(server, newMap("one", "1"))
		check(t, err)
		elsewhere := newMap("two", "1")
		elsewhere.Namespace = "elsewhere"
		_, err = fake.Create(server, elsewhere)
		check(t, err)
		synctest.Wait()

		x, lister := shared.GetIndexer(), corelisters.NewConfigMapLister(shared.GetIndexer())
		got, err := lister.ConfigMaps("n").Get("one")
		cached, _ := inf.Store().Get(types.NamespacedName{Namespace: "n", Name: "one"})
		if err != nil || got != cached {
			t.Errorf("the lister returns another object than the store, %v", err)
		}
		if _, err := lister.ConfigMaps("n").Get("two"); !apierrors.IsNotFound(err) {
			t.Errorf("an object of another namespace: %v", err)
		}
		list, err := lister.ConfigMaps("n").List(labels.Everything())
		if err != nil || !slices.Equal(list, []*corev1.ConfigMap{cached}) {
			t.Errorf("the lister finds %d, %v", len(list), err)
		}
		if logged := log.GetSink().(ktesting.Underlier).GetBuffer().String(); logged != "" {
			t.Errorf("the lister used no index: %s", logged)
		}
		all, err := lister.List(labels.Everything())
		if err != nil || len(all) != 2 {
			t.Errorf("the lister finds %d in all namespaces, %v", len(all), err)
		}
		keys := x.ListKeys()
		if slices.Sort(keys); !slices.Equal(keys, []string{"elsewhere/two", "n/one"}) {
			t.Errorf("keys %q", keys)
		}
		for index, value := range map[string]string{"first": "1", cache.NamespaceIndex: "n"} {
			keys, err := x.IndexKeys(index, value)
			objs, failed := x.ByIndex(index, value)
			if err != nil || failed != nil || len(keys) != len(objs) || !slices.Contains(keys, "n/one") {
				t.Errorf("index %s has %q and %d objects, %v, %v", index, keys, len(objs), err, failed)
			}
		}
		if like, err := x.Index("first", one); err != nil || len(like) != 2 {
			t.Errorf("Index finds %d, %v", len(like), err)
		}
		if _, err := x.Index("first", &metav1.ObjectMeta{Name: "one"}); err == nil || !strings.Contains(err.Error(), `index "first": it is a *v1.ObjectMeta and no *v1.ConfigMap`) {
			t.Errorf("Index of an object of another type: %v", err)
		}
		if n := len(x.GetIndexers()); n != 2 { // not that of labels
			t.Errorf("%d indexers", n)
		}
		if err := x.AddIndexers(cache.Indexers{"first": byValue}); err == nil {
			t.Error("an index of the informer was added again")
		}
		cancel()
		check(t, <-ended)
	})
}

// The first lister of one namespace adds an index of the namespaces, which the informer's own listers
// use, too. A program may add its own later.
func TestListerAddsNamespaceIndex(t *testing.T) {
	inf := newTyped(t, nil, informer.Options[*corev1.ConfigMap]{})
	ours, err := clientgo.Informer(inf)
	check(t, err)
	for name, shared := range map[string]cache.SharedIndexInformer{
		"Informer":               ours,
		"NewSharedIndexInformer": clientgo.NewSharedIndexInformer(nil, &corev1.ConfigMap{}, 0, nil),
	} {
		x := shared.GetIndexer()
		for n := range 10 {
			m := newMap(fmt.Sprint("m", n), "1")
			m.Namespace = string("ab"[n%2])
			check(t, x.Add(m))
		}
		lister := corelisters.NewConfigMapLister(x)
		if _, err := lister.List(labels.Everything()); err != nil || len(x.GetIndexers()) > 0 {
			t.Errorf("%s: %d indexers after a list of all namespaces, %v", name, len(x.GetIndexers()), err)
		}
		log := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
		klog.SetLogger(log) // client-go logs it if there is no index
		for range 2 {
			found, err := lister.ConfigMaps("a").List(labels.Everything())
			if err != nil || len(found) != 5 {
				t.Errorf("%s: the lister finds %d, %v", name, len(found), err)
			}
			keys, err := x.IndexKeys(cache.NamespaceIndex, "b")
			if objs, failed := x.ByIndex(cache.NamespaceIndex, "b"); err != nil || failed != nil || len(keys) != 5 || len(objs) != 5 {
				t.Errorf("%s: keys %q and %d objects, %v, %v", name, keys, len(objs), err, failed)
			}
			if len(x.GetIndexers()) != 1 {
				t.Errorf("%s: the indexers are %v", name, x.GetIndexers())
			}
		}
		klog.ClearLogger()
		if logged := log.GetSink().(ktesting.Underlier).GetBuffer().String(); logged != "" {
			t.Errorf("%s: the lister used no index: %s", name, logged)
		}
		check(t, shared.AddIndexers(cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}))
		if found, err := lister.ConfigMaps("b").List(labels.Everything()); err != nil || len(found) != 5 {
			t.Errorf("%s: with an index that was added, the lister finds %d, %v", name, len(found), err)
		}
	}
	for n := range 1024 {
		check(t, ours.GetIndexer().Add(newMap(fmt.Sprint("more", n), "1")))
	}
	before := len(inf.Store().Indexer().Stats())
	if found := informer.NewLister(inf).In("a").List(nil); len(found) != 5 || len(inf.Store().Indexer().Stats()) != before {
		t.Errorf("the informer's lister finds %d, with %d indexes in place of %d", len(found), len(inf.Store().Indexer().Stats()), before)
	}
}

func TestWritesOfTypedIndexer(t *testing.T) {
	shared, err := clientgo.Informer(newTyped(t, nil, informer.Options[*corev1.ConfigMap]{}))
	check(t, err)
	x := shared.GetIndexer()
	check(t, x.Replace([]any{newMap("one", "1"), newMap("two", "2")}, "7"))
	check(t, x.Update(newMap("two", "3")))
	check(t, x.Delete(cache.DeletedFinalStateUnknown{Key: "n/one"}))
	whole := newMap("whole", "1")
	whole.Namespace = ""
	check(t, x.Add(whole))
	if obj, exists, err := x.GetByKey("whole"); obj != whole || !exists || err != nil {
		t.Errorf("an object without a namespace: %v, %v", exists, err)
	}
	obj, exists, err := x.Get(newMap("two", ""))
	if _, state := textOf(obj); state != "two@=3" || !exists || err != nil || shared.LastSyncResourceVersion() != "7" {
		t.Errorf("%s, %v, %v, at %s", state, exists, err, shared.LastSyncResourceVersion())
	}
	for _, key := range []string{"n/one", "two", "a/b/c", ""} {
		if obj, exists, err := x.GetByKey(key); obj != nil || exists || err != nil {
			t.Errorf("under %q: %v, %v, %v", key, obj, exists, err)
		}
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pod"}}
	for what, err := range map[string]error{"Add": x.Add(pod), "Replace": x.Replace([]any{pod}, "8")} {
		if err == nil || !strings.Contains(err.Error(), "it is a *v1.Pod and no *v1.ConfigMap") {
			t.Errorf("%s of another type: %v", what, err)
		}
	}
	for what, err := range map[string]error{"Add": x.Add(7), "Delete": x.Delete(7), "Replace": x.Replace([]any{7}, "8"), "Get": last(x.Get(7))} {
		if !errors.As(err, new(cache.KeyError)) {
			t.Errorf("%s of a number: %v", what, err)
		}
	}
	if n := len(x.List()); n != 2 {
		t.Errorf("%d objects in the end", n)
	}
}

func TestInformerRefuses(t *testing.T) {
	var none *informer.Informer[types.NamespacedName, *corev1.ConfigMap]
	for _, inf := range []informer.Informed[types.NamespacedName, *corev1.ConfigMap]{nil, none} {
		if shared, err := clientgo.Informer(inf); shared != nil || !errors.Is(err, informer.ErrInvalid) {
			t.Errorf("%v, %v", shared, err)
		}
	}
	shared, err := clientgo.Informer(newTyped(t, nil, informer.Options[*corev1.ConfigMap]{}))
	check(t, err)
	if shared.SetTransform(nil) == nil || shared.SetWatchErrorHandler(nil) == nil || shared.SetWatchErrorHandlerWithContext(nil) == nil {
		t.Error("it takes what it cannot honour")
	}
}

// A panic in a handler ends the Run of the typed informer with an error. It may run again.
func TestInformerPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, lw := newServer(t)
		_, err := fake.Create(server, newMap("one", "1"))
		check(t, err)
		inf := newTyped(t, lw, informer.Options[*corev1.ConfigMap]{Logger: slog.New(slog.DiscardHandler)})
		shared, err := clientgo.Informer(inf)
		check(t, err)
		reg, err := shared.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(any) { panic("broken handler") }})
		check(t, err)
		var panicked *informer.PanicError
		if err := inf.Run(t.Context()); !errors.As(err, &panicked) || panicked.Value != "broken handler" || !shared.IsStopped() {
			t.Errorf("Run ended with %v", err)
		}
		again, err := clientgo.Informer(inf)
		check(t, err)
		check(t, again.RemoveEventHandler(reg)) // by another adapter of the informer
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { shared.RunWithContext(ctx); close(ended) }()
		synctest.Wait()
		if shared.IsStopped() {
			t.Error("it is stopped while it runs again")
		}
		cancel()
		<-ended
	})
}

// The logger gets what an index function returns.
func TestInformerLogger(t *testing.T) {
	var out strings.Builder
	shared, err := clientgo.Informer(newTyped(t, nil, informer.Options[*corev1.ConfigMap]{}), clientgo.InformerOptions{Logger: slog.New(slog.NewTextHandler(&out, nil))})
	check(t, err)
	check(t, shared.AddIndexers(cache.Indexers{"bad": func(any) ([]string, error) { return nil, errors.New("no value") }}))
	check(t, shared.GetIndexer().Add(newMap("one", "1")))
	for _, part := range []string{"resource=configmaps", "key=n/one", "no value", `bad`} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("no %q in %s", part, &out)
		}
	}
}
