// Package eventlog is an append-only log that one writer shares with many readers. An
// event is stored once, however many cursors read it, and is garbage soon after the last
// of them has passed it: at the next Publish, when all have left its block, or when all wait
// for more. A cursor that lags keeps what it has not read.
//
// # Concurrency
//
// Append, Publish and NewCursor are for one goroutine at a time, the writer. A cursor's Next is for one
// goroutine at a time, its reader. All other functions are for any. They are no methods, because methods of a
// generic type are compiled in every package that has one of its instances.
//
// Events go from the writer to a reader without a lock; only a side that has nothing to do
// waits and is woken. A reader that is about to wait first sets an atomic flag, and then looks
// once more for events. The writer first publishes its events with an atomic store, and then
// looks which readers wait. Go's atomics are sequentially consistent, so at least one side sees
// the other, and no wake-up is lost. A writer that waits for a reader sets a bit in the same
// word that the reader moves (place). There may be surplus wake-ups, so a side that is woken
// always looks again.
package eventlog

import (
	"sync"
	"sync/atomic"

	"github.com/kinform/kinform/internal/broadcast"
)

// Blocks grow from the first to the largest length, so that the log of an idle informer
// is small and a busy one allocates seldom.
const (
	firstBlock = 8
	maxBlock   = 256
)

// block is a run of events. Readers see those below published.
type block[E any] struct {
	events    []E
	start     uint64 // the log's position before the first event
	published atomic.Int64
	next      atomic.Pointer[block[E]] // set once the block is full and all published
}

func newBlock[E any](start uint64, n int) *block[E] {
	return &block[E]{events: make([]E, n), start: start}
}

// Log is the writer's side. The zero value is an empty log.
type Log[E any] struct {
	// Owned by the writer.
	tail        *block[E] // nil if there was no cursor lately; set with mu held
	used        int       // events in tail, published or not
	unpublished uint64

	position atomic.Uint64
	busy     atomic.Int64 // cursors without Leave whose readers do not wait in Next

	mu       sync.Mutex
	cursors  []*Cursor[E]     // open ones
	leaving  []*Cursor[E]     // closed ones whose readers may have a run in tail
	cleared  int              // events of tail that were cleared, because all readers had passed them
	caughtUp broadcast.Signal // that a cursor moved or left
}

// NewCursor returns a cursor that reads the events appended from now on. It publishes the events
// appended before.
func NewCursor[E any](l *Log[E]) *Cursor[E] { return openCursor(l, false) }

// NewLossyCursor returns a cursor that [Lagging] leaves out. When it lags, the writer must
// [Cut] it.
func NewLossyCursor[E any](l *Log[E]) *Cursor[E] { return openCursor(l, true) }

func openCursor[E any](l *Log[E], lossy bool) *Cursor[E] {
	Publish(l)
	if l.tail == nil {
		setTail(l, newBlock[E](l.position.Load(), firstBlock))
	}
	c := &Cursor[E]{log: l, lossy: lossy, from: l.used, wake: make(chan struct{}, 1)}
	c.block.Store(l.tail)
	c.read.set(l.position.Load())
	l.busy.Add(1)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cursors = append(l.cursors, c)
	return c
}

// Append adds an event, which readers see after the next Publish. Without cursors it drops the
// event. Amortized O(1) without a lock.
func Append[E any](l *Log[E], event E) {
	if l.tail != nil && l.used == len(l.tail.events) {
		grow(l)
	}
	l.unpublished++
	if l.tail == nil {
		return
	}
	l.tail.events[l.used] = event
	l.used++
}

// grow adds a new block after a full one. It first publishes the full block, because readers leave
// a block only when all of it is published.
func grow[E any](l *Log[E]) {
	Publish(l)
	full := l.tail
	if full == nil {
		return
	}
	setTail(l, newBlock[E](l.position.Load(), min(2*len(full.events), maxBlock)))
	full.next.Store(l.tail)
}

// setTail makes b the block to append to. b is nil, or an empty block that no cursor has seen. A
// closed cursor cannot have a run in b, because it does not move any more.
func setTail[E any](l *Log[E], b *block[E]) {
	l.used = 0
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tail, l.cleared, l.leaving = b, 0, nil
}

// Publish makes all appended events visible and wakes the cursors that wait for them. A full block
// is published without a call. O(cursors).
func Publish[E any](l *Log[E]) {
	l.position.Add(l.unpublished) // before the events, because no cursor may be ahead of it
	l.unpublished = 0
	if l.tail == nil {
		return
	}
	l.tail.published.Store(int64(l.used))
	if !notify(l) {
		setTail(l, nil) // no reader is left
	}
}

// notify wakes the waiting cursors and clears the events that all cursors have passed. It reports
// whether there are cursors.
func notify[E any](l *Log[E]) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.cursors {
		unpark(c)
	}
	sweep(l)
	return len(l.cursors) > 0
}

// sweep clears the published events of the tail that all readers are done with. Called with
// mu held.
func sweep[E any](l *Log[E]) {
	b := l.tail
	if b == nil {
		return
	}
	end := b.start + uint64(b.published.Load())
	for _, c := range l.cursors {
		end = min(end, c.read.at())
	}
	for _, c := range l.leaving {
		end = min(end, c.read.at())
	}
	// Less than zero if that is in another block.
	if passed := int(end - b.start); passed > l.cleared {
		clear(b.events[l.cleared:passed])
		l.cleared = passed
	}
}

// idle records that a reader is about to wait. The last one to wait clears the events that all
// have passed, because the next Publish may come much later.
func idle[E any](l *Log[E]) {
	if l.busy.Add(-1) == 0 {
		l.mu.Lock()
		defer l.mu.Unlock()
		sweep(l)
	}
}

// Awaited reports whether a reader is done with all published events. O(cursors).
//
//go:noinline
func Awaited[E any](l *Log[E]) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.cursors {
		if Lag(c) == 0 {
			return true
		}
	}
	return false
}

// WakeAll calls Wake for every open cursor.
//
//go:noinline
func WakeAll[E any](l *Log[E]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.cursors {
		Wake(c)
	}
}

// End returns the position of the event that is appended next. Only the writer may call it.
func End[E any](l *Log[E]) uint64 { return l.position.Load() + l.unpublished }

// Published returns the number of all events ever published, with or without cursors.
func Published[E any](l *Log[E]) uint64 { return l.position.Load() }
