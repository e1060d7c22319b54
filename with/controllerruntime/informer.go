package controllerruntime

import (
	"context"
	"errors"
	"fmt"
	"time"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/internal/mistake"
)

var _ cache.Informer = (*collection)(nil)

// AddEventHandler implements cache.Informer.
func (of *collection) AddEventHandler(h toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	return of.AddEventHandlerWithOptions(h, toolscache.HandlerOptions{})
}

// AddEventHandlerWithResyncPeriod implements cache.Informer.
func (of *collection) AddEventHandlerWithResyncPeriod(h toolscache.ResourceEventHandler, resync time.Duration) (toolscache.ResourceEventHandlerRegistration, error) {
	return of.AddEventHandlerWithOptions(h, toolscache.HandlerOptions{ResyncPeriod: &resync})
}

// AddEventHandlerWithOptions implements cache.Informer. opts.Logger is not used. If there are
// several namespaces, the handler is called for objects of different ones at the same time.
func (of *collection) AddEventHandlerWithOptions(h toolscache.ResourceEventHandler, opts toolscache.HandlerOptions) (toolscache.ResourceEventHandlerRegistration, error) {
	if h == nil {
		return nil, fmt.Errorf("controllerruntime: %s: %w", of.kind, mistake.NoHandler)
	}
	if of.IsStopped() {
		return nil, fmt.Errorf("controllerruntime: handler of %s: %w", of.kind, informer.ErrStopped)
	}
	r := &registration{of: of, parts: map[*part]toolscache.ResourceEventHandlerRegistration{}, synced: make(chan struct{})}
	r.removed, r.remove = context.WithCancel(context.Background())
	for _, p := range of.parts {
		reg, err := p.adapter.AddEventHandlerWithOptions(h, opts)
		if err != nil {
			r.removeAll()
			return nil, err
		}
		r.parts[p] = reg
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
	if r.of != of {
		return nil
	}
	return r.removeAll()
}

// AddIndexers implements cache.Informer. An object for which a function returns an error is logged,
// and has no values in that index.
func (of *collection) AddIndexers(indexers toolscache.Indexers) error {
	for name, fn := range indexers {
		if fn == nil {
			return fmt.Errorf("controllerruntime: the index %q of %s: %w", name, of.kind, mistake.Index)
		}
	}
	for _, p := range of.parts {
		if err := p.adapter.AddIndexers(indexers); err != nil {
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
	of      *collection
	parts   map[*part]toolscache.ResourceEventHandlerRegistration
	synced  chan struct{}   // closed once the handler has had the first list of each part
	removed context.Context // done after remove
	remove  context.CancelFunc
}

// await closes synced, unless the handler is removed before.
func (r *registration) await(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(r.removed, cancel)()
	for _, reg := range r.parts {
		if !await(ctx, reg.HasSyncedChecker().Done()) {
			return
		}
	}
	close(r.synced)
}

func (r *registration) removeAll() error {
	r.remove()
	var all []error
	for p, reg := range r.parts {
		all = append(all, p.adapter.RemoveEventHandler(reg))
	}
	return errors.Join(all...)
}

// HasSynced implements toolscache.ResourceEventHandlerRegistration.
func (r *registration) HasSynced() bool { return isClosed(r.synced) }

// HasSyncedChecker implements toolscache.ResourceEventHandlerRegistration.
func (r *registration) HasSyncedChecker() toolscache.DoneChecker {
	return checker{"handler of the " + r.of.HasSyncedChecker().Name(), r.synced}
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
