package controller

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// ownKept is the number of writes that ownWrites keeps.
const ownKept = 4096

// someVersion is the base of a write that replaced whatever there was.
const someVersion = "?"

// ownWrites are the latest writes through a handle. The zero value has none.
type ownWrites struct {
	mu    sync.Mutex
	made  map[types.NamespacedName][]ownWrite // those that are not forgotten, the oldest first
	order []madeState                         // by all writes: a ring, from the oldest at next on
	next  int
}

// madeState names the state of an object that a write made.
type madeState struct {
	key types.NamespacedName
	rv  string
}

// ownWrite is how a write made a state of an object.
type ownWrite struct {
	base string // the version that it replaced, empty for a creation, or someVersion
	rv   string
	by   any // an origin; nil if the write was not made by a reconcile
}

// add notes that a write of by made rv of base, with nothing between them.
func (o *ownWrites) add(key types.NamespacedName, base, rv string, by any) {
	if base == rv || rv == "" {
		return // nothing changed
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if base == someVersion && o.has(key, rv) {
		return // a write that is known better
	}
	if o.made == nil {
		o.made = map[types.NamespacedName][]ownWrite{}
	}
	is := madeState{key, rv}
	if len(o.order) < ownKept {
		o.order = append(o.order, is)
	} else {
		o.drop(o.order[o.next])
		o.order[o.next] = is
		o.next = (o.next + 1) % ownKept
	}
	o.made[key] = append(o.made[key], ownWrite{base, rv, by})
}

// drop forgets the write that made a state, unless it is forgotten: then it is not the oldest of its object. Called with
// mu held.
func (o *ownWrites) drop(is madeState) {
	switch all := o.made[is.key]; {
	case len(all) == 0 || all[0].rv != is.rv:
	case len(all) == 1:
		delete(o.made, is.key)
	default:
		o.made[is.key] = all[1:]
	}
}

// forget forgets the writes of an object whose versions begin anew: the same version may be somebody else's next time.
func (o *ownWrites) forget(key types.NamespacedName) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.made, key)
}

// author returns the origin of the writes that alone made the state now of the state old, which is empty if
// there was no object. It returns nil if the writes have several origins, or none: an event that merged somebody else's
// change with an own one has no such chain. last is the origin of the last of the writes, even then.
func (o *ownWrites) author(key types.NamespacedName, old, now string) (by, last any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, w := range slices.Backward(o.made[key]) {
		if w.rv != now {
			continue
		}
		if last == nil {
			last = w.by
		}
		if w.by == nil || w.by != last {
			return nil, last
		}
		if w.base == old {
			return last, last
		}
		now = w.base
	}
	return nil, last
}

// wrote reports whether a write made the state now, even if others changed the object before that.
func (o *ownWrites) wrote(key types.NamespacedName, now string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.has(key, now)
}

// has is wrote with mu held.
func (o *ownWrites) has(key types.NamespacedName, rv string) bool {
	return slices.ContainsFunc(o.made[key], func(w ownWrite) bool { return w.rv == rv })
}

// mayBeOlder reports whether version a is older than b, and is true if they do not compare.
func mayBeOlder(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err != nil || order < 0
}
