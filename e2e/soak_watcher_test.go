//go:build e2e

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/e2e/beside"
	"github.com/kinform/kinform/e2e/oracle"
	"github.com/kinform/kinform/fake/faketest"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/store"
)

// soakInformer is a watcher of any type.
type soakInformer interface {
	resource() string
	start()
	stop() error
	// stall makes the handler stand still that may be left behind, until resume.
	stall()
	resume()
	// catchUp waits until the store has the sentinel at rv and the handlers have the store.
	catchUp(ctx context.Context, rv string) error
	// illegal returns what a handler was told against the rules.
	illegal() error
	// compare compares what is of the population in the store with what it selects of the truth.
	compare(t *testing.T, truth map[key]metav1.Object)
	stats() informer.Stats
	// told returns how many events the handlers were told of, and how often one was left
	// behind.
	told() (events int, overruns uint64)
}

// watcher is an informer with two handlers: one that it waits for, and one that coalesces.
type watcher[T metav1.Object] struct {
	name    string
	gvr     schema.GroupVersionResource
	selects func(metav1.Object) bool
	as      func(metav1.Object) metav1.Object
	inf     *informer.Informer[key, T]
	prompt  witness[T]
	loose   witness[T]
	cancel  context.CancelFunc
	ended   chan error
}

// witness is a handler that holds an informer to its contracts.
type witness[T metav1.Object] struct {
	name  string
	store *store.Reader[key, T]
	seen  faketest.Histories[key, T]
	stale atomic.Int64 // events that the store was older than
	still sync.Mutex   // held while it stands still
}

// Handle implements informer.Handler.
func (w *witness[T]) Handle(ev informer.Event[key, T]) {
	w.still.Lock()
	defer w.still.Unlock()
	if obj, ok := w.store.Get(ev.Key); ok && older(obj.GetResourceVersion(), ev.Object.GetResourceVersion()) {
		w.stale.Add(1)
	}
	record(&w.seen, ev)
}

func (w *witness[T]) illegal() error {
	err := w.seen.Err()
	if n := w.stale.Load(); n > 0 {
		err = errors.Join(err, fmt.Errorf("the store was older than %d events", n))
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", w.name, err)
	}
	return err
}

// has reports whether the handler's objects are the store's.
func (w *witness[T]) has() bool {
	n := 0
	for k, obj := range w.seen.Live() {
		if stored, ok := w.store.Get(k); !ok || any(stored) != any(obj) {
			return false
		}
		n++
	}
	return n == w.store.Len()
}

// watchersOf returns four informers: of all objects, of a quarter by label, of a namespace,
// and of the metadata of all.
func watchersOf[T metav1.Object](t *testing.T, conn client.Connection, gvr schema.GroupVersionResource) []soakInformer {
	t.Helper()
	all := func(metav1.Object) bool { return true }
	whole := func(obj metav1.Object) metav1.Object { return obj }
	return []soakInformer{
		newWatcher[T](t, conn, gvr, "all", client.Options{}, all, whole),
		newWatcher[T](t, conn, gvr, "a quarter", client.Options{LabelSelector: oracle.ShardLabel + "=0"},
			func(obj metav1.Object) bool { return obj.GetLabels()[oracle.ShardLabel] == "0" }, whole),
		newWatcher[T](t, conn, gvr, "a namespace", client.Options{Namespace: oracle.NamespaceName(0)},
			func(obj metav1.Object) bool { return obj.GetNamespace() == oracle.NamespaceName(0) }, whole),
		newWatcher[*metav1.PartialObjectMetadata](t, conn, gvr, "metadata", client.Options{}, all,
			func(obj metav1.Object) metav1.Object { return meta.AsPartialObjectMetadata(obj) }),
	}
}

func newWatcher[T metav1.Object](t *testing.T, conn client.Connection, gvr schema.GroupVersionResource, name string, opts client.Options,
	selects func(metav1.Object) bool, as func(metav1.Object) metav1.Object,
) soakInformer {
	t.Helper()
	w := &watcher[T]{name: gvr.Resource + ", " + name, gvr: gvr, selects: selects, as: as, ended: make(chan error, 1)}
	source, err := client.New(conn, kind.OfResource[T](gvr), opts)
	if err != nil {
		t.Fatal(err)
	}
	w.inf, err = informer.New(source, store.ObjectKey, informer.Options[T]{
		OnError:   func(error) {},
		Reflector: reflector.Tuning{Backoff: reflector.Backoff{Max: time.Second}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for h, coalesces := range map[*witness[T]]bool{&w.prompt: false, &w.loose: true} {
		h.name, h.store = fmt.Sprintf("%s, handler with Coalesce %t", w.name, coalesces), w.inf.Store()
		if _, err := w.inf.AddHandler(h, informer.HandlerOptions[T]{Name: h.name, Coalesce: coalesces}); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func (w *watcher[T]) resource() string { return w.gvr.Resource }

func (w *watcher[T]) start() {
	var ctx context.Context
	ctx, w.cancel = context.WithCancel(context.Background())
	go func() { w.ended <- w.inf.Run(ctx) }()
}

func (w *watcher[T]) stop() error {
	w.cancel()
	if err := <-w.ended; err != nil {
		return fmt.Errorf("%s: ended with %w", w.name, err)
	}
	return nil
}

func (w *watcher[T]) stall()  { w.loose.still.Lock() }
func (w *watcher[T]) resume() { w.loose.still.Unlock() }

func (w *watcher[T]) catchUp(ctx context.Context, rv string) error {
	reached := func(obj T, ok bool) bool { return ok && !older(obj.GetResourceVersion(), rv) }
	if err := w.inf.WaitFor(ctx, key{Namespace: oracle.NamespaceName(0), Name: sentinel}, reached); err != nil {
		return fmt.Errorf("%s: the store never reached resourceVersion %s: %w; stats %+v", w.name, rv, err, w.inf.Stats())
	}
	for _, h := range []*witness[T]{&w.prompt, &w.loose} {
		if err := eventually(ctx, h.has); err != nil {
			return fmt.Errorf("%s: did not catch up with the store: %w; %+v", h.name, err, w.inf.Handlers())
		}
	}
	return nil
}

func (w *watcher[T]) illegal() error {
	return errors.Join(w.prompt.illegal(), w.loose.illegal(), beside.FalseAlarm(w.inf.Stats()))
}

func (w *watcher[T]) compare(t *testing.T, truth map[key]metav1.Object) {
	t.Helper()
	want := 0
	for k, obj := range truth {
		if !w.selects(obj) {
			continue
		}
		want++
		got, ok := w.inf.Store().Get(k)
		if !ok {
			t.Errorf("%s: %v is not in the store", w.name, k)
		} else if wanted := w.as(obj); !cmp.Equal(wanted, metav1.Object(got), ignoreKinds) {
			t.Errorf("%s: %v (-server +store):\n%s", w.name, k, cmp.Diff(wanted, metav1.Object(got), ignoreKinds))
		}
	}
	got := 0
	for _, obj := range w.inf.Store().All() {
		if ours(obj) {
			got++
		}
	}
	if got != want {
		t.Errorf("%s: the store has %d objects, the server %d", w.name, got, want)
	}
}

func (w *watcher[T]) stats() informer.Stats { return w.inf.Stats() }

func (w *watcher[T]) told() (events int, overruns uint64) {
	for _, h := range w.inf.Handlers() {
		overruns += h.Overruns
	}
	return w.prompt.seen.Events() + w.loose.seen.Events(), overruns
}
