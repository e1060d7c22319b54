package informer

import (
	"github.com/kinform/kinform/deltafifo"
	"github.com/kinform/kinform/internal/capacity"
	"github.com/kinform/kinform/internal/nocmp"
	"github.com/kinform/kinform/internal/objmeta"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/store"
)

// changes is a batch on its way into the store, with its ops and their outcomes.
type changes[K comparable, T any] struct {
	ops      []store.Op[K, T] // all ops of a small batch, or one chunk of a large one
	versions []string         // resourceVersion of each op's object, as its event gave it
	begun    int              // number of ops in earlier chunks
	deltas   int              // number of deltas so far
	stayed   []int            // numbers of the deltas that are older than an own write
	initial  int              // number of ops that belong to the initial list
	undated  bool             // the batch has a list without a version that compares
	outcomes []outcome[T]     // of every op that was not a plain addition, in order
	failed   []*reflector.ObjectError
	lost     []*LostWriteError
	vary     error // errContentsVary, once
	full     capacity.Meter
}

// outcome is the outcome of an op that was not a plain addition.
type outcome[T any] struct {
	_ nocmp.Type

	at        int // number of the op in the batch
	old       T
	had       bool
	unchanged bool
	failed    bool
}

// keepChanges is the largest number of deltas that are committed in one piece, and the largest
// capacity that the next batch reuses. A full FIFO stays below it, a large list does not.
const keepChanges = 2 * defaultPending

// reset empties c. It keeps no reference to an object, and no memory of a large list, of the
// initial list, or of a burst that is over.
func reset[K comparable, T any](c *changes[K, T]) {
	most := max(cap(c.ops), cap(c.outcomes))
	if tooLarge := c.full.TooLarge(most, c.begun+len(c.ops)); most > keepChanges || c.initial > 0 || tooLarge {
		*c = changes[K, T]{}
		return
	}
	clear(c.ops)
	clear(c.versions)
	clear(c.outcomes)
	*c = changes[K, T]{ops: c.ops[:0], versions: c.versions[:0], outcomes: c.outcomes[:0], stayed: c.stayed[:0], full: c.full}
}

// isInitialList reports whether the batch that ends the initial list contains nothing else.
// Then the store holds exactly the list that handlers must get.
func isInitialList[K comparable, T any](c *changes[K, T], batch deltafifo.Batch[K, T]) bool {
	for i := range c.outcomes {
		if c.outcomes[i].had {
			return false
		}
	}
	return c.initial == batch.Len()
}

// eventOf returns the event for a committed delta, and false if there is none.
func eventOf[K comparable, T any](meta objmeta.Reader[T], key K, d *deltafifo.Delta[T], o *outcome[T]) (Event[K, T], bool) {
	ev := Event[K, T]{Key: key, Object: d.Object}
	deleted := d.Type == deltafifo.Deleted
	switch {
	case o.failed, o.unchanged, deleted && !o.had:
		return ev, false
	case d.FinalStateUnknown:
		// The store's object is the one that handlers saw last. The FIFO's may be an object
		// that the store refused.
		ev.Type, ev.Object, ev.Old, ev.FinalStateUnknown = Deleted, o.old, o.old, true
	case deleted:
		ev.Type, ev.Old = Deleted, o.old
	case o.had:
		ev.Type, ev.Old, ev.Replaced = Updated, o.old, meta.Differ(o.old, d.Object)
	default:
		ev.Type, ev.Initial = Added, d.Initial
	}
	return ev, true
}
