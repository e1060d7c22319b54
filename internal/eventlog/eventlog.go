// Package eventlog is an append-only log that one writer shares with many readers. An
// event is stored once, however many cursors read it, and is garbage as soon as the last
// of them has passed it.
//
// The writer's methods (Append, Publish, NewCursor, WaitLag) are for one goroutine at a
// time. A cursor's Next is for one goroutine, its Close for any.
package eventlog

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
)

// ErrClosed is returned by Next of a cursor that was closed.
var ErrClosed = errors.New("cursor is closed")

// Blocks grow from the first to the largest length, so that the log of an idle informer
// is small and a busy one allocates seldom.
const (
	firstBlock = 8
	maxBlock   = 256
)

// block is a run of events. Readers see those below published.
type block[E any] struct {
	events    []E
	published atomic.Int64
	next      atomic.Pointer[block[E]]
}

// Log is the writer's side. The zero value is an empty log.
type Log[E any] struct {
	// Owned by the writer.
	tail *block[E]
	used int // events in tail, published or not

	appended atomic.Uint64 // since the beginning, published ones only

	mu       sync.Mutex
	cursors  []*Cursor[E]
	caughtUp chan struct{} // closed when a cursor moved or left; nil while nobody waits
	awaited  atomic.Bool   // caughtUp is not nil
}

// NewCursor returns a cursor that reads what is published from now on.
func (l *Log[E]) NewCursor() *Cursor[E] {
	if l.tail == nil {
		l.tail = newBlock[E](firstBlock)
	}
	c := &Cursor[E]{log: l, block: l.tail, from: l.used, wake: make(chan struct{}, 1)}
	c.read.Store(l.appended.Load())
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cursors = append(l.cursors, c)
	return c
}

// Append adds an event that Publish will show. It keeps nothing if there is no cursor.
func (l *Log[E]) Append(event E) {
	if l.tail != nil && l.used == len(l.tail.events) {
		l.grow()
	}
	if l.tail == nil {
		return
	}
	l.tail.events[l.used] = event
	l.used++
}

// grow puts a new block behind a full one. Readers leave a block only when all of it is
// published, so that comes first.
func (l *Log[E]) grow() {
	l.Publish()
	if l.tail == nil {
		return
	}
	next := newBlock[E](min(2*len(l.tail.events), maxBlock))
	l.tail.next.Store(next)
	l.tail, l.used = next, 0
}

// Publish shows what was appended and wakes the cursors that wait for it. A block that
// fills up is published without being asked.
func (l *Log[E]) Publish() {
	if l.tail == nil {
		return
	}
	l.appended.Add(uint64(l.used) - uint64(l.tail.published.Load()))
	l.tail.published.Store(int64(l.used))
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.cursors) == 0 {
		l.tail, l.used = nil, 0 // nobody is left to read it
		return
	}
	for _, c := range l.cursors {
		c.unpark()
	}
}

// Position returns the number of events published since the beginning.
func (l *Log[E]) Position() uint64 { return l.appended.Load() }

// WaitLag waits until no cursor has more than limit published events before it.
func (l *Log[E]) WaitLag(ctx context.Context, limit uint64) error {
	for {
		moved := l.lagging(limit)
		if moved == nil {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// lagging returns nil if no cursor lags, and otherwise a channel that is closed when one
// moves.
func (l *Log[E]) lagging(limit uint64) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	lags := func(c *Cursor[E]) bool { return l.appended.Load()-c.read.Load() > limit }
	if !slices.ContainsFunc(l.cursors, lags) {
		return nil
	}
	if l.caughtUp == nil {
		l.caughtUp = make(chan struct{})
		l.awaited.Store(true)
	}
	moved := l.caughtUp
	if !slices.ContainsFunc(l.cursors, lags) {
		l.moved() // by a cursor that could not see awaited yet, and so told nobody
	}
	return moved
}

// moved tells a waiting writer that a cursor moved or left. Called with mu held.
func (l *Log[E]) moved() {
	if l.caughtUp != nil {
		close(l.caughtUp)
		l.caughtUp = nil
		l.awaited.Store(false)
	}
}

func newBlock[E any](n int) *block[E] { return &block[E]{events: make([]E, n)} }
