package controller

import (
	"fmt"
	"iter"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/queue"
)

// input is an informer with the controller's handler on it.
type input struct {
	inf     Cache
	reg     *informer.Registration
	handle  writer        // nil if it is no handle
	owners  Cache         // where Owns looks the owners up; nil for For and Watch
	removed chan struct{} // closed by Unwatch
}

// For queues the key of every object of inf that is added, updated or deleted, unless one of the
// filters, such as [GenerationChanged], returns false for the event. inf is an informer or a handle
// on one. If an object was deleted and created again while no watch saw it, its key is queued once:
// where the difference matters, reconcile must compare UIDs. The filters run in the handler's
// goroutine.
//
// The keys of a resync, and those of objects that a relist found unchanged (informer.Event.Sync),
// have the priority -100, so changes do not wait behind them: see queue.Options.AgeAfter.
//
// For, Owns and Watch may be called at any time, also while Run runs: see the package
// documentation. For returns [ErrNoInformer], [ErrNoFilter], [ErrStopped] once Run ends, or the
// errors of AddHandler of the informer.
func For[Q comparable, T any](c *Controller[Q], inf informer.Informed[Q, T], filters ...func(informer.Event[Q, T]) bool) error {
	return add(c, inf, nil, filters, nil, func(ev informer.Event[Q, T]) { c.enqueue(ev.Key, c.priority(ev.Initial, ev.Sync)) })
}

// Owns queues the owner of every object of owned that is added, updated or deleted, unless one
// of the filters returns false for the event. The owner of an object is the object of owners
// that its controller reference names
// (https://kubernetes.io/docs/concepts/overview/working-with-objects/owners-dependents/). The
// reference's UID must be that of the owner in the cache: an object of another kind can have
// the same name, and so can another object, once the first was deleted. An owner without a
// namespace is found as well. If a reference moves, both owners are queued.
//
// If reconcile returns an [*OwnedError], also one among joined errors or in [Terminal], its key is
// queued when an object of owned with that name goes or gets another controller, whatever the
// filters say. The handle or informer must see that object: a label selector may hide it.
//
// An owner that is not in the cache is not queued. Its own event queues it when it arrives, so
// add owners with [For], too: otherwise Run returns [ErrNoOwners]. While Run runs, call For first:
// otherwise Owns returns ErrNoOwners. Owns returns the same errors as For.
func Owns[K comparable, O, T metav1.Object](c *Controller[types.NamespacedName], owners informer.Informed[types.NamespacedName, O], owned informer.Informed[K, T], filters ...func(informer.Event[K, T]) bool) error {
	inf := informerOf(owners)
	if inf == nil {
		return noInformer[O]()
	}
	cache := inf.Store()
	return watch(c, owned, inf, filters, released[K, types.NamespacedName, T](c), func(keys []types.NamespacedName, obj T) []types.NamespacedName {
		ref := metav1.GetControllerOfNoCopy(obj)
		if ref == nil {
			return keys
		}
		for _, key := range [...]types.NamespacedName{{Namespace: obj.GetNamespace(), Name: ref.Name}, {Name: ref.Name}} {
			if owner, ok := cache.Get(key); ok && owner.GetUID() == ref.UID {
				return append(keys, key)
			}
		}
		return keys
	})
}

// Watch calls keys for the object of every event of inf, and in an update or a deletion also for
// the old object, even if that was a different object (informer.Event.Replaced). It queues all keys
// that keys appends, each once per event. It leaves out events for which one of the filters returns
// false. keys and the filters run in the handler's goroutine, one call at a time. Watch returns
// [ErrNoKeys], or the same errors as [For].
func Watch[Q, K comparable, T any](c *Controller[Q], inf informer.Informed[K, T], keys func(dst []Q, obj T) []Q, filters ...func(informer.Event[K, T]) bool) error {
	if keys == nil {
		if inf := informerOf(inf); inf != nil {
			return fmt.Errorf("controller: %s: %w", inf.Resource(), ErrNoKeys)
		}
		return noInformer[T]()
	}
	return watch(c, inf, nil, filters, nil, keys)
}

