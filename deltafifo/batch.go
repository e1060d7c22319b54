package deltafifo

import "iter"

// Batch is everything that was pending at one Pop or TryPop. It is valid until the next of them,
// which reuses its memory. The zero Batch is empty.
type Batch[K comparable, T any] struct {
	buf *buffer[K, T]
}

// All iterates over the keys of the batch, each with its deltas, of which there is at least one. It
// can be used more than once, and does not allocate for each key. The slices belong to the queue
// and are valid until the next step of the loop.
func (b *Batch[K, T]) All() iter.Seq2[K, []Delta[T]] {
	return func(yield func(K, []Delta[T]) bool) {
		if b.buf != nil {
			eachKey(b.buf, yield)
		}
	}
}

// Len returns the number of deltas. A batch of zero deltas only moves the resourceVersion.
func (b *Batch[K, T]) Len() int {
	if b.buf == nil {
		return 0
	}
	return b.buf.deltas
}

// ResourceVersion returns the version that the store has after the batch, except for keys given
// back with [DeltaFIFO.Requeue]. If it is empty, the batch does not move the store's version.
func (b *Batch[K, T]) ResourceVersion() string {
	if b.buf == nil {
		return ""
	}
	return b.buf.rv
}

// EndsInitialList reports whether the batch contains the end of the first Replace: once it is
// committed, the store has synced.
func (b *Batch[K, T]) EndsInitialList() bool { return b.buf != nil && b.buf.endsInitial }

// Listed reports whether the batch contains a whole list, and at which moment the list was
// compared with the store: objects that the store had then need not be among the deltas.
func (b *Batch[K, T]) Listed() (moment uint64, ok bool) {
	if b.buf == nil {
		return 0, false
	}
	return b.buf.moment, b.buf.hasList
}

// Rewound reports whether the batch contains a list with [Replacement.Rewound]. Its resourceVersion
// may be older than the previous batch's, and different objects may have had the same versions as
// its objects.
func (b *Batch[K, T]) Rewound() bool { return b.buf != nil && b.buf.rewound }

// Doubtful reports whether the batch contains a list with [Replacement.Doubtful]. Different objects may
// have had the same versions as its objects.
func (b *Batch[K, T]) Doubtful() bool { return b.buf != nil && b.buf.doubtful }
