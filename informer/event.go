package informer

import "strconv"

// EventType says what happened to an object, as seen from the store.
type EventType uint8

// The types of events that handlers get.
const (
	// Added says that the store did not have the object before.
	Added EventType = iota + 1
	// Updated says that the store had an older state of the object, or an older object of the
	// same key: see Event.Replaced.
	Updated
	// Deleted says that the store no longer has the object.
	Deleted
)

// The types of entries that handlers do not get. The initial list stands in the event log
// as its events with a syncedMark behind them, or, as a rule, as one initialMark: then the
// store is what was listed, and each handler walks a snapshot of it.
const (
	syncedMark  EventType = 0
	initialMark EventType = 255
)

// String returns the name of the constant.
func (t EventType) String() string {
	switch t {
	case Added:
		return "Added"
	case Updated:
		return "Updated"
	case Deleted:
		return "Deleted"
	}
	return "EventType(" + strconv.Itoa(int(t)) + ")"
}

// Event is one change of the store. Its objects are shared: do not write to them.
type Event[K comparable, T any] struct {
	Type EventType

	// Initial marks an Added event for an object that was there when the handler
	// began: of the informer's first list, or of the store that a late handler found.
	Initial bool

	// FinalStateUnknown marks a Deleted event whose deletion the watch missed. Object
	// may have changed between Object's state and the deletion. (A tombstone,
	// DeletedFinalStateUnknown in client-go.)
	FinalStateUnknown bool

	// Replaced marks an Updated event whose Object is not the one that Old was, as their UIDs
	// say: Old was deleted and Object made under its key, and the watch missed that, or the
	// handler coalesces. A handler that keeps something for an object, such as a finalizer's
	// work or a count by UID, treats it as the deletion of Old, whose final state is unknown,
	// and the addition of Object. Objects without a UID, such as projections without metadata,
	// are never flagged.
	Replaced bool

	// Sync marks an Updated event without a change: Old and Object are the same, and the
	// handler has seen it. Only handlers that asked for it get such events: by
	// HandlerOptions.Resync or HandlerOptions.Unchanged.
	Sync bool

	// Key is the object's key, the same that the store has it under.
	Key K

	// Object is the new state; in a Deleted event, the last one known.
	Object T

	// Old is the state that the handler saw last, in an Updated or a Deleted event. In an Added
	// event it is zero. In a Deleted event it can differ from Object: the deletion may come with
	// a newer state, such as one that a reflector.Filter refused.
	Old T
}
