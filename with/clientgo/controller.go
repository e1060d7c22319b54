package clientgo

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
)

// NewInformer is cache.NewInformer: a cache with one handler. The Controller runs it.
func NewInformer(lw cache.ListerWatcher, objType runtime.Object, resync time.Duration, h cache.ResourceEventHandler) (cache.Store, cache.Controller) {
	return NewInformerWithOptions(cache.InformerOptions{ListerWatcher: lw, ObjectType: objType, ResyncPeriod: resync, Handler: h})
}

// NewIndexerInformer is cache.NewIndexerInformer: NewInformer with indexes.
func NewIndexerInformer(lw cache.ListerWatcher, objType runtime.Object, resync time.Duration, h cache.ResourceEventHandler, indexers cache.Indexers) (cache.Indexer, cache.Controller) {
	return newInformer(cache.InformerOptions{ListerWatcher: lw, ObjectType: objType, ResyncPeriod: resync, Handler: h, Indexers: indexers})
}

// NewTransformingInformer is cache.NewTransformingInformer: NewInformer with a function that
// changes objects before they are stored.
func NewTransformingInformer(lw cache.ListerWatcher, objType runtime.Object, resync time.Duration, h cache.ResourceEventHandler, transform cache.TransformFunc) (cache.Store, cache.Controller) {
	return NewInformerWithOptions(cache.InformerOptions{ListerWatcher: lw, ObjectType: objType, ResyncPeriod: resync, Handler: h, Transform: transform})
}

// NewTransformingIndexerInformer is cache.NewTransformingIndexerInformer: NewTransformingInformer
// with indexes.
func NewTransformingIndexerInformer(lw cache.ListerWatcher, objType runtime.Object, resync time.Duration, h cache.ResourceEventHandler, indexers cache.Indexers, transform cache.TransformFunc) (cache.Indexer, cache.Controller) {
	return newInformer(cache.InformerOptions{ListerWatcher: lw, ObjectType: objType, ResyncPeriod: resync, Handler: h, Indexers: indexers, Transform: transform})
}

// NewInformerWithOptions is cache.NewInformerWithOptions. Logger, MinWatchTimeout, Identifier and
// InformerMetricsProvider are not used. The Store is a cache.Indexer.
func NewInformerWithOptions(opts cache.InformerOptions) (cache.Store, cache.Controller) {
	return newInformer(opts)
}

func newInformer(opts cache.InformerOptions) (cache.Indexer, cache.Controller) {
	s := newUntyped(opts.ListerWatcher, opts.ObjectType, cache.SharedIndexInformerOptions{ResyncPeriod: opts.ResyncPeriod, Indexers: opts.Indexers})
	s.transform = opts.Transform
	reg, err := s.AddEventHandler(opts.Handler)
	if err != nil {
		panic(err) // the handler is nil; client-go panics when the first object comes
	}
	return s.indexer, controller{s, reg}
}

// controller runs an informer with one handler, which it waits for.
type controller struct {
	informer *sharedInformer
	handler  cache.ResourceEventHandlerRegistration
}

// Run implements cache.Controller.
func (c controller) Run(stop <-chan struct{}) { c.RunWithContext(wait.ContextForChannel(stop)) }

// RunWithContext implements cache.Controller.
func (c controller) RunWithContext(ctx context.Context) { c.informer.RunWithContext(ctx) }

// HasSynced implements cache.Controller: the handler has had the first list.
func (c controller) HasSynced() bool { return c.handler.HasSynced() }

// HasSyncedChecker implements cache.Controller. See HasSynced.
func (c controller) HasSyncedChecker() cache.DoneChecker { return c.handler.HasSyncedChecker() }

// LastSyncResourceVersion implements cache.Controller.
func (c controller) LastSyncResourceVersion() string { return c.informer.LastSyncResourceVersion() }
