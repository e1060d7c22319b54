package controllerruntime

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/kinform/kinform/internal/lot"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	kinform "github.com/kinform/kinform/client"
	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/internal/mistake"
	"github.com/kinform/kinform/internal/usercode"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/store"
	"github.com/kinform/kinform/with/clientgo"
)

// collection caches the objects of one kind in one form: a part for each namespace that has a
// configuration.
type collection struct {
	// Set when it is made and never changed.
	kind       schema.GroupVersionKind
	namespaced bool
	parts      map[string]*part // by namespace; cache.AllNamespaces for all others
	synced     chan struct{}    // closed once all parts have synced
	ended      chan struct{}    // closed once all parts have ended, or will never run
	stopping   context.Context  // done after stop
	stop       context.CancelFunc

	mu      sync.Mutex
	fields  map[string]*index.Index[client.Object, string] // by the name of the field
	waits   []func(ctx context.Context)                    // that begin with run
	running context.Context                                // of run; nil before
	over    bool                                           // set at the end of run: no wait begins any more
	wg      sync.WaitGroup                                 // of the waits
}

// part is the informer of one namespace, or of all namespaces.
type part struct {
	*informer.Informer[types.NamespacedName, client.Object]
	adapter toolscache.SharedIndexInformer // takes handlers and indexers
	shared  bool                           // reads return the cache's own objects
	packed  bool                           // reads of the informer return new objects
	labels  labelIndexes

	byNamespace *index.Index[client.Object, string] // nil in the part of one namespace, and of cluster-scoped objects
}

// collection makes the collection of a kind for objects of obj's form. It does not run.
func (c *objectCache) collection(id identity, obj runtime.Object) (*collection, error) {
	mapping, err := c.mapper.RESTMapping(id.kind.GroupKind(), id.kind.Version)
	if err != nil {
		return nil, err
	}
	like, err := sample(id.form, obj)
	if err != nil {
		return nil, err
	}
	of := &collection{
		kind: id.kind, namespaced: mapping.Scope.Name() == meta.RESTScopeNameNamespace, parts: map[string]*part{},
		synced: make(chan struct{}), ended: make(chan struct{}), fields: map[string]*index.Index[client.Object, string]{},
	}
	of.stopping, of.stop = context.WithCancel(context.Background())
	of.waits = []func(context.Context){of.awaitParts}
	for namespace, config := range c.settings(id.kind, of.namespaced) {
		if of.parts[namespace], err = c.part(of, mapping.Resource.Resource, like, namespace, config); err != nil {
			return nil, err
		}
	}
	return of, nil
}

// sample returns an object of the type of the cached objects.
func sample(f form, obj runtime.Object) (client.Object, error) {
	switch f {
	case formUnstructured:
		return &unstructured.Unstructured{}, nil
	case formMetadata:
		return &metav1.PartialObjectMetadata{}, nil
	}
	like, ok := obj.(client.Object)
	if !ok {
		return nil, fmt.Errorf("%T has no metadata", obj)
	}
	return reflect.New(reflect.TypeOf(like).Elem()).Interface().(client.Object), nil
}

// part makes the informer of a namespace.
func (c *objectCache) part(of *collection, resource string, like client.Object, namespace string, config cache.Config) (*part, error) {
	source, err := c.source(of, resource, like, namespace, config)
	if err != nil {
		return nil, err
	}
	opts := informer.Options[client.Object]{Packed: c.options.Packed, Logger: slog.New(logr.ToSlogHandler(log.Log.WithName("kinform")))}
	if c.onWatchError != nil {
		opts.OnError = c.reporter(source.Resource(), like, opts.Logger)
	}
	p := &part{packed: c.options.Packed, shared: config.UnsafeDisableDeepCopy != nil && *config.UnsafeDisableDeepCopy}
	if of.namespaced && namespace == cache.AllNamespaces {
		p.byNamespace = index.Namespace[client.Object]()
		opts.Indexes = index.Of[client.Object](p.byNamespace)
	}
	resync := defaultResync
	if config.SyncPeriod != nil {
		resync = *config.SyncPeriod
	}
	if resync > 0 {
		spread := 0.9 + lot.Fraction(0)/5 // informers that began together do not resync together
		opts.Resync = max(time.Duration(float64(resync)*spread), minResync)
	}
	if p.Informer, err = informer.New(source, store.ObjectKey, opts); err != nil {
		return nil, err
	}
	p.adapter, err = clientgo.Informer(p.Informer, clientgo.InformerOptions{Logger: opts.Logger})
	return p, err
}

