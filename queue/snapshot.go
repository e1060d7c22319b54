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
	Queued []QueuedKey[K]
	// Delayed has the keys held back by AddAfter, AddRateLimited or Debounce, the earliest first. A
	// key can be in it twice, and can also be queued or running.
	Delayed []DelayedKey[K]
	// Running has the keys that are handed out and not done. With Timing, the longest running one
	// is first.
	Running []RunningKey[K]
}

// QueuedKey is a key that is ready to be handed out.
type QueuedKey[K comparable] struct {
	Key      K
	Priority int
	// Waited is how long the key has been queued. Zero without Timing.
	Waited time.Duration
	// Failures is the result of Retries for the key.
	Failures int
}

// DelayedKey is a key that waits for its time.
type DelayedKey[K comparable] struct {
	Key      K
	Priority int
	// In is how long the key still has to wait. It is zero or less if the key is due.
	In time.Duration
	// Debounced says that the key is held by Debounce and not delayed.
	Debounced bool
	// Failures is the result of Retries for the key.
	Failures int
}

// RunningKey is a key that was handed out.
type RunningKey[K comparable] struct {
	Key      K
	Priority int
	// For is how long the key has been running. Zero without Timing.
	For time.Duration
	// Again says that the key was added while it runs, and will come back.
	Again bool
	// Failures is the result of Retries for the key.
	Failures int
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
		Queued:  make([]QueuedKey[K], 0, q.ready.n),
		Running: make([]RunningKey[K], 0, q.running),
		Delayed: make([]DelayedKey[K], 0, len(q.pending[delayed].slots)+len(q.pending[held].slots)),
	}
	for l := range q.ready.all {
		for e := range l.all {
			s.Queued = append(s.Queued, QueuedKey[K]{e.key, int(e.prio), since(e.since), int(e.failures)})
		}
	}
	for i := range q.pending {
		for _, t := range q.pending[i].slots {
			s.Delayed = append(s.Delayed, DelayedKey[K]{
				t.e.key, int(t.e.later[i]), time.Duration(t.at - now), i == held, int(t.e.failures),
			})
		}
	}
	for e := range q.store.table.all {
		if e.state&running != 0 {
			s.Running = append(s.Running, RunningKey[K]{
				e.key, int(e.prio), since(e.start), e.state&dirty != 0, int(e.failures),
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
