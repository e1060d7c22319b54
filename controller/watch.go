package controller

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/informer"
)

// For queues the key of every object of inf that is added, updated or deleted, unless one of the
// filters, such as [GenerationChanged], returns false for the event. inf is an informer or a
// handle. If an object was deleted and created again while no watch saw it, its key is queued once:
// where the difference matters, reconcile must compare UIDs. The filters run in the handler's
// goroutine.
//
// The keys of the initial list and of a resync, and of objects that a relist found unchanged (informer.Event.Initial
// and Sync), have the priority -100, so changes do not wait behind them: see queue.AddOptions.
//
// For, Owns, Watch and References leave out events that the reconcile of the same key caused: see
// Options.OwnEvents. You may call them at any time, even while Run runs: see the package
// documentation. [Controller.Err] and Run return their errors: [ErrInvalid], or [ErrStopped]
// once Run ends.
func For[Q comparable, T any](c *Controller[Q], inf informer.Informed[Q, T], filters ...func(informer.Event[Q, T]) bool) {
	addInput(c, watching[Q, T]{call: "For", from: inf, filters: filters}, func(ev informer.Event[Q, T], enqueue func(Q, int)) {
		enqueue(ev.Key, priority(ev.Initial, ev.Sync))
	})
}

// Owns queues the owner of every object of owned that is added, updated or deleted, unless one of
// the filters returns false for the event. The owner of an object is the object of owners that its
// controller reference names
// (https://kubernetes.io/docs/concepts/overview/working-with-objects/owners-dependents/). The
// reference's UID must be the UID of the owner in the cache: an object of another kind can have the
// same name, and so can another object, once the first was deleted. Owns also finds an owner
// without a namespace. If a reference moves, it queues both owners.
//
// If reconcile returns an [*OwnedError], even among joined errors or in [Terminal], its key is
// queued when an object of owned with that name goes or gets another controller, whether or not the
// filters let the event pass. The handle or informer must see that object: a label selector may
// hide it.
//
// Owns does not queue an owner that is not in the cache. The owner's event queues it when it
// arrives, so add owners with [For], too: otherwise Run returns [ErrInvalid]. While Run runs, call
// For first. The other errors are For's.
func Owns[K comparable, O, T metav1.Object](c *Controller[types.NamespacedName], owners informer.Informed[types.NamespacedName, O], owned informer.Informed[K, T], filters ...func(informer.Event[K, T]) bool) {
	inf := informerOf(owners)
	if inf == nil {
		c.refuse(noInformer[O]("Owns"))
		return
	}
	cache := inf.Store()
	w := watching[K, T]{call: "Owns", from: owned, owners: inf, filters: filters, always: released[K, types.NamespacedName, T](c)}
	watch(c, w, func(keys []types.NamespacedName, obj T) []types.NamespacedName {
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

// Watch calls keys for the object of every event of inf. For an update or a deletion it also calls
// keys for the old object, even if that was a different object (informer.Event.Replaced). It queues
// all keys that keys appends, each once per event. It leaves out events for which one of the
// filters returns false. keys and the filters run in the handler's goroutine, one call at a time.
// Errors: [ErrInvalid], and the errors of [For].
func Watch[Q, K comparable, T any](c *Controller[Q], inf informer.Informed[K, T], keys func(dst []Q, obj T) []Q, filters ...func(informer.Event[K, T]) bool) {
	w := watching[K, T]{call: "Watch", from: inf, filters: filters}
	if known := informerOf(inf); known != nil && keys == nil {
		c.refuse(fmt.Errorf("controller: Watch of %s: %w", known.Resource(), errNoKeys))
		return
	}
	watch(c, w, keys)
}

// References queues, for every object of referred that is added, updated or deleted, the keys of
// the objects that refer to it. by is an index of these objects by the keys that they refer to:
//
//	bySettings := kinform.Index(backups, "settings", func(b *Backup) kinform.Key {
//		return kinform.Key{Namespace: b.Namespace, Name: b.Spec.Settings}
//	})
//	controller.For(c, backups)
//	controller.References(c, settings, bySettings)
//
// An object that comes later is queued by its own event, so add the objects of the index with
// [For], too: otherwise Run returns [ErrInvalid]. The filters are as in For, and so are the other
// errors. An event costs as much as informer.Index.Keys.
func References[Q, K comparable, O, T any](c *Controller[Q], referred informer.Informed[K, T], by informer.Index[Q, O, K], filters ...func(informer.Event[K, T]) bool) {
	inf := by.AsInformer()
	if inf == nil {
		c.refuse(fmt.Errorf("controller: References of %T: the index is of no informer: %w", *new(T), errNoInformer))
		return
	}
	w := watching[K, T]{call: "References", from: referred, owners: inf, filters: filters}
	addInput(c, w, func(ev informer.Event[K, T], enqueue func(Q, int)) {
		for _, key := range by.Keys(ev.Key) {
			enqueue(key, priority(ev.Initial, ev.Sync))
		}
	})
}

// watching says what is to be watched.
type watching[K comparable, T any] struct {
	call    string // of the author
	from    informer.Informed[K, T]
	owners  Cache // see input
	filters []func(informer.Event[K, T]) bool
	always  func(informer.Event[K, T]) // gets every event, also what the filters leave out; may be nil
}

// watch is Watch, with keys.
func watch[Q, K comparable, T any](c *Controller[Q], w watching[K, T], keys func(dst []Q, obj T) []Q) {
	var now, old []Q // of the handler's goroutine
	addInput(c, w, func(ev informer.Event[K, T], enqueue func(Q, int)) {
		// The result of keys is copied, because keys may own it. It may even be a part of the
		// object.
		now = append(now[:0], keys(now[:0], ev.Object)...)
		for _, key := range now {
			enqueue(key, priority(ev.Initial, ev.Sync))
		}
		if ev.Type == informer.Added {
			return
		}
		old = append(old[:0], keys(old[:0], ev.Old)...)
		for key := range withoutKeys(old, now) {
			enqueue(key, 0)
		}
	})
}

// withoutKeys iterates over the keys that are not among others, which mostly are the same.
func withoutKeys[Q comparable](keys, others []Q) iter.Seq[Q] {
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

// addInput makes what w says an input. handle gets the events that the filters let pass, and a function that queues a
// key.
func addInput[Q, K comparable, T any](c *Controller[Q], w watching[K, T], handle func(ev informer.Event[K, T], enqueue func(Q, int))) {
	inf := informerOf(w.from)
	if inf == nil || c == nil {
		c.refuse(noInformer[T](w.call))
		return
	}
	for _, filter := range w.filters {
		if filter == nil {
			c.refuse(fmt.Errorf("controller: %s of %s: %w", w.call, inf.Resource(), errNoFilter))
			return
		}
	}
	kept := &events[K, T]{number: c.added.Add(1)}
	in := input{inf: inf, call: w.call, owners: w.owners, events: kept, number: kept.number, removed: make(chan struct{})}
	var writes *ownWrites
	if of, ok := w.from.(watchedHandle); ok {
		in.handle, writes = of, of.writes()
	}
	h := informer.HandlerFunc[K, T](forgetting(writes, both(w.always, filtered(w.filters, unauthored(c, writes, kept, handle)))))
	if err := c.enter(in, func() (*informer.Registration, error) {
		return inf.AddHandler(h, informer.HandlerOptions[T]{Name: c.name})
	}); err != nil {
		c.refuse(err)
	}
}

// enter makes in an input. register adds the controller's handler.
func (c *Controller[Q]) enter(in input, register func() (*informer.Registration, error)) (err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch c.phase {
	case phaseStopped:
		return fmt.Errorf("controller: %s of %s: %w", in.call, in.inf.Resource(), ErrStopped)
	case phaseRunning:
		if err := cmp.Or(in.inf.Err(), c.checkOwners(in)); err != nil {
			return err
		}
	}
	if in.reg, err = register(); err != nil {
		return err
	}
	c.inputs = append(c.inputs, in)
	if c.phase == phaseRunning {
		c.join(in)
	}
	return nil
}

// Unwatch removes what [For], [Owns], [Watch] and [References] added for inf, before Run or while
// it runs. Their functions are not called for any further event, but a running call goes on. Queued
// keys stay queued.
//
// If Run runs the informer, Unwatch stops it. You can still read its store, but the store no longer
// changes. Unwatch does not stop an informer with another runner, such as one that a manager runs
// because it was watched before the manager's Run. Run no longer fails when such an informer ends.
// So call Unwatch before you stop it or release a factory's handle.
//
// Unwatch does not wait, and may be called from reconcile, from handlers and filters. It returns
// [ErrInvalid] if there is nothing to remove.
func Unwatch[Q, K comparable, T any](c *Controller[Q], from informer.Informed[K, T]) error {
	inf := informerOf(from)
	if inf == nil {
		return noInformer[T]("Unwatch")
	}
	if c == nil {
		return c.Err()
	}
	gone := forgetInputs(c, inf)
	for _, in := range gone {
		close(in.removed)
		in.reg.Remove()
		in.events.forget()
	}
	if len(gone) == 0 {
		return fmt.Errorf("controller: %s: %w", inf.Resource(), errNotWatched)
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

// noInformer says that a call got a nil informer of objects T.
func noInformer[T any](call string) error {
	return fmt.Errorf("controller: %s of %T: %w", call, *new(T), errNoInformer)
}

// released returns a handler that queues the keys which wait for the name of an object, when the
// object goes or gets another controller.
func released[K, Q comparable, T metav1.Object](c *Controller[Q]) func(informer.Event[K, T]) {
	return func(ev informer.Event[K, T]) {
		if ev.Type == informer.Added {
			return
		}
		if ev.Type == informer.Updated && !ev.Replaced && controllerOf(ev.Old) == controllerOf(ev.Object) {
			return
		}
		c.taken.gone.Add(1) // before some is read: noted sets some before it reads gone
		if !c.taken.some.Load() {
			return
		}
		for _, key := range c.taken.waiting(keyOf(ev.Object)) {
			c.freed(key)
		}
	}
}
