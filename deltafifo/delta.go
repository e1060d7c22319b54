package deltafifo

import (
	"iter"
	"strconv"
)

// DeltaType says what happened to an object.
type DeltaType uint8

// The types of deltas.
const (
	// Added and Updated are events of a watch.
	Added DeltaType = iota + 1
	Updated
	// Deleted is a deletion that a watch reported or that Replace found.
	Deleted
	// Replaced says that the object was in a list. Only the store can tell whether it is new or
	// changed.
	Replaced
	// Sync repeats the store's object for a Resync: nothing happened to the object.
	Sync
)

// String returns the name of the constant.
func (t DeltaType) String() string {
	switch t {
	case Added:
		return "Added"
	case Updated:
		return "Updated"
	case Deleted:
		return "Deleted"
	case Replaced:
		return "Replaced"
	case Sync:
		return "Sync"
	}
	return "DeltaType(" + strconv.Itoa(int(t)) + ")"
}

// Delta is one change to the object of a key.
type Delta[T any] struct {
	Type DeltaType

	// Initial marks a Replaced delta of the first Replace: its object is in the initial
	// list. The mark stays if the key is given back.
	Initial bool

	// FinalStateUnknown marks a Deleted delta whose deletion was not seen: Object is the
	// last state seen, and the object may have changed after it.
	FinalStateUnknown bool

	// Object is the new state, or the last one of a Deleted delta.
	Object T

	// Sum is the reflector.Event.Sum that came with Object; zero if there was none.
	Sum uint64

	// ResourceVersion is the version given with the delta: that of the object or of its
	// deletion. It is empty if none was given, and for deletions and Sync deltas that Replace
	// and Resync add.
	ResourceVersion string
}

// Batch is everything that was pending at one Pop or TryPop. It is valid until the next of them,
// which reuses its memory. The zero Batch is empty.
type Batch[K comparable, T any] struct {
	buf *buffer[K, T]
}

// All iterates over the keys of the batch, each with its deltas, of which there is at least one. It
// can be used more than once, and does not allocate for each key. The slices belong to the queue
// and are valid until the next step of the loop.
func (b Batch[K, T]) All() iter.Seq2[K, []Delta[T]] {
	return func(yield func(K, []Delta[T]) bool) {
		if b.buf == nil || b.buf.list.Len() > 0 && !b.buf.eachListed(yield) {
			return
		}
		for i := range b.buf.entries {
			e := &b.buf.entries[i]
			if !yield(e.key, e.deltas) {
				return
			}
		}
	}
}

// Len returns the number of deltas. A batch of zero deltas only moves the resourceVersion.
func (b Batch[K, T]) Len() int {
	if b.buf == nil {
		return 0
	}
	return b.buf.deltas
}

// ResourceVersion returns the version that the store has after the batch, except for keys given
// back with [DeltaFIFO.Requeue]. If it is empty, the batch does not move the store's version.
func (b Batch[K, T]) ResourceVersion() string {
	if b.buf == nil {
		return ""
	}
	return b.buf.rv
}

// EndsInitialList reports whether the batch contains the end of the first Replace: once it is
// committed, the store has synced.
func (b Batch[K, T]) EndsInitialList() bool { return b.buf != nil && b.buf.endsInitial }

// Listed reports whether the batch contains a whole list, and at which [Comparer.Moment] the list was
// compared with the store: objects that the store had then need not be among the deltas.
func (b Batch[K, T]) Listed() (moment uint64, ok bool) {
	if b.buf == nil {
		return 0, false
	}
	return b.buf.moment, b.buf.hasList
}

// Rewound reports whether the batch contains a list with [Replacement.Rewound]. Its resourceVersion
// may be older than that of the previous batch, and different objects may have had the same
// versions as its objects.
func (b Batch[K, T]) Rewound() bool { return b.buf != nil && b.buf.rewound }

// Doubtful reports whether the batch contains a list with [Replacement.Doubtful]. Different objects may
// have had the same versions as its objects.
func (b Batch[K, T]) Doubtful() bool { return b.buf != nil && b.buf.doubtful }
