package deltafifo

import (
	"context"
	"iter"
	"sync"
)

// DefaultLimit is the limit of a queue whose Options name none.
const DefaultLimit = 4096

// Known is the store that the queue's consumer keeps, as far as Replace needs it. It is
// read under the queue's lock.
type Known[K comparable, T any] interface {
	// Get returns the object of key.
	Get(key K) (T, bool)
	// All returns every key with its object.
	All() iter.Seq2[K, T]
}

// Options configures a [DeltaFIFO]. The zero value works.
type Options struct {
	// Limit is the number of pending deltas at which producers wait. Zero or less means
	// DefaultLimit. A Replace waits for room as any delta does and is then taken whole.
	Limit int
}

// DeltaFIFO collects deltas per key until its consumer takes them all. See the package
// documentation.
type DeltaFIFO[K comparable, T any] struct {
	// Set by New and never changed.
	known Known[K, T]
	limit int

	mu       sync.Mutex
	pending  *buffer[K, T]
	inFlight *buffer[K, T] // popped last; nil if nothing is being processed
	spare    *buffer[K, T] // empty, for reuse; or nil
	lists    uint64        // number of calls of Replace
	closed   bool
	room     chan struct{} // closed when there may be room again; nil while nobody waits
	ready    chan struct{} // closed when there may be a batch; nil while nobody waits
}

// New returns an empty queue. known may be nil: then nothing is known but what is in the
// queue itself.
func New[K comparable, T any](known Known[K, T], opts Options) *DeltaFIFO[K, T] {
	if opts.Limit <= 0 {
		opts.Limit = DefaultLimit
	}
	return &DeltaFIFO[K, T]{known: known, limit: opts.Limit, pending: newBuffer[K, T]()}
}

// Len returns the number of pending deltas.
func (f *DeltaFIFO[K, T]) Len() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.pending.deltas
}

// Close lets no more in. Producers that wait get [ErrClosed]; the consumer gets what is
// pending first. Closing again does nothing.
func (f *DeltaFIFO[K, T]) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	wake(&f.room)
	wake(&f.ready)
}

// Pop waits until something is pending and takes all of it. It also says that the batch
// before has been processed. It returns ctx's error or [ErrClosed].
func (f *DeltaFIFO[K, T]) Pop(ctx context.Context) (Batch[K, T], error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if done := f.inFlight; done != nil {
		f.inFlight, f.spare = nil, done.reset()
	}
	for f.pending.empty() {
		if f.closed {
			return Batch[K, T]{}, ErrClosed
		}
		if err := f.wait(ctx, &f.ready); err != nil {
			return Batch[K, T]{}, err
		}
	}
	f.inFlight = f.pending
	if f.pending, f.spare = f.spare, nil; f.pending == nil {
		f.pending = newBuffer[K, T]()
	}
	wake(&f.room)
	return Batch[K, T]{buf: f.inFlight}, nil
}

// admit waits until the queue takes deltas. On success, and only then, the lock is held.
func (f *DeltaFIFO[K, T]) admit(ctx context.Context) error {
	f.mu.Lock()
	for !f.closed && f.pending.deltas >= f.limit {
		if err := f.wait(ctx, &f.room); err != nil {
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

// wait gives up the lock until *signal is woken or ctx is done.
func (f *DeltaFIFO[K, T]) wait(ctx context.Context, signal *chan struct{}) error {
	if *signal == nil {
		*signal = make(chan struct{})
	}
	woken := *signal
	f.mu.Unlock()
	defer f.mu.Lock()
	select {
	case <-woken:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func wake(signal *chan struct{}) {
	if *signal != nil {
		close(*signal)
		*signal = nil
	}
}
