package deltafifo

import (
	"context"
	"iter"

	"github.com/kinform/kinform/internal/compare"
	"github.com/kinform/kinform/internal/mapkey"
	"github.com/kinform/kinform/internal/objmeta"
	"github.com/kinform/kinform/internal/packed"
)

// spareFactor times the limit is the largest room of a buffer that is used again.
const spareFactor = 2

// defaultLimit is the limit of a queue if Options.Limit is not set.
const defaultLimit = 1024

// KnownObjects is the store of the queue's consumer. Delete, Replace and Resync read it under the
// queue's lock. If it also has the method GetMany of store.Reader, the queue uses that to look up
// many keys. The store of an informer can also tell which objects of a list it has already. Such
// objects get no delta from Replace if nothing is pending or in flight and at most an eighth of the
// list has changed. A [Sink] does not even need them decoded: see reflector.Source.
type KnownObjects[K comparable, T any] interface {
	// Get returns the object of key.
	Get(key K) (T, bool)
	// Len returns the number of objects.
	Len() int
	// All returns every key with its object.
	All() iter.Seq2[K, T]
}

// Options configures a [DeltaFIFO]. The zero value works.
type Options struct {
	// Limit is the number of pending deltas at which producers wait. Zero or less means
	// 1,024. A Replace or Resync waits for room like a single delta, and is then taken
	// as a whole. Deltas that were given back count until they are processed, even while they
	// are in flight again.
	Limit int
}

// DeltaFIFO collects deltas by key until its consumer takes all of them. See the package
// documentation.
type DeltaFIFO[K comparable, T any] struct{ core[K, T] }

// core is a queue without methods. A package that names a DeltaFIFO compiles all its methods, and one
// that only has a [Sink] does not need them.
type core[K comparable, T any] struct {
	// Set by open and never changed.
	known    KnownObjects[K, T]
	comparer compare.Known[K, T] // known if it is one, else nil
	meta     objmeta.Reader[T]
	getMany  func(keys []K, yield func(i int, obj T, ok bool) bool) // of known, or made of its Get
	keeps    func(T) bool                                           // see Sink.Keep; nil for all objects
	codec    packed.Codec                                           // packs the objects of known; nil if they are not packed
	packedOf func(K) string                                         // what known has under a key is packed into; nil as codec

	gate
	pending  *buffer[K, T] // guarded by mu, as are the others
	inFlight *buffer[K, T] // popped last; nil if nothing is being processed
	spare    *buffer[K, T] // empty, for reuse; or nil
}

// New returns an empty queue. If known is nil, the queue knows only the objects in its own deltas.
//
// It panics if K cannot be a key: if K is a float, a complex number, an interface, or an array
// or struct that holds one. Values of these may not equal themselves (NaN), or not compare.
func New[K comparable, T any](known KnownObjects[K, T], opts Options) *DeltaFIFO[K, T] {
	f := new(DeltaFIFO[K, T])
	open(&f.core, known, opts)
	return f
}

// open makes a zero core an empty queue.
func open[K comparable, T any](f *core[K, T], known KnownObjects[K, T], opts Options) {
	mapkey.Must[K]()
	if opts.Limit <= 0 {
		opts.Limit = defaultLimit
	}
	f.known, f.meta, f.getMany, f.pending = known, objmeta.Of[T](), getOneByOne(known), newBuffer[K, T]()
	if known, ok := known.(interface {
		GetMany([]K, func(int, T, bool) bool)
	}); ok {
		f.getMany = known.GetMany
	}
	f.comparer, _ = known.(compare.Known[K, T])
	if known, ok := known.(interface {
		Packing() (packed.Codec, func(K) string)
	}); ok {
		f.codec, f.packedOf = known.Packing()
	}
	f.gate = gate{limit: opts.Limit, waiting: &f.pending.header, ready: make(chan struct{}, 1)}
}

// getOneByOne is KnownObjects.Get for many keys.
//
//go:noinline
func getOneByOne[K comparable, T any](known KnownObjects[K, T]) func(keys []K, yield func(int, T, bool) bool) {
	return func(keys []K, yield func(int, T, bool) bool) {
		for i, key := range keys {
			if obj, ok := known.Get(key); !yield(i, obj, ok) {
				return
			}
		}
	}
}

// Len returns the number of pending deltas. See [DeltaFIFO.Get] and [DeltaFIFO.All] for the deltas.
func (f *DeltaFIFO[K, T]) Len() int { return pendingDeltas(&f.gate) }

// Synced returns a channel that is closed once the initial list, which is the first Replace, has
// been processed: when the consumer is done with the batch for which [Batch.EndsInitialList] is
// true. Keys that it gave back with Requeue do not count, so that one bad object does not keep a
// program from starting. The channel is never closed without a list, or if the consumer stops
// before.
func (f *DeltaFIFO[K, T]) Synced() <-chan struct{} { return whenSynced(&f.gate) }

// Close ends production: producers get [ErrClosed], waiting ones too. The consumer gets the pending
// deltas first. Closing again does nothing.
func (f *DeltaFIFO[K, T]) Close() { closeGate(&f.gate) }

// Pop waits until there are pending deltas, and takes all of them. The call also marks the previous
// batch as processed, even if it returns an error. Errors: [ErrClosed]; ctx's, if Pop would have to
// wait.
func (f *DeltaFIFO[K, T]) Pop(ctx context.Context) (Batch[K, T], error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.lent {
		endBatch(&f.core)
	}
	if err := awaitBatch(ctx, &f.gate); err != nil {
		return Batch[K, T]{}, err
	}
	return take(&f.core), nil
}

// TryPop is [DeltaFIFO.Pop] for a consumer that does not wait: it returns false if nothing is
// pending, or while a producer processes a batch ([Sink.ApplyNow]). Whoever produces must see to it
// that TryPop is called again after that.
func (f *DeltaFIFO[K, T]) TryPop() (batch Batch[K, T], ok bool) { return tryPop(&f.core) }

func tryPop[K comparable, T any](f *core[K, T]) (batch Batch[K, T], ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.lent {
		endBatch(f)
	}
	if f.lent || isEmpty(f.waiting) {
		return Batch[K, T]{}, false
	}
	return take(f), true
}

// take makes everything pending the batch in flight. Called with the lock held and nothing in
// flight.
func take[K comparable, T any](f *core[K, T]) Batch[K, T] {
	settle(f.pending)
	f.inFlight = f.pending
	if f.pending, f.spare = f.spare, nil; f.pending == nil {
		f.pending = newBuffer[K, T]()
	}
	taken(&f.gate, &f.pending.header)
	return Batch[K, T]{buf: f.inFlight}
}

// endBatch ends the batch in flight, if there is one. Called with the lock held.
func endBatch[K comparable, T any](f *core[K, T]) {
	done := f.inFlight
	if done == nil {
		return
	}
	initial := done.endsInitial
	f.inFlight, f.spare = nil, reset(done, spareFactor*f.limit)
	ended(&f.gate, initial)
}
