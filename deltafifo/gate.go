package deltafifo

import (
	"context"
	"sync"

	"github.com/kinform/kinform/internal/broadcast"
)

// gate is the part of a [DeltaFIFO] that knows no keys and objects: who waits for whom. Its functions are
// compiled once, and it has no methods, which each DeltaFIFO would have again.
type gate struct {
	limit int // set by New

	mu        sync.Mutex
	waiting   *header       // of the pending buffer
	flying    bool          // a batch is in flight
	synced    chan struct{} // closed when the initial list has been processed; nil while nobody has asked
	hasSynced bool          // the initial list has been processed
	retrying  int           // number of deltas in flight that had been given back
	lists     uint64        // number of calls of Replace
	batches   uint64        // number of batches popped so far
	closed    bool
	lent      bool             // a producer processes the batch in flight
	back      broadcast.Signal // that it has done so
	room      broadcast.Signal // that there may be room; producers that find none wait again
	flushed   broadcast.Signal // that a batch has been processed

	// A token in ready says that there may be a batch. Closed with the queue.
	ready chan struct{}
}

// header is the part of a buffer that knows no keys and objects.
type header struct {
	deltas      int
	returned    int      // number of deltas that were given back
	given       []uint64 // in flight: a set bit for each key number that was given back
	rv          string
	moved       bool // the batch moves its store to rv
	endsInitial bool
	hasList     bool   // it has a list
	moment      uint64 // at which it was compared
	rewound     bool   // it has a list of a server that was restored
	doubtful    bool   // it has a list of a server that was perhaps restored
}

func isEmpty(b *header) bool { return b.deltas == 0 && !b.moved }

func moveTo(b *header, rv string) {
	if rv != "" {
		b.rv, b.moved = rv, true
	}
}

// markReturned records that key n was given back. It returns false if it was already recorded.
func markReturned(b *header, n int) bool {
	for n>>6 >= len(b.given) {
		b.given = append(b.given, 0)
	}
	word, bit := &b.given[n>>6], uint64(1)<<(n&63)
	if *word&bit != 0 {
		return false
	}
	*word |= bit
	return true
}

// resetHeader resets the header to an empty buffer.
func resetHeader(b *header) { *b = header{given: b.given[:0]} }

// admit waits until the queue has room. It returns with the lock held if and only if it returns
// nil.
func admit(ctx context.Context, g *gate) error {
	g.mu.Lock()
	for !g.closed && g.waiting.deltas+g.retrying >= g.limit {
		if err := waitUnlocked(ctx, g, g.room.Wait()); err != nil {
			g.mu.Unlock()
			return err
		}
	}
	if g.closed {
		g.mu.Unlock()
		return ErrClosed
	}
	return nil
}

// awaitBatch waits until there are pending deltas, and nobody else processes a batch. Called with the
// lock held. Errors: [ErrClosed]; ctx's.
func awaitBatch(ctx context.Context, g *gate) error {
	for g.lent || isEmpty(g.waiting) {
		var signal <-chan struct{} = g.ready
		switch {
		case g.lent:
			signal = g.back.Wait()
		case g.closed:
			return ErrClosed
		}
		if err := waitUnlocked(ctx, g, signal); err != nil {
			return err
		}
	}
	return nil
}

// flush is [DeltaFIFO.Flush].
func flush(ctx context.Context, g *gate) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	until := g.batches
	if !isEmpty(g.waiting) {
		until++
	}
	for g.flying && g.batches == until || g.batches < until {
		if g.closed {
			return ErrClosed
		}
		if err := waitUnlocked(ctx, g, g.flushed.Wait()); err != nil {
			return err
		}
	}
	return nil
}

// waitUnlocked releases the lock until signal arrives or ctx is done. No signal is lost, because waiters
// check the queue under the lock, and changes of the queue signal under the lock. The caller must
// check the queue again, because a token may be old: left by a Pop that did not wait, or that gave
// up.
func waitUnlocked(ctx context.Context, g *gate, signal <-chan struct{}) error {
	g.mu.Unlock()
	defer g.mu.Lock()
	select {
	case <-signal:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// moved records the version and wakes the consumer. Called with the lock held.
func moved(g *gate, rv string) {
	moveTo(g.waiting, rv)
	if !isEmpty(g.waiting) {
		signalReady(g)
	}
}

// signalReady wakes the consumer if it waits. One token in the channel is enough. Called with the
// lock held, on a queue that is not closed.
func signalReady(g *gate) {
	select {
	case g.ready <- struct{}{}:
	default:
	}
}

// taken follows that everything pending is in flight. next is the header of the new pending buffer. Called
// with the lock held.
func taken(g *gate, next *header) {
	g.batches++
	g.retrying = g.waiting.returned
	g.waiting, g.flying = next, true
	g.room.Send()
}

// ended follows the end of the batch in flight. initial says that it ended the initial list. Called with
// the lock held.
func ended(g *gate, initial bool) {
	if initial {
		g.hasSynced = true
		if g.synced != nil {
			close(g.synced)
		}
	}
	g.flying = false
	g.flushed.Send()
	if g.retrying > 0 {
		g.retrying = 0
		g.room.Send()
	}
}

// returned follows the end of a batch that a producer has processed. It wakes the consumer for keys that
// were given back. Called with the lock held.
func returned(g *gate) {
	if !g.closed && !isEmpty(g.waiting) {
		signalReady(g)
	}
	g.back.Send()
}

// pendingDeltas is [DeltaFIFO.Len].
func pendingDeltas(g *gate) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.waiting.deltas
}

// whenSynced is [DeltaFIFO.Synced].
func whenSynced(g *gate) <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.synced == nil {
		g.synced = make(chan struct{})
		if g.hasSynced {
			close(g.synced)
		}
	}
	return g.synced
}

// closeGate is [DeltaFIFO.Close].
func closeGate(g *gate) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return
	}
	g.closed = true
	close(g.ready)
	g.room.Send()
	g.flushed.Send()
}
