package controller

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// ownKept is the number of writes that ownWrites keeps.
const ownKept = 4096

// ownWrites are the latest writes through a handle. The zero value has none.
type ownWrites struct {
	mu    sync.Mutex
	made  map[ownWrite]making
	order []ownWrite // a ring, from the oldest at next on
	next  int
}

// ownWrite is the state of an object that a write made.
type ownWrite struct {
	key types.NamespacedName
	rv  string
}

// making is how a write made a state.
type making struct {
	base string // the version that it replaced, empty for a creation
	by   any    // an origin; nil if the write was not made by a reconcile
}

// add notes that a write of by made rv of base, with nothing between them.
func (o *ownWrites) add(key types.NamespacedName, base, rv string, by any) {
	if base == rv || rv == "" {
		return // nothing changed
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.made == nil {
		o.made = map[ownWrite]making{}
	}
	w := ownWrite{key, rv}
	if _, known := o.made[w]; known {
		return
	}
	if len(o.order) < ownKept {
		o.order = append(o.order, w)
	} else {
		delete(o.made, o.order[o.next])
		o.order[o.next] = w
		o.next = (o.next + 1) % ownKept
	}
	o.made[w] = making{base, by}
}

// author returns the origin of the writes that alone made the state now of the state old, which is empty if
// there was no object. It returns nil if the writes have several origins, or none: an event that merged somebody else's
// change with an own one has no such chain.
func (o *ownWrites) author(key types.NamespacedName, old, now string) any {
	o.mu.Lock()
	defer o.mu.Unlock()
	by := o.made[ownWrite{key, now}].by
	for range len(o.made) {
		step := o.made[ownWrite{key, now}]
		if step.by == nil || step.by != by {
			return nil
		}
		if step.base == old {
			return by
		}
		now = step.base
	}
	return nil
}
