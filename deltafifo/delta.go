package deltafifo

import "strconv"

// DeltaType says what happened to an object.
type DeltaType uint8

// The types of deltas.
const (
	// Added and Updated are events of a watch.
	Added DeltaType = iota + 1
	Updated
	// Deleted is a deletion that a watch reported or that Replace found.
	Deleted
	// Replaced says that the object was in a list. Only the store can tell whether it is new or
	// changed.
	Replaced
	// Sync repeats the store's object for a Resync: nothing happened to the object.
	Sync
)

// String returns the name of the constant.
func (t DeltaType) String() string {
	switch t {
	case Added:
		return "Added"
	case Updated:
		return "Updated"
	case Deleted:
		return "Deleted"
	case Replaced:
		return "Replaced"
	case Sync:
		return "Sync"
	}
	return "DeltaType(" + strconv.Itoa(int(t)) + ")"
}

// Delta is one change to the object of a key.
type Delta[T any] struct {
	Type DeltaType

	// Initial marks a Replaced delta of the first Replace: its object is in the initial
	// list. The mark stays if the key is given back.
	Initial bool

	// FinalStateUnknown marks a Deleted delta whose deletion was not seen: Object is the
	// last state seen, and the object may have changed after it.
	FinalStateUnknown bool

	// Object is the new state, or the last one of a Deleted delta.
	Object T

	// Packed is what Object is packed into, if it is: see store.Op.
	Packed string

	// Sum is the reflector.Event.Sum that came with Object; zero if there was none.
	Sum uint64

	// ResourceVersion is the version given with the delta: that of the object or of its
	// deletion. It is empty if none was given, and for deletions and Sync deltas that Replace
	// and Resync add.
	ResourceVersion string
}
