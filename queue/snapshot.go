package queue

import (
	"sort"
	"time"

	"github.com/kinform/kinform/internal/note"
)

// Snapshot is the contents of a queue at one moment.
type Snapshot[K comparable] struct {
	// Queued has the ready keys by priority, then by time (with Options.Class by class, then by
	// time). Without further adds, ageing and classes they would be handed out in this order.
	Queued []KeyStatus[K]
	// Delayed has the keys held back by AddAfter, AddRateLimited or Debounce, the earliest first. A
	// key can be in it twice, and can also be queued or running.
	Delayed []KeyStatus[K]
	// Running has the keys that are handed out and not done. With Timing, the longest running one
	// is first.
	Running []KeyStatus[K]
}

// KeyStatus is a key of a [Snapshot].
type KeyStatus[K comparable] struct {
	Key      K
	Priority int
	// Failures is the result of Retries for the key.
	Failures int
	// Waited is how long a queued key has been queued, For how long a running key has been running. Zero without Timing.
	Waited, For time.Duration
	// In is how long a delayed key still has to wait. It is zero or less if the key is due.
	In time.Duration
	// Debounced says that a delayed key is held by Debounce and not delayed.
	Debounced bool
	// Again says that a running key was added while it runs, and will come back.
	Again bool
}

// Snapshot copies the contents of the queue, for a debug page or a log. It holds the lock for
// O(keys known) and sorts afterwards: do not use it in a hot path.
func (q *Queue[K]) Snapshot() Snapshot[K] {
	s := copyOut(q)
	// Package slices would be compiled anew for each K, which is 20 KB of code.
	sort.SliceStable(s.Delayed, func(i, j int) bool { return s.Delayed[i].In < s.Delayed[j].In })
	sort.SliceStable(s.Running, func(i, j int) bool { return s.Running[i].For > s.Running[j].For })
	return s
}

// copyOut is Snapshot unsorted.
func copyOut[K comparable](q *Queue[K]) Snapshot[K] {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.now()
	since := func(t int64) time.Duration {
		if q.timing == nil {
			return 0
		}
		return time.Duration(now - t)
	}
	s := Snapshot[K]{
		Queued:  make([]KeyStatus[K], 0, q.ready.n),
		Running: make([]KeyStatus[K], 0, q.running),
		Delayed: make([]KeyStatus[K], 0, len(q.pending[delayed].slots)+len(q.pending[held].slots)),
	}
	for l := range q.ready.all {
		for e := range l.all {
			s.Queued = append(s.Queued, KeyStatus[K]{Key: e.key, Priority: int(e.prio), Failures: int(e.failures), Waited: since(e.since)})
		}
	}
	for i := range q.pending {
		for _, t := range q.pending[i].slots {
			s.Delayed = append(s.Delayed, KeyStatus[K]{
				Key: t.e.key, Priority: int(t.e.later[i]), Failures: int(t.e.failures), In: time.Duration(t.at - now), Debounced: i == held,
			})
		}
	}
	for e := range q.store.table.all {
		if e.state&running != 0 {
			s.Running = append(s.Running, KeyStatus[K]{
				Key: e.key, Priority: int(e.prio), Failures: int(e.failures), For: since(e.start), Again: e.state&dirty != 0,
			})
		}
	}
	return s
}

// Notes is for package controller: it returns why the key is in the queue. That does not include why
// it runs. O(1).
func (q *Queue[K]) Notes(key K) (notes note.Notes) {
	hash := q.hash(key)
	q.mu.Lock()
	defer q.mu.Unlock()
	e := find(&q.store.table, key, hash)
	if e == nil {
		return notes
	}
	switch {
	case e.state&(ready|dirty) != 0 || e.pos[held] != 0:
		notes = e.notes
	case e.pos[delayed] != 0:
		notes = e.notes // that were not served
		notes.Add(note.Note(e.why))
	}
	return notes
}
