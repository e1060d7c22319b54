package reflector

import "context"

// Sink is the destination of a Reflector. [Reflector.Run] makes all calls from its goroutine,
// one at a time. A sink may block for back-pressure, and must return soon after ctx is done.
// An error from a sink ends Run.
//
// A sink that compares versions also needs a method
//
//	Rewound(certain bool)
//
// Otherwise, after the server was restored from a backup, it may keep an object of the lost history in place of another
// one that has the same version now. Rewound comes right before the Replace of a list whose versions do not compare with
// the versions of the sink's contents. If the server was certainly restored, certain is true, and the list's version may be
// older than the sink's. If it is false, the server could not show that it was not restored, and most likely it was not:
// an object is unchanged if its contents are equal, too.
type Sink[T any] interface {
	// Listed hands over one object of a list in progress. Nothing of the list may become
	// visible before Replace. Added and Modified put the object. Deleted removes it: a
	// streaming list can contain live changes. The last event for a key wins. The reflector reads
	// the object's version until Replace or Discard, so the sink must not change the object before.
	Listed(ctx context.Context, ev Event[T]) error

	// Skipped reports an object of the list in progress that could not be used. The sink must
	// keep its object under bad.Key beyond the list, because a missing object would look
	// deleted. If the key is empty, it may be any object, unless bad is ErrNoName: a sink
	// holds nothing without a name.
	Skipped(bad *ObjectError)

	// Replace ends a list. The objects Listed since the last Replace or Discard are the whole
	// collection at resourceVersion, except for Skipped objects. The version may be older than
	// an earlier one, if the server was restored from a backup.
	Replace(ctx context.Context, resourceVersion string) error

	// Discard drops everything Listed and Skipped: the list failed, and another one will
	// start.
	Discard()

	// Apply hands over one watch event, Bookmarks included, in the server's order.
	Apply(ctx context.Context, ev Event[T]) error
}

// listSink is the part of a Sink that does not depend on the type of the objects.
type listSink interface {
	Skipped(bad *ObjectError)
	Replace(ctx context.Context, resourceVersion string) error
	Discard()
}
