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

	// Replace ends a list: what was Listed since the last Replace or Discard is the
	// whole collection at resourceVersion.
	Replace(ctx context.Context, resourceVersion string) error

	// Discard forgets what was Listed: the list failed and another will start.
	Discard()

	// Apply hands over one watch event, a Bookmark included, in server order.
	Apply(ctx context.Context, ev Event[T]) error
}
