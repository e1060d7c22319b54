package queue

// Untyped is a [*Queue] with keys of any type, for programs that look at all queues alike.
type Untyped interface {
	Name() string
	Metrics() Metrics
	ShuttingDown() bool
	// SnapshotAny is [Queue.Snapshot] with keys of any type.
	SnapshotAny() Snapshot[any]
}

// Untyped returns q.
func (q *Queue[K]) Untyped() Untyped { return q }

// SnapshotAny is [Queue.Snapshot] with keys of any type. It costs an allocation more for each key.
func (q *Queue[K]) SnapshotAny() Snapshot[any] {
	s := q.Snapshot()
	all := Snapshot[any]{
		Queued:  make([]QueuedKey[any], 0, len(s.Queued)),
		Delayed: make([]DelayedKey[any], 0, len(s.Delayed)),
		Running: make([]RunningKey[any], 0, len(s.Running)),
	}
	for _, k := range s.Queued {
		all.Queued = append(all.Queued, QueuedKey[any]{k.Key, k.Priority, k.Waited, k.Failures})
	}
	for _, k := range s.Delayed {
		all.Delayed = append(all.Delayed, DelayedKey[any]{k.Key, k.Priority, k.In, k.Debounced, k.Failures})
	}
	for _, k := range s.Running {
		all.Running = append(all.Running, RunningKey[any]{k.Key, k.Priority, k.For, k.Again, k.Failures})
	}
	return all
}
