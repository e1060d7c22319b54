package reflector

import "time"

// newestBlock is the number of events whose versions are compared together. A first loop only reads
// their texts. It is so short that the processor reads many of them from memory at a time. When they
// were read one by one, that took a fifth of the processor time of a list whose objects were not in
// the processor's cache.
const newestBlock = 32

// newestListed is the newest version of a list in progress, and the object that has it. A value
// with began alone is for a list without objects.
type newestListed[T any] struct {
	began time.Time // when the list began

	// As of the last settle.
	version string         // "" for none
	object  knownObject[T] // the zero value if the list no longer has it
	fell    bool           // a version was not newer than those before it; receivedListed clears it

	block   []Event[T] // the events since then
	touched byte       // keeps reads ahead from being optimized away
}

// addListed adds an event of the list.
func addListed[T any](n *newestListed[T], ev Event[T]) {
	if n.block == nil {
		n.block = make([]Event[T], 0, newestBlock)
	}
	if n.block = append(n.block, ev); len(n.block) == newestBlock {
		settle(n)
	}
}

// settle brings version and object up to date.
func settle[T any](n *newestListed[T]) {
	for i := range n.block {
		if rv := n.block[i].ResourceVersion; rv != "" {
			n.touched ^= rv[0]
		}
	}
	for i := range n.block {
		compare(n, &n.block[i])
	}
	clear(n.block)
	n.block = n.block[:0]
}

func compare[T any](n *newestListed[T], ev *Event[T]) {
	if ev.Type == Deleted && knownFrom(*ev).key == n.object.key {
		n.object = knownObject[T]{}
	}
	rises := older(n.version, ev.ResourceVersion)
	n.fell = n.fell || !rises
	if !rises && newest(n.version, ev.ResourceVersion) != ev.ResourceVersion {
		return
	}
	if n.version = ev.ResourceVersion; ev.Type != Deleted {
		n.object = knownFrom(*ev)
	}
}
