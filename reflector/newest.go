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
	object  knownObject // the zero value if the list no longer has it; recentlyListed has the object itself
	fell    bool        // a version was not newer than those before it; tookListed clears it
}

// isNewest reports whether rv is the newest version, which it is from now on.
func (n *newestListed) isNewest(rv string) bool {
	rises := isOlder(n.version, rv)
	n.fell = n.fell || !rises
	if !rises && newest(n.version, rv) != rv {
		return false
	}
	n.version = rv
	return true
}

// isGone forgets the object if it is the deleted one, and reports whether it is.
func (n *newestListed) isGone(deleted knownObject) bool {
	if deleted.key != n.object.key {
		return false
	}
	n.object = knownObject{}
	return true
}

// recentlyListed are events of the list in progress that have not been compared yet, and the object that has
// the newest version of those that have been.
type recentlyListed[T any] struct {
	block   []Event[T]
	newest  T
	touched byte // keeps reads ahead from being optimized away
}

// addListed adds an event of the list.
func addListed[T any](l *recentlyListed[T], n *newestListed, ev *Event[T]) {
	if l.block == nil {
		l.block = make([]Event[T], 0, newestBlock)
	}
	if l.block = append(l.block, *ev); len(l.block) == newestBlock {
		settleList(l, n)
	}
}

// settleList brings n up to date.
func settleList[T any](l *recentlyListed[T], n *newestListed) {
	for i := range l.block {
		if rv := l.block[i].ResourceVersion; rv != "" {
			l.touched ^= rv[0]
		}
	}
	for i := range l.block {
		compare(l, n, &l.block[i])
	}
	clear(l.block)
	l.block = l.block[:0]
}

func compare[T any](l *recentlyListed[T], n *newestListed, ev *Event[T]) {
	isNewest := n.isNewest(ev.ResourceVersion)
	switch {
	case ev.Type == Deleted:
		if n.isGone(knownFrom(ev.ResourceVersion, ev.Object)) {
			l.newest = *new(T)
		}
	case isNewest:
		n.object = knownFrom(ev.ResourceVersion, ev.Object)
		l.newest = ev.Object
	}
}