// source returns the source of a part: the objects that its configuration selects, transformed.
func (c *objectCache) source(of *collection, resource string, like client.Object, namespace string, config cache.Config) (reflector.Source[client.Object], error) {
	opts := kinform.Options{Namespace: namespace, DropManagedFields: c.options.DropManagedFields, ShareJSON: true}
	if config.LabelSelector != nil {
		opts.LabelSelector = config.LabelSelector.String()
	}
	if config.FieldSelector != nil {
		opts.FieldSelector = config.FieldSelector.String()
		if only, ok := config.FieldSelector.RequiresExactMatch(namespaceField); ok && of.namespaced && namespace == cache.AllNamespaces {
			opts.Namespace = only // so that a role in that namespace is enough
		}
	}
	k := &kind.Kind[client.Object]{GroupVersionKind: of.kind, Resource: resource, Scope: kind.ClusterScoped}
	if of.namespaced {
		k.Scope = kind.Namespaced
	}
	r, err := kinform.NewLike(c.conn, k, like, opts)
	if err != nil {
		return nil, err
	}
	var source reflector.Source[client.Object] = r
	if config.EnableWatchBookmarks != nil && !*config.EnableWatchBookmarks {
		source = withoutBookmarks{r}
	}
	if _, ok := like.(*metav1.PartialObjectMetadata); !ok && config.Transform == nil {
		return source, nil
	} else if shared := r.Relist(source, nil); ok && config.Transform == nil && shared != nil {
		source = shared // finish writes to the object's own fields alone
	}
	return reflector.Map(source, of.finish(config.Transform)), nil
}

// finish returns a function that gives metadata the kind of its object, and calls transform.
func (of *collection) finish(transform toolscache.TransformFunc) func(client.Object) (client.Object, error) {
	return func(obj client.Object) (client.Object, error) {
		if m, ok := obj.(*metav1.PartialObjectMetadata); ok {
			m.SetGroupVersionKind(of.kind)
		}
		if transform == nil {
			return obj, nil
		}
		made, err := transform(obj)
		if err != nil {
			return nil, fmt.Errorf("transform function: %w", err)
		}
		obj, ok := made.(client.Object)
		if !ok {
			return nil, fmt.Errorf("the transform function returned a %T, which is no client.Object", made)
		}
		return obj, nil
	}
}

// withoutBookmarks is a resource whose watches bring no bookmarks. A streaming list needs one, so
// there are none.
type withoutBookmarks struct{ *resource }

type resource = kinform.Resource[client.Object]

// Watch implements reflector.Source.
func (r withoutBookmarks) Watch(ctx context.Context, opts metav1.ListOptions) iter.Seq2[reflector.Event[client.Object], error] {
	if opts.SendInitialEvents != nil && *opts.SendInitialEvents {
		return func(yield func(reflector.Event[client.Object], error) bool) {
			yield(reflector.Event[client.Object]{}, errors.ErrUnsupported)
		}
	}
	opts.AllowWatchBookmarks = false
	return r.resource.Watch(ctx, opts)
}

// reporter returns an informer's OnError that calls the user's handler for failed requests.
func (c *objectCache) reporter(name string, like client.Object, logger *slog.Logger) func(error) {
	r := toolscache.NewReflectorWithOptions(&toolscache.ListWatch{}, like, toolscache.NewStore(toolscache.MetaNamespaceKeyFunc),
		toolscache.ReflectorOptions{Name: name, TypeDescription: name})
	return func(err error) {
		var failed *reflector.RequestError
		if errors.As(err, &failed) {
			c.onWatchError(c.running, r, failed.Err)
			return
		}
		logger.Warn("kinform: "+err.Error(), "error", err)
	}
}

