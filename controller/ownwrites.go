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
	bases map[ownWrite]string // the version that each write replaced
	order []ownWrite          // a ring, from the oldest at next on
	next  int
}

// ownWrite is the state of an object that a write made.
type ownWrite struct {
	key types.NamespacedName
	rv  string
}

// add notes that a write made rv of base, with nothing between them. base is empty for a creation.
func (o *ownWrites) add(key types.NamespacedName, base, rv string) {
	if base == rv || rv == "" {
		return // nothing changed
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.bases == nil {
		o.bases = map[ownWrite]string{}
	}
	w := ownWrite{key, rv}
	if _, known := o.bases[w]; known {
		return
	}
	if len(o.order) < ownKept {
		o.order = append(o.order, w)
	} else {
		delete(o.bases, o.order[o.next])
		o.order[o.next] = w
		o.next = (o.next + 1) % ownKept
	}
	o.bases[w] = base
}

// leads reports whether own writes alone made the state now of the state old, which is empty if
// there was no object: an event that merged somebody else's change with an own one has no such chain.
func (o *ownWrites) leads(key types.NamespacedName, old, now string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for range len(o.bases) {
		base, own := o.bases[ownWrite{key, now}]
		if !own {
			return false
		}
		if base == old {
			return true
		}
		now = base
	}
	return false
}
