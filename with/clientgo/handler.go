package clientgo

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/internal/mistake"
)

// minResync is the shortest period of resyncs; client-go has the same one.
const minResync = time.Second

// period returns the period of resyncs for options of package informer, in which zero has another
// meaning.
func period(resync time.Duration) time.Duration {
	if resync <= 0 {
		return -1 // never
	}
	return max(resync, minResync)
}

// AddEventHandler implements cache.SharedInformer.
func (s *shared[K, T]) AddEventHandler(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	return s.AddEventHandlerWithOptions(h, cache.HandlerOptions{})
}

// AddEventHandlerWithResyncPeriod implements cache.SharedInformer.
func (s *shared[K, T]) AddEventHandlerWithResyncPeriod(h cache.ResourceEventHandler, resync time.Duration) (cache.ResourceEventHandlerRegistration, error) {
	return s.AddEventHandlerWithOptions(h, cache.HandlerOptions{ResyncPeriod: &resync})
}

// AddEventHandlerWithOptions implements cache.SharedInformer.
func (s *shared[K, T]) AddEventHandlerWithOptions(h cache.ResourceEventHandler, opts cache.HandlerOptions) (cache.ResourceEventHandlerRegistration, error) {
	if mistake.IsNil(h) {
		return nil, fmt.Errorf("clientgo: %s: %w", s.inf.Resource(), mistake.NoHandler)
	}
	if s.IsStopped() {
		return nil, &stoppedError{"handler", s.inf.Resource()}
	}
	var resync time.Duration // the informer's
	if opts.ResyncPeriod != nil {
		resync = period(*opts.ResyncPeriod)
	}
	var to informer.Handler[K, T] = handler[K, T]{h, s.indexer.names.text}
	if s.guard != nil {
		to = s.guard(to, opts.Logger)
	}
	reg, err := s.inf.AddHandler(to, informer.HandlerOptions[T]{Resync: resync, Unchanged: true})
	if err != nil {
		return nil, err
	}
	return &registration{s.inf, s.HasSyncedChecker().Name(), reg}, nil
}

// RemoveEventHandler implements cache.SharedInformer. A registration with another informer is left
// alone.
func (s *shared[K, T]) RemoveEventHandler(handle cache.ResourceEventHandlerRegistration) error {
	r, ok := handle.(*registration)
	if !ok {
		return fmt.Errorf("clientgo: %T is no registration of this package", handle)
	}
	if r.of == any(s.inf) {
		r.Remove()
	}
	return nil
}

// registration is a cache.ResourceEventHandlerRegistration.
type registration struct {
	of       any // the informer
	informer string
	*informer.Registration
}

// HasSynced implements cache.ResourceEventHandlerRegistration.
func (r *registration) HasSynced() bool { return isClosed(r.Synced()) }

// HasSyncedChecker implements cache.ResourceEventHandlerRegistration.
func (r *registration) HasSyncedChecker() cache.DoneChecker {
	return checker{r.informer + " + " + r.Name(), r.Synced()}
}

// ShutdownChan returns the channel that cache.ShutDownEventHandler waits for after the removal.
func (r *registration) ShutdownChan() <-chan struct{} { return r.Done() }

// handler is a cache.ResourceEventHandler as a handler of an informer.
type handler[K comparable, T any] struct {
	cache.ResourceEventHandler
	text func(K) string
}

// Handle implements informer.Handler.
func (h handler[K, T]) Handle(ev informer.Event[K, T]) {
	switch {
	case ev.Type == informer.Added:
		h.OnAdd(ev.Object, ev.Initial)
	case ev.Type == informer.Updated:
		h.OnUpdate(ev.Old, ev.Object)
	case ev.FinalStateUnknown:
		h.OnDelete(cache.DeletedFinalStateUnknown{Key: h.text(ev.Key), Obj: ev.Object})
	default:
		h.OnDelete(ev.Object)
	}
}

// crashing is a handler whose panic ends the process, unless runtime.ReallyCrash is false: then the
// event is skipped, and the next one waits for a second, as in client-go.
type crashing struct {
	informer.Handler[string, any]
	of     *sharedInformer
	logger *klog.Logger // gets the panics; may be nil
}

// Handle implements informer.Handler.
func (c crashing) Handle(ev informer.Event[string, any]) {
	if c.call(ev) {
		return
	}
	select {
	case <-time.After(time.Second):
	case <-c.of.ctx.Done():
	}
}

// call returns false after a panic.
func (c crashing) call(ev informer.Event[string, any]) (returned bool) {
	if c.logger != nil {
		defer runtime.HandleCrashWithLogger(*c.logger)
	} else {
		defer runtime.HandleCrash()
	}
	c.Handler.Handle(ev)
	return true
}
