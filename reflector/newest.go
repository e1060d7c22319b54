package reflector

import "time"

// newestBlock is the number of events whose versions are compared together. A first loop only reads
// their texts. It is so short that the processor reads many of them from memory at a time. When they
// were read one by one, that took a fifth of the processor time of a list whose objects were not in
// the processor's cache.
const newestBlock = 32

// newestListed is the newest version of a list in progress, and the object that has it. A value
// with began alone is for a list without objects.
type newestListed struct {
	began time.Time // when the list began

	// As of the last settle.
	version string      // "" for none
	object  knownObject // the zero value if the list no longer has it; transfer keeps the object itself
	fell    bool        // a version was not newer than those before it; tookListed clears it
}

// isNewest reports whether rv is the newest version, which it is from now on.
func (n *newestListed) isNewest(rv string) bool {
	rises := older(n.version, rv)
	n.fell = n.fell || !rises
	if !rises && newest(n.version, rv) != rv {
		return false
	}
	n.version = rv
	return true
}

// addListed adds an event of the list.
func addListed[T any](t *transfer[T], ev Event[T]) {
	if t.block == nil {
		t.block = make([]Event[T], 0, newestBlock)
	}
	if t.block = append(t.block, ev); len(t.block) == newestBlock {
		settle(t)
	}
}

// settle brings version and object up to date.
func settle[T any](t *transfer[T]) {
	for i := range t.block {
		if rv := t.block[i].ResourceVersion; rv != "" {
			t.touched ^= rv[0]
		}
	}
	for i := range t.block {
		compare(t, t.protocol.listed, &t.block[i])
	}
	clear(t.block)
	t.block = t.block[:0]
}

func compare[T any](t *transfer[T], n *newestListed, ev *Event[T]) {
	if ev.Type == Deleted && knownFrom(ev.ResourceVersion, ev.Object).key == n.object.key {
		n.object, t.newest = knownObject{}, *new(T)
	}
	if n.isNewest(ev.ResourceVersion) && ev.Type != Deleted {
		n.object, t.newest = knownFrom(ev.ResourceVersion, ev.Object).keptIn(listedSlot), ev.Object
	}
}
