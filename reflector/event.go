package reflector

import "strconv"

// EventType says what happened to the object of an [Event].
type EventType uint8

// The event types of the Kubernetes watch protocol
// (https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes).
const (
	// Added says that the object is new to the selection.
	Added EventType = iota + 1
	// Modified says that the object changed.
	Modified
	// Deleted says that the object left the selection; Object is its last state.
	Deleted
	// Bookmark carries only a resourceVersion: everything up to it has been sent.
	Bookmark
)

// String returns the name that the watch protocol uses on the wire.
func (t EventType) String() string {
	switch t {
	case Added:
		return "ADDED"
	case Modified:
		return "MODIFIED"
	case Deleted:
		return "DELETED"
	case Bookmark:
		return "BOOKMARK"
	}
	return "EventType(" + strconv.Itoa(int(t)) + ")"
}

// Event is one change of a collection. Its resourceVersion stands beside the object, so
// that T may be anything: a projection need not keep Kubernetes metadata.
type Event[T any] struct {
	// Type is never zero in an event that comes without an error.
	Type EventType

	// InitialEventsEnd marks the Bookmark that ends the initial events of a streaming
	// list (annotation k8s.io/initial-events-end, KEP-3157). False for every other event.
	InitialEventsEnd bool

	// Omitted marks a Bookmark in place of an event that the source left out, as [Filter] and
	// [Shard] do. Unlike after other bookmarks, more events of its version may follow. False
	// for every other event.
	Omitted bool

	// Recalled marks an Added event whose object the sink has in this state already, so the source
	// has not decoded it: Object is the zero T. Only sources of this
	// module yield such events. The reflector puts the sink's object into the event and clears Recalled,
	// so a sink never sees one.
	Recalled bool

	// Idle says that the source has no further event at hand, so a sink need not wait for more
	// before it acts. It is a hint: a wrong one costs time, not correctness. Set it in the last
	// event at hand if the source reads ahead, as from a buffered channel, and in each event if the
	// source cannot know.
	//
	// Without it an informer assumes that more is at hand. If a source has never set Idle, the
	// informer goes by its handlers: while one of them waits for an event, the informer does not
	// wait for more events. So a source that never sets it is about as fast as one that does.
	Idle bool

	// ResourceVersion is the object's own, or the bookmark's. It is opaque to all but
	// k8s.io/apimachinery/pkg/util/resourceversion.
	ResourceVersion string

	// Sum is a hash of the bytes that Object was made from, so that a list shows whether an object
	// has other contents at the version that it had before. Two events of one source
	// that have the same Sum, which is not zero, are made from equal bytes. Zero means that the
	// source does not know. The source of a Deleted event need not know.
	Sum uint64

	// Object is the zero T in a Bookmark.
	Object T
}
