package fake

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// pointer returns the type of the objects.
func (t *table) pointer() reflect.Type { return reflect.PointerTo(t.typ) }

// untyped reports whether objects are Unstructured, whose members are a map's.
func (t *table) untyped() bool { return t.typ == reflect.TypeFor[unstructured.Unstructured]() }

func (t *table) live(key types.NamespacedName) *revision {
	if s := t.objects[key]; s != nil {
		return s.cur
	}
	return nil
}

// liveObject returns the newest state of an object for reading, nil if there is none. The caller
// holds Server.mu.
func (t *table) liveObject(key types.NamespacedName) metav1.Object { return t.live(key).object() }

// put makes next the state of its key (nil: the object is gone), records the write at rv
// and wakes the watches. The caller holds Server.mu.
func (t *table) put(rv uint64, old, next *revision) {
	switch {
	case old == nil:
		s := &slot{key: next.key, cur: next}
		t.objects[next.key] = s
		t.recent = append(t.recent, s)
	case next == nil:
		t.objects[old.key].cur = nil
		delete(t.objects, old.key)
		t.dead++
	default:
		t.objects[old.key].cur = next
	}
	r := &record{rv: rv, old: old, cur: next}
	t.forgetIdle(r.key())
	t.log.append(r, t.server.compacted)
	t.wake.Send()
	t.upkeep.Note(r.key(), old.object(), next.object())
}

// compact forgets records up to Server.compacted. The caller holds Server.mu.
func (t *table) compact() { t.log.trim(t.server.compacted) }

// bookmark appends a bookmark. The caller holds Server.mu.
func (t *table) bookmark() {
	t.log.append(&record{rv: t.server.rv}, t.server.compacted)
	t.wake.Send()
}

// after does what follows a write, without a lock.
func (t *table) after() {
	t.server.upkeep.Run()
	t.changed()
}

// changed calls the hook Stored, without a lock.
func (t *table) changed() {
	if now := t.current.Load(); now != nil && now.hooks.stored != nil {
		now.hooks.stored()
	}
}