// run runs all parts until ctx is done or the collection is stopped. An error of one ends all.
func (of *collection) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(of.stopping, cancel)()
	of.mu.Lock()
	of.running = ctx
	for _, wait := range of.waits {
		of.wg.Go(func() { wait(ctx) })
	}
	of.waits = nil
	of.mu.Unlock()

	errs := make(chan error, len(of.parts))
	for _, p := range of.parts {
		go usercode.Outcome(func() error { return p.Run(ctx) }, func(err error) {
			if err != nil {
				cancel()
			}
			errs <- err
		})
	}
	var all []error
	for range of.parts {
		all = append(all, <-errs)
	}
	cancel()
	of.end()
	of.wg.Wait()
	close(of.ended)
	return errors.Join(all...)
}

// discard ends a collection that has not run and never will.
func (of *collection) discard() {
	of.stop()
	close(of.ended)
}

// end keeps further waits from beginning.
func (of *collection) end() {
	of.mu.Lock()
	defer of.mu.Unlock()
	of.over = true
}

// whileRunning runs wait in a goroutine of the collection, once that runs. wait ends with its
// context.
func (of *collection) whileRunning(wait func(ctx context.Context)) {
	of.mu.Lock()
	defer of.mu.Unlock()
	switch {
	case of.running == nil:
		of.waits = append(of.waits, wait)
	case !of.over:
		of.wg.Go(func() { wait(of.running) })
	}
}

// awaitParts closes synced once all parts have synced.
func (of *collection) awaitParts(ctx context.Context) {
	for _, p := range of.parts {
		if !await(ctx, p.Synced()) {
			return
		}
	}
	close(of.synced)
}

// await waits for a channel to be closed, and reports whether that came before the end of ctx.
func await(ctx context.Context, closed <-chan struct{}) bool {
	select {
	case <-closed:
		return true
	case <-ctx.Done():
		return false
	}
}

// wait waits until the collection has synced. Its error satisfies apierrors.IsTimeout if ctx ends
// first, and says which requests fail.
func (of *collection) wait(ctx context.Context) error {
	select {
	case <-of.synced:
		return nil
	default:
	}
	select {
	case <-of.synced:
		return nil
	case <-of.ended:
		return fmt.Errorf("controllerruntime: the informer of %s: %w", of.kind, informer.ErrStopped)
	case <-ctx.Done():
	}
	text := fmt.Sprintf("failed waiting for the informer of %s to sync", of.kind)
	for _, p := range of.parts {
		if failing := p.Stats().Failing; failing.Err != nil {
			text += ": " + failing.Err.Error()
		}
	}
	return apierrors.NewTimeoutError(text, 0)
}

// addField adds an index of a field.
func (of *collection) addField(field string, extract client.IndexerFunc) error {
	of.mu.Lock()
	defer of.mu.Unlock()
	switch {
	case extract == nil:
		return fmt.Errorf("controllerruntime: the field %q of %s: %w", field, of.kind, mistake.Index)
	case of.fields[field] != nil:
		return fmt.Errorf("controllerruntime: the field %q of %s: %w", field, of.kind, index.ErrDuplicate)
	}
	x := index.New("field:"+field, func(dst []string, obj client.Object) []string { return append(dst, extract(obj)...) })
	for _, p := range of.parts {
		if err := p.AddIndexes(x); err != nil {
			return fmt.Errorf("controllerruntime: the field %q of %s: %w", field, of.kind, err)
		}
	}
	of.fields[field] = x
	return nil
}

// labelIndexes are the labels that a part has indexes of.
type labelIndexes struct {
	mu   sync.Mutex
	keys []string
}

const (
	// mostLabels is the number of labels of which a part has indexes. Lists by other labels look at
	// all objects.
	mostLabels = 8
	// indexedFrom is the number of objects from which indexes of labels are made.
	indexedFrom = 1024
)

// indexLabels makes indexes of the labels of which the selector names values.
func (p *part) indexLabels(selector labels.Selector) {
	if selector == nil || p.Store().Len() < indexedFrom {
		return
	}
	required, _ := selector.Requirements()
	p.labels.mu.Lock()
	defer p.labels.mu.Unlock()
	for _, r := range required {
		if !names(r) || len(p.labels.keys) == mostLabels || slices.Contains(p.labels.keys, r.Key()) {
			continue
		}
		p.labels.keys = append(p.labels.keys, r.Key())
		// An error means that the user has an index of that name. Lists work without this one.
		_ = p.AddIndexes(index.Labels[client.Object]("label:"+r.Key(), r.Key()))
	}
}
