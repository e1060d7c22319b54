package deltafifo

import (
	"iter"
	"strconv"
)

// DeltaType says what happened to an object.
type DeltaType uint8

// The types of deltas.
const (
	// Added and Updated are what a watch reported.
	Added DeltaType = iota + 1
	Updated
	// Deleted is the end of the object, as reported by a watch or found by Replace.
	Deleted
	// Replaced says that the object was in a list; whether it is new or changed only
	// the store can tell.
	Replaced
	// Sync repeats what the store has, for a Resync: nothing happened to the object.
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

// Delta is one thing that happened to the object of a key.
type Delta[T any] struct {
	Type DeltaType

	// Initial marks a Replaced delta of the first Replace: its object is in the initial
	// list. It stays when the key is given back.
	Initial bool

	// FinalStateUnknown marks a Deleted delta whose deletion was not seen: Object is the
	// last state that was, and the object may have changed after it.
	FinalStateUnknown bool

	// Object is the new state, or the last one of a Deleted delta.
	Object T

	// ResourceVersion is the version that the delta was put with: the object's, or that of
	// its deletion. Empty if there was none, as in what Replace and Resync found out.
	ResourceVersion string
}

// Batch is everything that was pending at one Pop. It may be used until the next Pop,
// which takes its memory for another one. The zero Batch is empty.
type Batch[K comparable, T any] struct {
	buf *buffer[K, T]
}

// All returns the keys of the batch, each with its deltas, never none. It can be ranged
// over more than once and does not allocate for each key. The slices belong to the queue
// and may be used until the next key is asked for.
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

// Len returns the number of deltas. Zero is a batch that only moves the resourceVersion.
func (b Batch[K, T]) Len() int {
	if b.buf == nil {
		return 0
	}
	return b.buf.deltas
}

// ResourceVersion is the version that the batch brings its store to, keys aside that are
// given back with [DeltaFIFO.Requeue]; empty leaves the store at the one that it has.
func (b Batch[K, T]) ResourceVersion() string {
	if b.buf == nil {
		return ""
	}
	return b.buf.rv
}

// EndsInitialList reports whether the batch has the last of the first Replace in it: once
// it is committed, the store has synced.
func (b Batch[K, T]) EndsInitialList() bool { return b.buf != nil && b.buf.endsInitial }

// Rewound reports whether the batch has a list with [List.Rewound] in it: its
// resourceVersion may be older than that of the batch before, and its objects may have the
// versions of others.
func (b Batch[K, T]) Rewound() bool { return b.buf != nil && b.buf.rewound }
