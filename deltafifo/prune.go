package deltafifo

import "context"

// Keep says what the queue and its consumer may have: objects for which keeps is false are as if they did not
// exist. keeps runs with the queue's lock held. What it says may change from true to false at any time, and
// [Sink.Prune] follows. It may change to true right before a list begins. Nil means that all objects stay. Call
// Keep before the first use of the queue.
func (s *Sink[K, T]) Keep(keeps func(T) bool) { s.fifo.keeps = keeps }

// noList is the number of no Replace, not even of none.
const noList = ^uint64(0)

// Prune serves reflectors: it adds a deletion with FinalStateUnknown for each object that
// is not kept any more, see [Sink.Keep]. Any goroutine may call it. See [DeltaFIFO.Add] for waits and errors.
// O(pending + known keys), under the lock.
func (s *Sink[K, T]) Prune(ctx context.Context) error {
	if err := admit(ctx, &s.fifo.gate); err != nil {
		return err
	}
	defer s.fifo.mu.Unlock()
	expand(s.fifo.pending)
	deleteMissing(s.fifo, nil, noList, func(_ K, obj T) bool { return s.fifo.keeps(obj) })
	moved(&s.fifo.gate, "")
	return nil
}

// Flush serves reflectors, see [DeltaFIFO.Flush].
func (s *Sink[K, T]) Flush(ctx context.Context) error { return flush(ctx, &s.fifo.gate) }

// Flush waits until everything that is pending or in flight has been processed, except for keys that were
// given back. A batch has been processed when the consumer asks for the next one. It returns ctx's error, or
// [ErrClosed] if the queue was closed before.
func (f *DeltaFIFO[K, T]) Flush(ctx context.Context) error { return flush(ctx, &f.gate) }
