package informer

import "strconv"

// EventType says what happened to an object, as seen from the store.
type EventType uint8

// The types of events that handlers get.
const (
	// Added says that the store did not have the object before.
	Added EventType = iota + 1
	// Updated says that the store had an older state of the object, or an older object with
	// the same key: see Event.Replaced.
	Updated
	// Deleted says that the store no longer has the object.
	Deleted
)

// These types mark entries of the log that handlers do not get. If the store holds exactly the
// initial list, which is the rule, the log has one initialMark for it, and each handler walks
// a snapshot of the store. Otherwise the log has the list's events, followed by a syncedMark.
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

// Event is one change of the store. Its objects are shared: treat them as read-only.
//
// In an Updated event, Object and Old can have the same resourceVersion and different contents. The
// API server applies defaults and converts when it reads from etcd. So the contents of an object
// change without a write when a CustomResourceDefinition gets a default or another conversion
// webhook, and when the server is upgraded. The next list brings them. Reconcile on such an event
// as on every other. A handler that compares resourceVersions to find resyncs misses it, so look at
// Sync instead.
//
// The store notes a 64-bit hash of each object's bytes, 8 bytes per object. If the hash of a listed
// object differs, the objects are decoded and compared, so a different order of members or white
// space makes no event. If the source has no bytes to hash, the objects are always compared.
// Objects without a version, as metrics-server lists them, are unchanged if their contents are. The
// hash has a random seed, so nobody can choose contents that collide. With a probability of 1 in
// 2^64 (1.8e19), new contents go unseen until the next write of the object.
//
// A write of this process ([Informer.RecordWrite]) comes as soon as it is recorded. When the watch
// brings it later, that is no change of the store and so no event. If the write turns out to be
// lost, or not to be in the selection, the store takes it back: by a deletion, or by an update to
// an older version if list or watch have brought one.
type Event[K comparable, T any] struct {
	Type EventType

	// Initial marks an Added event for an object that was there when the handler began: an
	// object of the informer's first list, or, for a handler added later, of the store.
	Initial bool

	// FinalStateUnknown marks a Deleted event whose deletion the watch missed. The object may
	// have changed between the state in Object and its deletion. (In client-go this is a
	// tombstone, DeletedFinalStateUnknown.)
	FinalStateUnknown bool

	// Replaced marks an Updated event whose Object and Old have different UIDs. Old was
	// deleted and Object created under the same key, and either the watch missed that or the
	// handler coalesces. A handler that keeps something for each object, such as a finalizer's
	// work or a count by UID, must treat the event as two: a deletion of Old, whose final
	// state is unknown, and an addition of Object. Objects without a UID, such as projections
	// without metadata, are never flagged.
	Replaced bool

	// Sync marks an Updated event without a change: Old and Object are the same object, and
	// the handler has seen it before. Only handlers that asked for such events get them: see
	// HandlerOptions.Resync and HandlerOptions.Unchanged.
	Sync bool

	// Own marks an event of a write that this process recorded and that the watch has not brought
	// yet. The event can also have changes of others, made since Old.
	Own bool

	// Key is the object's key in the store.
	Key K

	// Object is the new state. In a Deleted event it is the last known state.
	Object T

	// Old is the state that the handler saw last, in an Updated or Deleted event. In an Added
	// event it is zero. In a Deleted event it can differ from Object: the deletion may carry a
	// newer state, for example one that a reflector.Filter refused.
	Old T
}
