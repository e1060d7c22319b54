package controllerruntime

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	kinform "github.com/kinform/kinform/client"
)

// objectCache is a cache.Cache: a collection for each kind and form of objects that somebody asked
// for.
type objectCache struct {
	// Set by New and never changed.
	scheme       *runtime.Scheme
	mapper       meta.RESTMapper
	conn         kinform.Connection
	options      CacheOptions
	onWatchError toolscache.WatchErrorHandlerWithContext // nil: errors are logged
	knownOnly    bool                                    // reads begin no collection
	byKind       map[schema.GroupVersionKind]settings
	others       split
	started      chan struct{} // closed by Start

	mu          sync.Mutex
	collections map[identity]*collection
	running     context.Context // of Start; nil before
	fail        context.CancelCauseFunc
	over        bool           // set at the end of Start: no collection begins any more
	wg          sync.WaitGroup // of the collections that run
}

var _ cache.Cache = (*objectCache)(nil)

var errStarted = errors.New("controllerruntime: informer already started")

// identity names a collection. One kind may be cached in all three forms.
type identity struct {
	kind schema.GroupVersionKind
	form form
}

type form string

const (
	formTyped        form = "typed"
	formUnstructured form = "unstructured"
	formMetadata     form = "metadata"
)

func formOf(obj runtime.Object) form {
	switch obj.(type) {
	case runtime.Unstructured:
		return formUnstructured
	case *metav1.PartialObjectMetadata, *metav1.PartialObjectMetadataList:
		return formMetadata
	}
	return formTyped
}

// Start implements cache.Informers. It runs the caches of all kinds until ctx is done, also of
// those that are asked for meanwhile, and returns when all have ended. It returns an error if a
// handler, a transform function or the handler of watch errors panicked.
func (c *objectCache) Start(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if err := c.begin(ctx, cancel); err != nil {
		return err
	}
	<-ctx.Done()
	c.end()
	c.wg.Wait()
	var failed *failure
	if errors.As(context.Cause(ctx), &failed) {
		return failed.error
	}
	return nil
}

// failure is the reason why a cache ended before its context did.
type failure struct{ error }

func (c *objectCache) begin(ctx context.Context, fail context.CancelCauseFunc) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running != nil {
		return errStarted
	}
	c.running, c.fail = ctx, fail
	for _, of := range c.collections {
		c.run(of)
	}
	close(c.started)
	return nil
}

// end keeps further collections from beginning.
func (c *objectCache) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
}

// run runs a collection, or discards it if the cache has ended. Called with mu held.
func (c *objectCache) run(of *collection) {
	if c.over {
		of.discard()
		return
	}
	ctx, fail := c.running, c.fail
	c.wg.Go(func() {
		if err := of.run(ctx); err != nil {
			fail(&failure{err})
		}
	})
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: every replica fills its cache.
func (c *objectCache) NeedLeaderElection() bool { return false }

// WaitForCacheSync implements cache.Informers. It does not wait for a kind that RemoveInformer
// removes meanwhile.
func (c *objectCache) WaitForCacheSync(ctx context.Context) bool {
	select {
	case <-c.started:
	case <-ctx.Done():
		return false
	}
	c.mu.Lock()
	all := make([]*collection, 0, len(c.collections))
	for _, of := range c.collections {
		all = append(all, of)
	}
	c.mu.Unlock()
	for _, of := range all {
		if of.wait(ctx) != nil && of.stopping.Err() == nil {
			return false
		}
	}
	return true
}

// GetInformer implements cache.Informers.
func (c *objectCache) GetInformer(ctx context.Context, obj client.Object, opts ...cache.InformerGetOption) (cache.Informer, error) {
	gvk, err := apiutil.GVKForObject(obj, c.scheme)
	if err != nil {
		return nil, err
	}
	return c.informer(ctx, gvk, obj, opts)
}

// GetInformerForKind implements cache.Informers.
func (c *objectCache) GetInformerForKind(ctx context.Context, gvk schema.GroupVersionKind, opts ...cache.InformerGetOption) (cache.Informer, error) {
	obj, err := c.scheme.New(gvk)
	if err != nil {
		return nil, err
	}
	return c.informer(ctx, gvk, obj, opts)
}

func (c *objectCache) informer(ctx context.Context, gvk schema.GroupVersionKind, obj runtime.Object, opts []cache.InformerGetOption) (cache.Informer, error) {
	var get cache.InformerGetOptions
	for _, opt := range opts {
		opt(&get)
	}
	of, err := c.get(gvk, obj, true)
	if err != nil {
		return nil, err
	}
	if block := get.BlockUntilSynced; c.isStarted() && (block == nil || *block) {
		if err := of.wait(ctx); err != nil {
			return nil, err
		}
	}
	return of, nil
}

// RemoveInformer implements cache.Informers. It does not wait for the end of the informer.
func (c *objectCache) RemoveInformer(_ context.Context, obj client.Object) error {
	gvk, err := apiutil.GVKForObject(obj, c.scheme)
	if err != nil {
		return err
	}
	id := identity{gvk, formOf(obj)}
	c.mu.Lock()
	defer c.mu.Unlock()
	of := c.collections[id]
	switch {
	case of == nil:
		return nil
	case c.running == nil:
		of.discard()
	default:
		of.stop()
	}
	delete(c.collections, id)
	return nil
}

// IndexField implements client.FieldIndexer. Errors: index.ErrDuplicate for a field that is indexed
// already; index.ErrInvalid if extract is nil.
func (c *objectCache) IndexField(_ context.Context, obj client.Object, field string, extract client.IndexerFunc) error {
	gvk, err := apiutil.GVKForObject(obj, c.scheme)
	if err != nil {
		return err
	}
	of, err := c.get(gvk, obj, true)
	if err != nil {
		return err
	}
	return of.addField(field, extract)
}

// readable returns the collection for a read, once it has synced.
func (c *objectCache) readable(ctx context.Context, gvk schema.GroupVersionKind, obj runtime.Object) (*collection, error) {
	of, err := c.get(gvk, obj, !c.knownOnly)
	if err != nil {
		return nil, err
	}
	if !c.isStarted() {
		return nil, &cache.ErrCacheNotStarted{}
	}
	return of, of.wait(ctx)
}

func (c *objectCache) isStarted() bool { return isClosed(c.started) }

// get returns the collection of a kind in the form of obj, and makes it if make is set.
func (c *objectCache) get(gvk schema.GroupVersionKind, obj runtime.Object, make bool) (*collection, error) {
	id := identity{gvk, formOf(obj)}
	c.mu.Lock()
	of := c.collections[id]
	c.mu.Unlock()
	switch {
	case of != nil:
		return of, nil
	case !make:
		return nil, &cache.ErrResourceNotCached{GVK: gvk}
	}
	made, err := c.collection(id, obj) // may ask the server
	if err != nil {
		return nil, fmt.Errorf("controllerruntime: a cache of %s: %w", gvk, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if of := c.collections[id]; of != nil {
		return of, nil
	}
	c.collections[id] = made
	if c.running != nil {
		c.run(made)
	}
	return made, nil
}
