package clientgo

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/kinform/kinform/informer"
)

// minResync is the shortest period of resyncs; client-go has the same one.
const minResync = time.Second

// AddEventHandler implements cache.SharedInformer.
func (s *sharedInformer) AddEventHandler(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	return s.AddEventHandlerWithOptions(h, cache.HandlerOptions{})
}

// AddEventHandlerWithResyncPeriod implements cache.SharedInformer.
func (s *sharedInformer) AddEventHandlerWithResyncPeriod(h cache.ResourceEventHandler, resync time.Duration) (cache.ResourceEventHandlerRegistration, error) {
	return s.AddEventHandlerWithOptions(h, cache.HandlerOptions{ResyncPeriod: &resync})
}

// AddEventHandlerWithOptions implements cache.SharedInformer. opts.Logger gets the panics of h.
func (s *sharedInformer) AddEventHandlerWithOptions(h cache.ResourceEventHandler, opts cache.HandlerOptions) (cache.ResourceEventHandlerRegistration, error) {
	if isNil(h) {
		return nil, fmt.Errorf("clientgo: %s: %w", s.log.Resource, informer.ErrNoHandler)
	}
	if s.IsStopped() {
		return nil, &stoppedError{"handler", s.log.Resource}
	}
	resync := s.resync
	if opts.ResyncPeriod != nil {
		resync = *opts.ResyncPeriod
	}
	if resync <= 0 {
		resync = -1 // never
	} else {
		resync = max(resync, minResync)
	}
	reg, err := s.inf.AddHandler(handler{h, s, opts.Logger}, informer.HandlerOptions[any]{Resync: resync, Unchanged: true})
	if err != nil {
		return nil, err
	}
	return &registration{s, reg}, nil
}

// RemoveEventHandler implements cache.SharedInformer. A registration with another informer is left alone.
func (s *sharedInformer) RemoveEventHandler(handle cache.ResourceEventHandlerRegistration) error {
	r, ok := handle.(*registration)
	if !ok {
		return fmt.Errorf("clientgo: %T is no registration of this package", handle)
	}
	if r.of == s {
		r.Remove()
	}
	return nil
}

// registration is a cache.ResourceEventHandlerRegistration.
type registration struct {
	of *sharedInformer
	*informer.Registration
}

// HasSynced implements cache.ResourceEventHandlerRegistration.
func (r *registration) HasSynced() bool { return isClosed(r.Synced()) }

// HasSyncedChecker implements cache.ResourceEventHandlerRegistration.
func (r *registration) HasSyncedChecker() cache.DoneChecker {
	return checker{r.of.HasSyncedChecker().Name() + " + " + r.Name(), r.Synced()}
}

// ShutdownChan is what cache.ShutDownEventHandler waits for after the removal.
func (r *registration) ShutdownChan() <-chan struct{} { return r.Done() }

// handler is a cache.ResourceEventHandler as a handler of the informer.
type handler struct {
	cache.ResourceEventHandler
	of     *sharedInformer
	logger *klog.Logger // may be nil
}

// Handle implements informer.Handler. A panic ends the process, unless runtime.ReallyCrash is false: then the event is
// skipped, and the next one waits for a second, as in client-go.
func (h handler) Handle(ev informer.Event[string, any]) {
	if !h.call(ev) {
		h.of.pause(time.Second)
	}
}

// call calls a function of h. It returns false after a panic.
func (h handler) call(ev informer.Event[string, any]) (returned bool) {
	if h.logger != nil {
		defer runtime.HandleCrashWithLogger(*h.logger)
	} else {
		defer runtime.HandleCrash()
	}
	switch {
	case ev.Type == informer.Added:
		h.OnAdd(ev.Object, ev.Initial)
	case ev.Type == informer.Updated:
		h.OnUpdate(ev.Old, ev.Object)
	case ev.FinalStateUnknown:
		h.OnDelete(cache.DeletedFinalStateUnknown{Key: ev.Key, Obj: ev.Object})
	default:
		h.OnDelete(ev.Object)
	}
	return true
}

// pause waits, until Run's context is done.
func (s *sharedInformer) pause(d time.Duration) {
	select {
	case <-time.After(d):
	case <-s.ctx.Done():
	}
}
