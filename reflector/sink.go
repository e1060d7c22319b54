package reflector

import "context"

// Sink is what a Reflector writes to. All calls come from the goroutine of
// [Reflector.Run], one at a time. A sink may block for back-pressure; it must return
// soon after ctx is done. An error that a sink returns ends Run.
type Sink[T any] interface {
	// Listed hands over one object of a list in progress. Nothing of the list may become
	// visible before Replace. Added and Modified put the object, Deleted takes it away
	// (a streaming list can interleave live changes); the last one for a key wins.
	Listed(ctx context.Context, ev Event[T]) error

	// Skipped says that the list in progress has an object that could not be used. What
	// the sink holds under bad.Key must outlive the list: a missing object would look
	// deleted. Where the key is empty any object may be the one, unless bad is
	// ErrNoName: nothing without a name is held.
	Skipped(bad *ObjectError)

	// Replace ends a list: what was Listed since the last Replace or Discard is the
	// whole collection at resourceVersion, Skipped objects aside. The version may be older
	// than one before: a server that was restored from a backup has gone back in time.
	Replace(ctx context.Context, resourceVersion string) error

	// Discard forgets what was Listed and Skipped: the list failed and another will start.
	Discard()

	// Apply hands over one watch event, a Bookmark included, in server order.
	Apply(ctx context.Context, ev Event[T]) error
}

// Rewinder is what a [Sink] can implement beside: it learns that the server was restored from
// a backup. Without it a sink that compares versions may keep an object of the lost history
// for one that has its version now.
type Rewinder interface {
	// Rewound says, right before Replace, that the versions of the list do not compare with
	// those of what the sink holds.
	Rewound()
}
