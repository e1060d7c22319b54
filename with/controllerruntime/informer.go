package controllerruntime

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/informer"
)

var _ cache.Informer = (*collection)(nil)

// minResync is the shortest period of resyncs; client-go has the same one.
const minResync = time.Second

// AddEventHandler implements cache.Informer.
func (of *collection) AddEventHandler(h toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	return of.AddEventHandlerWithOptions(h, toolscache.HandlerOptions{})
}

// AddEventHandlerWithResyncPeriod implements cache.Informer.
func (of *collection) AddEventHandlerWithResyncPeriod(h toolscache.ResourceEventHandler, resync time.Duration) (toolscache.ResourceEventHandlerRegistration, error) {
	return of.AddEventHandlerWithOptions(h, toolscache.HandlerOptions{ResyncPeriod: &resync})
}

// AddEventHandlerWithOptions implements cache.Informer. opts.Logger is not used. If there are several namespaces, the
// handler is called for objects of different ones at the same time.
func (of *collection) AddEventHandlerWithOptions(h toolscache.ResourceEventHandler, opts toolscache.HandlerOptions) (toolscache.ResourceEventHandlerRegistration, error) {
	if h == nil {
		return nil, fmt.Errorf("controllerruntime: %s: %w", of.kind, informer.ErrNoHandler)
	}
	if of.IsStopped() {
		return nil, fmt.Errorf("controllerruntime: handler of %s: %w", of.kind, informer.ErrStopped)
	}
	r := &registration{of: of, synced: make(chan struct{})}
	for _, p := range of.parts {
		resync := p.resync
		if opts.ResyncPeriod != nil {
			resync = *opts.ResyncPeriod
		}
		if resync <= 0 {
			resync = -1 // never
		} else {
			resync = max(resync, minResync)
		}
		reg, err := p.AddHandler(eventHandler{h}, informer.HandlerOptions[client.Object]{Resync: resync, Unchanged: true})
		if err != nil {
			r.remove()
			return nil, err
		}
		r.parts = append(r.parts, reg)
	}
	of.whileRunning(r.await)
	return r, nil
}

// RemoveEventHandler implements cache.Informer. A registration with another informer is left alone.
func (of *collection) RemoveEventHandler(handle toolscache.ResourceEventHandlerRegistration) error {
	r, ok := handle.(*registration)
	if !ok {
		return fmt.Errorf("controllerruntime: %T is no registration of this cache", handle)
	}
	if r.of == of {
		r.remove()
	}
	return nil
}

// AddIndexers implements cache.Informer. An object for which a function returns an error is logged, and has no values in
// that index.
func (of *collection) AddIndexers(indexers toolscache.Indexers) error {
	for _, p := range of.parts {
		var all []index.Definition[client.Object]
		for name, fn := range indexers {
			if fn == nil {
				return fmt.Errorf("controllerruntime: the index %q of %s: %w", name, of.kind, index.ErrInvalid)
			}
			all = append(all, index.New(name, func(dst []string, obj client.Object) []string {
				values, err := fn(obj)
				if err != nil {
					p.logger.Warn("index function failed", "resource", p.Resource(), "key", client.ObjectKeyFromObject(obj).String(), "index", name, slog.Any("error", err))
					return dst
				}
				return append(dst, values...)
			}))
		}
		if err := p.AddIndexes(all...); err != nil {
			return fmt.Errorf("controllerruntime: indexers of %s: %w", of.kind, err)
		}
	}
	return nil
}

// HasSynced implements cache.Informer.
func (of *collection) HasSynced() bool { return isClosed(of.synced) }

// HasSyncedChecker implements cache.Informer.
func (of *collection) HasSyncedChecker() toolscache.DoneChecker {
	return checker{"informer of " + of.kind.String(), of.synced}
}

// IsStopped implements cache.Informer.
func (of *collection) IsStopped() bool { return isClosed(of.ended) }

// registration is a handler's registration with all parts of a collection.
type registration struct {
	of     *collection
	parts  []*informer.Registration
	synced chan struct{} // closed once the handler has had the first list of each part
}

// await closes synced, unless the handler is removed before.
func (r *registration) await(ctx context.Context) {
	for _, p := range r.parts {
		select {
		case <-p.Synced():
		case <-p.Done():
			return
		case <-ctx.Done():
			return
		}
	}
	close(r.synced)
}

func (r *registration) remove() {
	for _, p := range r.parts {
		p.Remove()
	}
}

// HasSynced implements toolscache.ResourceEventHandlerRegistration.
func (r *registration) HasSynced() bool { return isClosed(r.synced) }

// HasSyncedChecker implements toolscache.ResourceEventHandlerRegistration.
func (r *registration) HasSyncedChecker() toolscache.DoneChecker {
	return checker{"handler of the " + r.of.HasSyncedChecker().Name(), r.synced}
}

// eventHandler is a toolscache.ResourceEventHandler as a handler of an informer.
type eventHandler struct {
	toolscache.ResourceEventHandler
}

// Handle implements informer.Handler.
func (h eventHandler) Handle(ev informer.Event[types.NamespacedName, client.Object]) {
	switch {
	case ev.Type == informer.Added:
		h.OnAdd(ev.Object, ev.Initial)
	case ev.Type == informer.Updated:
		h.OnUpdate(ev.Old, ev.Object)
	case ev.FinalStateUnknown:
		h.OnDelete(toolscache.DeletedFinalStateUnknown{Key: toolscache.NewObjectName(ev.Key.Namespace, ev.Key.Name).String(), Obj: ev.Object})
	default:
		h.OnDelete(ev.Object)
	}
}

// checker is a toolscache.DoneChecker.
type checker struct {
	name string
	done <-chan struct{}
}

func (c checker) Name() string          { return c.name }
func (c checker) Done() <-chan struct{} { return c.done }

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
