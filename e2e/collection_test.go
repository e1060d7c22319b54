//go:build e2e

package e2e_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/e2e/beside"
	"github.com/kinform/kinform/e2e/cluster"
	"github.com/kinform/kinform/e2e/oracle"
	"github.com/kinform/kinform/fake/faketest"
	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/queue"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/store"
)

type key = types.NamespacedName

// collection is an informer of the pipeline under test, for any type of object.
type collection interface {
	// start runs the informer and its controller until stop is called.
	start(t *testing.T)
	stop(t *testing.T)
	// waitForSync waits for the initial list and for the handler to have seen it.
	waitForSync(ctx context.Context, t *testing.T)
	// catchUp writes to an object of the collection and waits until the store and the
	// handler have it: then they have everything that was written before.
	catchUp(ctx context.Context, t *testing.T)
	// check compares store, handler and controller with the server.
	check(ctx context.Context, t *testing.T)
	// relisted counts the lists after a 410, and those after an outage too long for watches.
	relisted() uint64
}

// selected says what a collection is of.
type selected struct {
	name      string
	resource  string // of the core group
	selection client.Options
	sentinel  string // name of an object in namespace ns-00 that is in the selection

	watchTimeout, idleTimeout time.Duration // as in informer.Options; zero idleTimeout means 5 s
}

// inNamespace is an index value of two fields.
type inNamespace struct{ Namespace, Annotation string }

func shards[T metav1.Object](dst []string, obj T) []string {
	return append(dst, obj.GetLabels()[oracle.ShardLabel])
}

// annotations gives an object a value for each.
func annotations[T metav1.Object](dst []inNamespace, obj T) []inNamespace {
	for name := range obj.GetAnnotations() {
		dst = append(dst, inNamespace{obj.GetNamespace(), name})
	}
	return dst
}

// pipeline is the collection of *O: source, informer, handlers, queue and workers.
// The truth is decoded into O too, by the oracle.
type pipeline[O any, T interface {
	*O
	metav1.Object
}] struct {
	selected
	oracle *oracle.Client
	inf    *informer.Informer[key, T]
	seen   faketest.Histories[key, T]
	reg    *informer.Registration
	queue  *queue.Queue[key]
	cancel context.CancelFunc

	byShard      *index.Index[T, string]
	byAnnotation *index.Index[T, inNamespace]
	ended        chan error

	mu         sync.Mutex
	errors     []error
	reconciled map[key]string // resourceVersion, "" for one that is gone
}

