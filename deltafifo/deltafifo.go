package deltafifo

import (
	"context"
	"iter"
	"sync"

	"github.com/kinform/kinform/internal/mapkey"
)

// spareFactor times the limit is the room that a buffer may have to be used again.
const spareFactor = 2

// DefaultLimit is the limit of a queue whose Options name none.
const DefaultLimit = 1024

// Known is the store that the queue's consumer keeps, as far as Delete, Replace and Resync
// need it. It is read under the queue's lock. If it also has the method GetMany of store.Reader,
// that is used where many keys are looked up. See also [Comparer].
type Known[K comparable, T any] interface {
	// Get returns the object of key.
	Get(key K) (T, bool)
	// Len returns the number of objects.
	Len() int
	// All returns every key with its object.
	All() iter.Seq2[K, T]
}

// Comparer is a [Known] that can tell which objects of a list it has already. Such objects get no
// delta from Replace, unless most of the list did change.
type Comparer[K comparable, T any] interface {
	Known[K, T]
	// Compare returns a function that reports whether listed, at version, is as good as known.
	// version is the one that the item was set with. Nil compares nothing. Replace calls Compare
	// once for each list, under the queue's lock, while nothing is pending or in flight: then the
	// store has everything that came before the list. Neither function may use the queue.
	Compare(resourceVersion string) func(key K, known, listed T, version string) bool
}

// Options configures a [DeltaFIFO]. The zero value works.
type Options struct {
	// Limit is the number of pending deltas at which producers wait. Zero or less means
	// DefaultLimit. A Replace waits for room as any delta does and is then taken whole,
	// and so is a Resync. Deltas that were given back count until they are processed,
	// also while they are in flight again.
	Limit int
}

// DeltaFIFO collects deltas per key until its consumer takes them all. See the package
// documentation.
type DeltaFIFO[K comparable, T any] struct {
	// Set by New and never changed.
	known   Known[K, T]
	getMany func(keys []K, yield func(i int, obj T, ok bool) bool) // Known's
	limit   int

	// Closed, under mu, when the initial list has been processed.
	synced chan struct{}

	mu       sync.Mutex
	pending  *buffer[K, T]
	inFlight *buffer[K, T] // popped last; nil if nothing is being processed
	spare    *buffer[K, T] // empty, for reuse; or nil
	retrying int           // number of deltas in flight that were given back before
	lists    uint64        // number of calls of Replace
	closed   bool
	room     chan struct{} // closed when there may be room again; nil while nobody waits

	// A token in it says that there may be a batch; closed with the queue.
	ready chan struct{}
}

// New returns an empty queue. known may be nil: then nothing is known but what is in the
// queue itself.
//
// It panics if K cannot be a key: if K is a float, a complex number, an interface, or an array
// or struct that holds one. Values of these may not equal themselves (NaN), or not compare.
func New[K comparable, T any](known Known[K, T], opts Options) *DeltaFIFO[K, T] {
	mapkey.Must[K]()
	if opts.Limit <= 0 {
		opts.Limit = DefaultLimit
	}
	getMany := getOneByOne(known)
	if known, ok := known.(interface {
		GetMany([]K, func(int, T, bool) bool)
	}); ok {
		getMany = known.GetMany
	}
	return &DeltaFIFO[K, T]{
		known:   known,
		getMany: getMany,
		limit:   opts.Limit,
		synced:  make(chan struct{}),
		pending: newBuffer[K, T](),
		ready:   make(chan struct{}, 1),
	}
}

// Len returns the number of pending deltas.
func (f *DeltaFIFO[K, T]) Len() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.pending.deltas
}

// Synced is closed once the initial list, that is the first Replace, has been processed:
// when the consumer is done with the batch that [Batch.EndsInitialList]. Keys of it that
// are given back do not count, so that an object which cannot be processed keeps no
// program from starting. It is never closed if there is no list, whatever else was put,
// or if the consumer stops before.
func (f *DeltaFIFO[K, T]) Synced() <-chan struct{} { return f.synced }

// Close lets no more in. Producers that wait get [ErrClosed]; the consumer gets what is
// pending first. Closing again does nothing.
func (f *DeltaFIFO[K, T]) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return
	}
	f.closed = true
	close(f.ready)
	f.signalRoom()
}

// Pop waits until something is pending and takes all of it. It also says that the batch
// before has been processed, even if it returns an error. That is [ErrClosed] or, if it
// would have to wait, ctx's.
func (f *DeltaFIFO[K, T]) Pop(ctx context.Context) (Batch[K, T], error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.processed()
	for f.pending.empty() {
		if f.closed {
			return Batch[K, T]{}, ErrClosed
		}
		if err := f.wait(ctx, f.ready); err != nil {
			return Batch[K, T]{}, err
		}
	}
	f.inFlight, f.retrying = f.pending, f.pending.returned
	if f.pending, f.spare = f.spare, nil; f.pending == nil {
		f.pending = newBuffer[K, T]()
	}
	f.signalRoom()
	return Batch[K, T]{buf: f.inFlight}, nil
}

// processed ends the batch in flight, if there is one. Called with the lock held.
func (f *DeltaFIFO[K, T]) processed() {
	done := f.inFlight
	if done == nil {
		return
	}
	if done.endsInitial {
		close(f.synced)
	}
	f.inFlight, f.spare = nil, done.reset(spareFactor*f.limit)
	if f.retrying > 0 {
		f.retrying = 0
		f.signalRoom()
	}
}

// admit waits until the queue takes deltas. On success, and only then, the lock is held.
func (f *DeltaFIFO[K, T]) admit(ctx context.Context) error {
	f.mu.Lock()
	for !f.closed && f.pending.deltas+f.retrying >= f.limit {
		if f.room == nil {
			f.room = make(chan struct{})
		}
		if err := f.wait(ctx, f.room); err != nil {
			f.mu.Unlock()
			return err
		}
	}
	if f.closed {
		f.mu.Unlock()
		return ErrClosed
	}
	return nil
}

// wait gives up the lock until signal comes or ctx is done. No signal is lost: whoever
// waits looked at the queue and at signal under the lock, and whoever changes the queue
// signals under the lock. What was looked at must be looked at again, since a signal may
// be old: a token that a Pop left behind which had no need to wait, or gave up.
func (f *DeltaFIFO[K, T]) wait(ctx context.Context, signal <-chan struct{}) error {
	f.mu.Unlock()
	defer f.mu.Lock()
	select {
	case <-signal:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// signalRoom wakes all producers that wait; those that find no room wait again. Called
// with the lock held.
func (f *DeltaFIFO[K, T]) signalRoom() {
	if f.room != nil {
		close(f.room)
		f.room = nil
	}
}

// signalReady wakes the consumer if it waits. A token that is in the channel already
// serves as well. Called with the lock held, on a queue that is not closed.
func (f *DeltaFIFO[K, T]) signalReady() {
	select {
	case f.ready <- struct{}{}:
	default:
	}
}
