package queue

import (
	"cmp"
	"slices"
	"time"
)

// Snapshot is the content of a queue at one moment.
type Snapshot[K comparable] struct {
	// Queued is what is ready, in the order in which it would be handed out if nothing came in between and there were no
	// ageing and no classes: by priority, then by time (by class and time with Options.Class).
	Queued []QueuedKey[K]
	// Delayed is what AddAfter and AddRateLimited hold back, and what Debounce does; first the earliest. A key can be
	// in here twice, and also be queued or running.
	Delayed []DelayedKey[K]
	// Running is what is handed out and not done; the longest running first, with Timing.
	Running []RunningKey[K]
}

// QueuedKey is a key that is ready to be handed out.
type QueuedKey[K comparable] struct {
	Key      K
	Priority int
	// Waited is how long the key has been queued. Zero without Timing.
	Waited time.Duration
	// Failures is what Retries would give.
	Failures int
}

// DelayedKey is a key that waits for its time.
type DelayedKey[K comparable] struct {
	Key      K
	Priority int
	// In is how long the key has to wait still. Not positive when it is about to be moved.
	In time.Duration
	// Debounced says that it is held by Debounce, not by a delay.
	Debounced bool
	// Failures is what Retries would give.
	Failures int
}

// RunningKey is a key that was handed out.
type RunningKey[K comparable] struct {
	Key      K
	Priority int
	// For is how long the key has been running. Zero without Timing.
	For time.Duration
	// Again says that the key was added meanwhile and will come back.
	Again bool
	// Failures is what Retries would give.
	Failures int
}

// Snapshot copies out what the queue holds, for a debug page or a log. The queue is locked for O(keys known), and
// sorting comes after: not for a hot path.
func (q *Queue[K]) Snapshot() Snapshot[K] {
	s := q.copyOut()
	slices.SortStableFunc(s.Delayed, func(a, b DelayedKey[K]) int { return cmp.Compare(a.In, b.In) })
	slices.SortStableFunc(s.Running, func(a, b RunningKey[K]) int { return cmp.Compare(b.For, a.For) })
	return s
}

// copyOut is Snapshot unsorted.
func (q *Queue[K]) copyOut() Snapshot[K] {
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
