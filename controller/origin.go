package controller

import (
	"context"
	"hash/maphash"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/controller/internal/loops"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/internal/keytext"
	"github.com/kinform/kinform/internal/note"
	"github.com/kinform/kinform/internal/objmeta"
)

// keyOrigin is who makes a write: the reconcile of a key.
type keyOrigin[Q comparable] struct {
	controller *Controller[Q]
	key        Q
}

// callContext is the context of one call of reconcile. It tells the handles that the call writes through whose
// writes these are.
type callContext[Q comparable] struct {
	context.Context
	from  keyOrigin[Q]
	notes note.Notes
	wrote madeByCall
	over  atomic.Bool // reconcile has returned: what still writes with the context is somebody else
}

// Value implements context.Context.
func (c *callContext[Q]) Value(key any) any {
	if key == (callKey{}) {
		return c
	}
	return c.Context.Value(key)
}

func (c *callContext[Q]) origin() any {
	if c.over.Load() {
		return nil
	}
	return c.from
}

func (c *callContext[Q]) writers() *writers { return &c.from.controller.writers }

func (c *callContext[Q]) made() (writes *madeByCall, to *loops.Detector, key uint64) {
	to = c.from.controller.loops
	return &c.wrote, to, maphash.Comparable(to.Seed, c.from.key)
}

func (c *callContext[Q]) name() string { return keytext.Of(c.from.key) }

func (c *callContext[Q]) causes() Causes {
	return causesOf(c.from.controller, c.from.key, &c.notes)
}

// attributed calls reconcile with a context that says which key it is for.
func attributed[Q comparable](c *Controller[Q], reconcile func(context.Context, Q) error) func(context.Context, Q) error {
	return func(ctx context.Context, key Q) error {
		call := &callContext[Q]{Context: ctx, from: keyOrigin[Q]{c, key}, notes: note.Of(ctx)}
		c.underway.begin(key)
		defer func() {
			call.over.Store(true)
			for _, ev := range c.underway.end(key) {
				if why, own := ev.settle(); !own {
					c.enqueue(key, ev.priority, why)
				}
			}
			judge(call, &call.notes, c.logger)
		}()
		return reconcile(call, key)
	}
}

// author returns who made the change of an event: the origin of the writes through the handle that made it, and nil if
// somebody else may have had a part in it. Everything in doubt is somebody else's: deletions, an apply, a patch without
// a resourceVersion in it, and an event whose write is not answered yet. last is the origin of the last write, even if
// somebody else changed the object before it.
func author[K comparable, T any](writes *ownWrites, ev *informer.Event[K, T]) (by, last any) {
	if writes == nil || ev.Type == informer.Deleted || ev.Sync || ev.Initial || ev.Replaced {
		return nil, nil
	}
	key, _ := any(ev.Key).(types.NamespacedName) // all handles have such keys
	old, now := versionsOf(ev)
	return writes.author(key, old, now)
}

// forgetting returns a handler that forgets the writes to an object whose versions begin anew, and then calls handle: the
// object was deleted, left with its namespace or part, or the server was restored.
func forgetting[K comparable, T any](writes *ownWrites, handle func(informer.Event[K, T])) func(informer.Event[K, T]) {
	if writes == nil {
		return handle
	}
	return func(ev informer.Event[K, T]) {
		anew := ev.Type == informer.Deleted || ev.Replaced
		if !anew && ev.Type == informer.Updated {
			old, now := versionsOf(&ev)
			anew = mayBeOlder(now, old)
		}
		if key, ok := any(ev.Key).(types.NamespacedName); ok && anew {
			writes.forget(key)
		}
		handle(ev)
	}
}

// versionsOf returns the versions of the objects of an event. The old one is empty for an addition.
func versionsOf[K comparable, T any](ev *informer.Event[K, T]) (old, now string) {
	if ev.Type == informer.Updated {
		old = objmeta.VersionOf(ev.Old)
	}
	return old, objmeta.VersionOf(ev.Object)
}

// unauthored returns a handler that calls handle with a function that queues keys, but not a key whose own
// reconcile caused the event. writes are nil if the events are not those of a handle. The events that queue a key are
// kept.
func unauthored[Q, K comparable, T any](c *Controller[Q], writes *ownWrites, kept *events[K, T], handle func(informer.Event[K, T], func(Q, int))) func(informer.Event[K, T]) {
	// ask returns who made the last change of an event, the note for that if it was the reconcile of key, and whether the
	// event is to be left out.
	ask := func(ev *informer.Event[K, T], key Q) (last any, mine note.Note, leave bool) {
		by, last := author(writes, ev)
		if is, ok := last.(keyOrigin[Q]); ok && is == (keyOrigin[Q]{c, key}) {
			return last, ownKey, by != nil && !c.opts.OwnEvents
		}
		return last, 0, false
	}
	var now informer.Event[K, T] // which is handled: the handler has one goroutine
	var why note.Note            // now's, zero if it is not kept
	enqueue := func(key Q, priority int) {
		last, mine, leave := ask(&now, key)
		if leave {
			return
		}
		if writes != nil && c.underway.room(key) { // asked first: what hold gets is allocated
			ev := now
			settle := func() (note.Note, bool) {
				last, mine, leave := ask(&ev, key)
				if leave {
					return 0, true
				}
				return kept.add(&ev, last != nil) | mine, false
			}
			if c.underway.hold(key, heldEvent{settle, priority}) {
				return
			}
			if last, mine, leave = ask(&now, key); leave { // the call has ended since
				return
			}
		}
		if why == 0 {
			why = kept.add(&now, last != nil)
		}
		c.enqueue(key, priority, why|mine)
	}
	return func(ev informer.Event[K, T]) {
		now, why = ev, 0
		handle(ev, enqueue)
		now = informer.Event[K, T]{} // keeps nothing alive
	}
}
