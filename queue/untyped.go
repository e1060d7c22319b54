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
	return Snapshot[any]{Queued: untyped(s.Queued), Delayed: untyped(s.Delayed), Running: untyped(s.Running)}
}

func untyped[K comparable](keys []KeyStatus[K]) []KeyStatus[any] {
	all := make([]KeyStatus[any], 0, len(keys))
	for _, k := range keys {
		all = append(all, KeyStatus[any]{k.Key, k.Priority, k.Failures, k.Waited, k.For, k.In, k.Debounced, k.Again})
	}
	return all
}