func newPipeline[O any, T interface {
	*O
	metav1.Object
}](t *testing.T, c *cluster.Cluster, hc *http.Client, s selected) *pipeline[O, T] {
	t.Helper()
	source, err := client.New(client.Connection{URL: c.URL(), HTTP: hc},
		kind.OfResource[T](schema.GroupVersionResource{Version: "v1", Resource: s.resource}), s.selection)
	if err != nil {
		t.Fatal(err)
	}
	p := &pipeline[O, T]{
		selected:     s,
		oracle:       &oracle.Client{URL: c.URL(), HTTP: c.HTTPClient()},
		queue:        queue.New(queue.Options[key]{}),
		ended:        make(chan error, 2),
		reconciled:   map[key]string{},
		byShard:      index.New("shard", shards[T]),
		byAnnotation: index.New("annotation", annotations[T]),
	}
	if s.idleTimeout == 0 {
		s.idleTimeout = 5 * time.Second
	}
	p.inf, err = informer.New(source, store.ObjectKey, informer.Options[T]{
		Indexes: index.Of(p.byShard, p.byAnnotation),
		OnError: p.onError,
		// Test time is dear.
		Reflector: reflector.Tuning{
			Backoff:      reflector.Backoff{Max: time.Second},
			IdleTimeout:  s.idleTimeout,
			WatchTimeout: s.watchTimeout,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	handle := func(ev informer.Event[key, T]) { record(&p.seen, ev) }
	p.reg, err = p.inf.AddHandler(informer.HandlerFunc[key, T](handle), informer.HandlerOptions[T]{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.inf.AddHandler(informer.HandlerFunc[key, T](func(ev informer.Event[key, T]) { p.queue.Add(ev.Key) }), informer.HandlerOptions[T]{}); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *pipeline[O, T]) onError(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.errors = append(p.errors, err)
}

// record tells seen of ev.
func record[T any](seen *faketest.Histories[key, T], ev informer.Event[key, T]) {
	switch ev.Type {
	case informer.Added:
		seen.Added(ev.Key, ev.Object)
	case informer.Updated:
		seen.Updated(ev.Key, ev.Old, ev.Object)
	case informer.Deleted:
		seen.Deleted(ev.Key, ev.Object)
	}
}

// reconcile notes what the store has of k. It fails once for every fifth key.
func (p *pipeline[O, T]) reconcile(_ context.Context, k key) error {
	obj, ok := p.inf.Store().Get(k)
	p.mu.Lock()
	defer p.mu.Unlock()
	if !ok {
		p.reconciled[k] = ""
		return nil
	}
	if _, before := p.reconciled[k]; !before && len(p.reconciled)%5 == 0 {
		p.reconciled[k] = "failed"
		return errors.New("try again")
	}
	p.reconciled[k] = obj.GetResourceVersion()
	return nil
}

func (p *pipeline[O, T]) start(*testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	go func() { p.ended <- p.inf.Run(ctx) }()
	go func() { p.ended <- queue.Run(ctx, p.queue, queue.RunOptions{Workers: 2}, p.reconcile) }()
}

func (p *pipeline[O, T]) stop(t *testing.T) {
	p.cancel()
	for range 2 {
		if err := <-p.ended; err != nil {
			t.Errorf("%s: ended with %v", p.name, err)
		}
	}
}

func (p *pipeline[O, T]) waitForSync(ctx context.Context, t *testing.T) {
	t.Helper()
	if err := p.inf.WaitForSync(ctx); err != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		t.Fatalf("%s: %v; errors: %v", p.name, err, p.errors)
	}
	select {
	case <-p.reg.Synced():
	case <-ctx.Done():
		t.Fatalf("%s: the handler did not sync", p.name)
	}
}

func (p *pipeline[O, T]) catchUp(ctx context.Context, t *testing.T) {
	t.Helper()
	k := key{Namespace: oracle.NamespaceName(0), Name: p.sentinel}
	patch := map[string]any{"metadata": map[string]any{"annotations": map[string]string{"touched-for": p.name, "id": randomID()}}}
	touched, err := oracle.Patch[metav1.PartialObjectMetadata](ctx, p.oracle, oracle.Path(p.resource, k.Namespace, k.Name), patch)
	if err != nil {
		t.Fatal(err)
	}
	reached := func(obj T, ok bool) bool { return ok && !older(obj.GetResourceVersion(), touched.ResourceVersion) }
	if err := p.inf.Store().WaitFor(ctx, k, reached); err != nil {
		t.Fatalf("%s: %v never reached resourceVersion %s: %v; stats %+v", p.name, k, touched.ResourceVersion, err, p.inf.Stats())
	}
	if err := eventually(ctx, func() bool { return p.handlerHas(k, reached) && p.controllerIdle() }); err != nil {
		t.Fatalf("%s: the handler or the controller did not catch up: %v", p.name, err)
	}
}

func (p *pipeline[O, T]) handlerHas(k key, reached func(T, bool) bool) bool {
	for seen, obj := range p.seen.Live() {
		if seen == k {
			return reached(obj, true)
		}
	}
	return false
}

func (p *pipeline[O, T]) controllerIdle() bool {
	return p.queue.Len() == 0 && len(p.queue.Snapshot().Running)+len(p.queue.Snapshot().Delayed) == 0
}

func (p *pipeline[O, T]) check(ctx context.Context, t *testing.T) {
	t.Helper()
	opts := metav1.ListOptions{LabelSelector: p.selection.LabelSelector, FieldSelector: p.selection.FieldSelector}
	listed, rv, err := oracle.List[O](ctx, p.oracle, oracle.Path(p.resource, p.selection.Namespace, ""), opts)
	if err != nil {
		t.Fatal(err)
	}
	want, got, live := map[key]T{}, map[key]T{}, map[key]T{}
	for n := range listed {
		var obj T = &listed[n]
		want[nameOf(obj)] = obj
	}
	for k, obj := range p.inf.Store().All() {
		got[k] = obj
	}
	for k, obj := range p.seen.Live() {
		live[k] = obj
	}
	if diff := cmp.Diff(want, got, ignoreKinds); diff != "" {
		t.Errorf("%s: the store is not the server's list at %s (-server +store):\n%.4000s", p.name, rv, diff)
	}
	if diff := cmp.Diff(got, live, ignoreKinds); diff != "" {
		t.Errorf("%s: the handler did not end up with the store (-store +handler):\n%.4000s", p.name, diff)
	}
	if err := p.seen.Err(); err != nil {
		t.Errorf("%s: the handler's history: %v", p.name, err)
	}
	if err := beside.FalseAlarm(p.inf.Stats()); err != nil {
		t.Errorf("%s: %v", p.name, err)
	}
	checkIndex(t, p.byShard, shards[T], p.inf.Store(), want)
	checkIndex(t, p.byAnnotation, annotations[T], p.inf.Store(), want)
	p.checkReconciled(t, got)
}

// checkIndex compares the index with what its function says of the server's objects.
func checkIndex[T metav1.Object, V comparable](t *testing.T, x *index.Index[T, V], values index.IndexFunc[T, V], from *store.Reader[key, T], objects map[key]T) {
	t.Helper()
	want, got := map[V]int{}, map[V]int{}
	for _, obj := range objects {
		for _, v := range values(nil, obj) {
			want[v]++
		}
	}
	for v := range x.Values(from) {
		for range x.All(from, v) {
			got[v]++
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("index %s: objects per value (-server +index):\n%s", x.Name(), diff)
	}
}

// ignoreKinds makes up for items of a list, which have no kind where single objects do.
var ignoreKinds = cmpopts.IgnoreTypes(metav1.TypeMeta{})

// checkReconciled makes sure that the controller's last look at each object was at its
// last state.
func (p *pipeline[O, T]) checkReconciled(t *testing.T, stored map[key]T) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for k, obj := range stored {
		if p.reconciled[k] != obj.GetResourceVersion() {
			t.Errorf("%s: %v was reconciled at %q, the store has %s", p.name, k, p.reconciled[k], obj.GetResourceVersion())
		}
	}
	for k, rv := range p.reconciled {
		if _, ok := stored[k]; !ok && rv != "" {
			t.Errorf("%s: %v is gone, but was last reconciled at %q", p.name, k, rv)
		}
	}
}

func (p *pipeline[O, T]) relisted() uint64 {
	relists := p.inf.Stats().Relists
	return relists.Expired + relists.Failing
}

func nameOf(obj metav1.Object) key { return key{Namespace: obj.GetNamespace(), Name: obj.GetName()} }

func older(a, b string) bool {
	c, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && c < 0
}
