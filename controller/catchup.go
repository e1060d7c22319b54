package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/internal/verdict"
)

// listingDelay is how long a key waits for its namespace before it is tried again.
const listingDelay = time.Second

// caughtUp puts a reconcile off while the reads of a handle are older than the writes through it.
// It also does so for a kinform.Key while a handle has not listed the key's namespace, because that
// is new. If a namespace of a set fails, and reads lack writes to it, only its keys wait, and keys
// without a namespace.
func caughtUp[Q comparable](c *Controller[Q], reconcile func(context.Context, Q) error) func(context.Context, Q) error {
	return func(ctx context.Context, key Q) error {
		for _, handle := range c.behind() {
			if err := catchUp(ctx, handle); err != nil {
				return err
			}
		}
		name, _ := any(key).(types.NamespacedName)
		if c.awaits(name.Namespace) {
			return &verdict.AgainError{After: listingDelay, PutOff: true}
		}
		return reconcile(ctx, key)
	}
}

// awaits reports whether a handle waits for a namespace, which is empty for a key that is for none.
func (c *Controller[Q]) awaits(namespace string) (waits bool) {
	eachHandle(c, func(w writer) { waits = waits || w.awaits(namespace) })
	return waits
}

// behind returns the handles that have to catch up, nil for none. One may come twice: its second
// CatchUp has nothing to do.
func (c *Controller[Q]) behind() (all []writer) {
	eachHandle(c, func(w writer) {
		if w.behind() {
			all = append(all, w)
		}
	})
	return all
}

// eachHandle calls f for the handles whose reads reconcile relies on: the inputs, and those that it
// has written through. One whose informer is an input instead of the handle itself is left out: its
// author wants no other keys to wait.
func eachHandle[Q comparable](c *Controller[Q], f func(writer)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, in := range c.inputs {
		if in.handle != nil {
			f(in.handle)
		}
	}
	c.writers.each(func(w writer) {
		if !slices.ContainsFunc(c.inputs, func(in input) bool { return in.handle == nil && any(in.inf) == w.reads() }) {
			f(w)
		}
	})
}

func catchUp(ctx context.Context, handle writer) error {
	ctx, cancel := context.WithTimeout(ctx, catchUpTime)
	defer cancel()
	return handle.CatchUp(ctx)
}

// CatchUp returns at once if reads through the handle have every write made through it. That is the
// usual case. [Controller.Run] calls it before each reconcile, for the handles that it was given
// and for those that a reconcile has written through with its context. If reads may lack a write,
// CatchUp asks the server or waits for the cache:
//
//   - It gets the object after a write whose answer was lost, after a conflict, after a write of a
//     status that was not found, after an informer.LostWriteError, and after a write that could not
//     be recorded because the informer did not run or is 10,000 writes behind. A write of a
//     [Subresource] gets the object itself; CatchUp does so again if that failed.
//   - If the object is not known, CatchUp asks for the present version and waits until the watch
//     has brought that version. If the watch takes more than half a second, CatchUp finds out what
//     reads lack, as [Projected.WaitForNow] does and as fast. The object is not known after a
//     deletion of a collection, after a creation with generateName whose answer was lost, and after
//     a deletion that could not be recorded.
//   - It does the same if there are more than 100 objects to get, or if a GET is forbidden, has
//     failed for 10 seconds, or returns an object that does not fit T or still cannot be recorded.
//
// So a silent watch holds up reconciles only if reads lack more than 100 objects, or an object that
// CatchUp cannot get. CatchUp does not wait for a namespace of a set that has failed for 10
// seconds. Until that namespace is listed or watched again, only its keys and keys without a
// namespace wait.
//
// CatchUp itself has no limit but ctx. [Controller.Run] gives it 10 seconds for each handle, and
// then queues the key again with the error.
//
// CatchUp gets one object at a time, even if several goroutines call it. It gets an object again
// only after another such write, or after two minutes without a sign from the watch.
//
// If the lists of a server have no version (reflector.Polling), CatchUp does not wait for writes of
// objects that are not known, because it cannot tell when reads have them.
//
// If the answer to a write was lost, the server may still be working on it and carry it out later.
// Nothing can tell. Errors: the errors of Get and List of client.Resource and of
// informer.Informer.WaitForRV, with the name of the resource.
func (r *Requests[T]) CatchUp(ctx context.Context) error {
	return r.engine.CatchUp(ctx)
}

func (r *requests[T]) CatchUp(ctx context.Context) error {
	if !r.behind() {
		return nil
	}
	if err := catchUpAll(ctx, r); err != nil {
		return fmt.Errorf("%s: reads may be older than writes of this process: %w", r.resource(), err)
	}
	return nil
}

func (r *Requests[T]) behind() bool { return r.engine.behind() }

//go:noinline
func (r *Requests[T]) awaits(namespace string) bool { return r.engine.awaits(namespace) }

func (r *Requests[T]) reads() any { return r.engine.reads() }

func (r *Requests[T]) writes() *ownWrites { return r.engine.writes() }

func (r *requests[T]) reads() any { return r.cache.informer() }

// behind reports whether CatchUp has something to do.
func (r *requests[T]) behind() bool {
	d := &r.debt
	return d.some.Load() || d.all.Load() > d.paid.Load() || r.cache.lost() > d.lost.Load()
}

func catchUpAll[T metav1.Object](ctx context.Context, r *requests[T]) error {
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if seen := r.debt.lost.Load(); r.cache.lost() > seen {
		r.debt.take(r.cache.lostKeys(seen))
	}
	if err := settleAll(ctx, r); err != nil {
		return err
	}
	return payAll(ctx, r)
}

// settleAll asks for the objects in doubt.
func settleAll[T metav1.Object](ctx context.Context, r *requests[T]) error {
	for _, key := range r.debt.doubts() {
		if err := settle(ctx, r, key); err != nil {
			return err
		}
	}
	return nil
}

// payAll waits until reads have the writes of unknown objects.
func payAll[T metav1.Object](ctx context.Context, r *requests[T]) error {
	due, where := r.debt.unpaid()
	if due == 0 {
		return nil
	}
	stale, err := reachNow(ctx, r, where)
	if errors.Is(err, errNoVersion) {
		err = nil // reconciles would wait for ever
	}
	if err == nil {
		r.debt.pay(due, stale)
	}
	return err
}