// watch is Watch. always gets every event, also what the filters leave out; it may be nil. So may
// owners.
func watch[Q, K comparable, T any](c *Controller[Q], inf informer.Informed[K, T], owners Cache, filters []func(informer.Event[K, T]) bool, always func(informer.Event[K, T]), keys func(dst []Q, obj T) []Q) error {
	var now, old []Q // of the handler's goroutine
	return add(c, inf, owners, filters, always, func(ev informer.Event[K, T]) {
		// The result of keys is copied, because keys may own it. It may even be a part of the
		// object.
		now = append(now[:0], keys(now[:0], ev.Object)...)
		for _, key := range now {
			c.enqueue(key, c.priority(ev.Initial, ev.Sync))
		}
		if ev.Type == informer.Added {
			return
		}
		old = append(old[:0], keys(old[:0], ev.Old)...)
		for key := range without(old, now) {
			c.enqueue(key, 0)
		}
	})
}

// without iterates over the keys that are not among others, which mostly are the same.
func without[Q comparable](keys, others []Q) iter.Seq[Q] {
	return func(yield func(Q) bool) {
		if slices.Equal(keys, others) {
			return
		}
		has := func(key Q) bool { return slices.Contains(others, key) }
		if len(others) > 16 {
			set := make(map[Q]struct{}, len(others))
			for _, key := range others {
				set[key] = struct{}{}
			}
			has = func(key Q) bool { _, ok := set[key]; return ok }
		}
		for _, key := range keys {
			if !has(key) && !yield(key) {
				return
			}
		}
	}
}

func add[Q, K comparable, T any](c *Controller[Q], from informer.Informed[K, T], owners Cache, filters []func(informer.Event[K, T]) bool, always, handle func(informer.Event[K, T])) error {
	inf := informerOf(from)
	if inf == nil {
		return noInformer[T]()
	}
	for _, filter := range filters {
		if filter == nil {
			return fmt.Errorf("controller: %s: %w", inf.Resource(), ErrNoFilter)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.phase == stopped {
		return fmt.Errorf("controller: %s: %w", inf.Resource(), ErrStopped)
	}
	in := input{inf: inf, owners: owners, removed: make(chan struct{})}
	if c.phase == running {
		if err := c.checkOwners(in); err != nil {
			return err
		}
	}
	reg, err := inf.AddHandler(informer.HandlerFunc[K, T](both(always, filtered(filters, handle))), informer.HandlerOptions[T]{Name: c.opts.Name})
	if err != nil {
		return err
	}
	in.reg = reg
	in.handle, _ = from.(writer)
	c.inputs = append(c.inputs, in)
	if c.phase == running {
		c.join(in)
	}
	return nil
}

// Unwatch removes what [For], [Owns] and [Watch] added for inf, before Run or while it runs. Their
// functions are not called for any further event, except that a call which is under way goes on.
// Keys that are queued stay queued. If Run runs the informer, Unwatch stops it; its store can still
// be read, but does not change. An informer with another runner goes on, and Run no longer minds
// its end: call Unwatch before you stop it or release a factory's handle.
//
// Unwatch does not wait, and may be called from reconcile, from handlers and filters. It returns
// [ErrNoInformer], or [ErrNotWatched] if there is nothing to remove.
func Unwatch[Q, K comparable, T any](c *Controller[Q], from informer.Informed[K, T]) error {
	inf := informerOf(from)
	if inf == nil {
		return noInformer[T]()
	}
	gone := forget(c, inf)
	for _, in := range gone {
		close(in.removed)
		in.reg.Remove()
	}
	if len(gone) == 0 {
		return fmt.Errorf("controller: %s: %w", inf.Resource(), ErrNotWatched)
	}
	return nil
}

// informerOf returns the informer of from, nil if there is none.
func informerOf[K comparable, T any](from informer.Informed[K, T]) *informer.Informer[K, T] {
	if from == nil {
		return nil
	}
	return from.AsInformer()
}

// noInformer says that the informer of objects T is nil.
func noInformer[T any]() error { return fmt.Errorf("controller: %T: %w", *new(T), ErrNoInformer) }

// syncPriority is the priority of keys that nothing has changed for. It is that of
// controller-runtime.
const syncPriority = -100

// priority returns the priority of a key from an event.
func (c *Controller[Q]) priority(initial, sync bool) int {
	switch {
	case initial:
		return c.opts.InitialPriority
	case sync:
		return syncPriority
	}
	return 0
}

// enqueue adds a key. One that waits with a lower priority gets this one.
func (c *Controller[Q]) enqueue(key Q, priority int) {
	if priority == 0 {
		c.queue.Add(key)
		return
	}
	c.queue.AddWith(key, queue.AddOptions{Priority: priority})
}
