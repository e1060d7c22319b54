package fake

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/fake/internal/fieldmanager"
	"github.com/kinform/kinform/fake/internal/wire"
)

// table holds the objects of one resource and the history of its writes. Server.mu guards the
// fields after fieldManager.
type table[T metav1.Object] struct {
	server   *Server
	res      Resource     // set once
	typ      reflect.Type // of what T points to; set once
	protobuf bool         // T has a protobuf form; set once
	// spec and status are the field indices of Spec and Status in typ; nil where it has
	// none; set once.
	spec, status []int

	// fieldManager keeps managedFields. It is made when first needed; set once.
	fieldManager func() (*fieldmanager.Manager, error)

	objects map[types.NamespacedName]*slot[T]
	// sorted and recent hold all slots, live or not: sorted in list order, recent as
	// they came. settle merges them before a list.
	sorted []*slot[T]
	recent []*slot[T]
	dead   int // deleted slots in sorted and recent

	fields map[string]func(T) string // selectable ones; replaced, never changed

	log log[T]
	// wake is closed by the next append to log; nil while nobody waits.
	wake chan struct{}
}

// slot is the place of one object in list order. A slot whose cur is nil is dead: a later
// object of the same name gets its own.
type slot[T metav1.Object] struct {
	key types.NamespacedName
	cur *version[T]
}

func newTable[T metav1.Object](s *Server, r Resource) (*table[T], error) {
	t := &table[T]{
		server:  s,
		res:     r,
		typ:     reflect.TypeFor[T]().Elem(),
		objects: map[types.NamespacedName]*slot[T]{},
	}
	t.protobuf = wire.HasProtobuf(t.newObject)
	t.fieldManager = sync.OnceValues(func() (*fieldmanager.Manager, error) {
		if t.untyped() {
			return fieldmanager.New(r.GroupVersionKind(), nil, r.Status)
		}
		return fieldmanager.New(r.GroupVersionKind(), t.typ, r.Status)
	})
	return t, t.findHalves()
}

func (t *table[T]) info() *Resource { return &t.res }

func (t *table[T]) newObject() T { return reflect.New(t.typ).Interface().(T) }

// get returns the newest version of an object, nil when there is none.
func (t *table[T]) get(key types.NamespacedName) *version[T] {
	t.server.mu.Lock()
	defer t.server.mu.Unlock()
	return t.live(key)
}

func (t *table[T]) live(key types.NamespacedName) *version[T] {
	if s := t.objects[key]; s != nil {
		return s.cur
	}
	return nil
}

// put makes next the state of its key (nil: the object is gone), records the write at rv
// and wakes the watches. Called under Server.mu.
func (t *table[T]) put(rv uint64, old, next *version[T]) {
	switch {
	case old == nil:
		s := &slot[T]{key: next.key, cur: next}
		t.objects[next.key] = s
		t.recent = append(t.recent, s)
	case next == nil:
		t.objects[old.key].cur = nil
		delete(t.objects, old.key)
		t.dead++
	default:
		t.objects[old.key].cur = next
	}
	r := &record[T]{rv: rv, old: old, cur: next}
	t.log.append(r, t.server.compacted)
	t.wakeAll()
	if u := t.server.upkeep; u != nil {
		u.note(ref{t, r.key()}, objectOf(old), objectOf(next))
	}
}

// objectOf returns a version's object; nil for no version.
func objectOf[T metav1.Object](v *version[T]) metav1.Object {
	if v == nil {
		return nil
	}
	return v.obj
}

func (t *table[T]) wakeAll() {
	if t.wake != nil {
		close(t.wake)
		t.wake = nil
	}
}

func (t *table[T]) compact() { t.log.trim(t.server.compacted) }

func (t *table[T]) bookmark() {
	t.log.append(&record[T]{rv: t.server.rv}, t.server.compacted)
	t.wakeAll()
}

// settle brings all slots into sorted. It costs nothing when no object came since the
// last time, and one merge otherwise.
func (t *table[T]) settle() {
	if len(t.recent) == 0 && t.dead <= len(t.sorted)/2 {
		return
	}
	slices.SortFunc(t.recent, func(a, b *slot[T]) int { return compareKeys(a.key, b.key) })
	merged := make([]*slot[T], 0, len(t.objects))
	a, b := t.sorted, t.recent
	for len(a) > 0 || len(b) > 0 {
		var next *slot[T]
		if len(b) == 0 || len(a) > 0 && compareKeys(a[0].key, b[0].key) <= 0 {
			next, a = a[0], a[1:]
		} else {
			next, b = b[0], b[1:]
		}
		if next.cur != nil {
			merged = append(merged, next)
		}
	}
	t.sorted, t.recent, t.dead = merged, nil, 0
}

// compareKeys orders keys as the API server lists them: by the bytes of
// "namespace/name".
func compareKeys(a, b types.NamespacedName) int {
	if a.Namespace == b.Namespace {
		return strings.Compare(a.Name, b.Name)
	}
	n := min(len(a.Namespace), len(b.Namespace))
	if c := strings.Compare(a.Namespace[:n], b.Namespace[:n]); c != 0 {
		return c
	}
	// One namespace is the start of the other: its slash meets a letter.
	return cmp.Compare(byteAt(a.Namespace, n), byteAt(b.Namespace, n))
}

func byteAt(s string, i int) byte {
	if i < len(s) {
		return s[i]
	}
	return '/'
}

// gather appends the current versions in list order, from the first key not before from
// to the last one in its namespace (in all when namespace is empty).
func (t *table[T]) gather(namespace string, from types.NamespacedName) []*version[T] {
	t.settle()
	i, _ := slices.BinarySearchFunc(t.sorted, from, func(s *slot[T], k types.NamespacedName) int { return compareKeys(s.key, k) })
	var out []*version[T]
	if namespace == "" {
		out = make([]*version[T], 0, len(t.sorted)-i)
	}
	for _, s := range t.sorted[i:] {
		if namespace != "" && s.key.Namespace != namespace {
			break
		}
		if s.cur != nil {
			out = append(out, s.cur)
		}
	}
	return out
}

// gatherAt is gather as of the past: it takes back, in the current state, every write
// after rv. The caller has checked that these are still in the log.
func (t *table[T]) gatherAt(rv uint64, namespace string, from types.NamespacedName) []*version[T] {
	now := t.gather(namespace, from)
	later := t.log.after(rv)
	if len(later) == 0 {
		return now
	}
	past := map[types.NamespacedName]*version[T]{} // state at rv of what was written since
	for _, r := range later {
		if r.bookmark() {
			continue
		}
		if _, seen := past[r.key()]; !seen {
			past[r.key()] = r.old
		}
	}
	out := now[:0]
	for _, v := range now {
		if _, changed := past[v.key]; !changed {
			out = append(out, v)
		}
	}
	for key, v := range past {
		if v != nil && (namespace == "" || key.Namespace == namespace) && compareKeys(key, from) >= 0 {
			out = append(out, v)
		}
	}
	slices.SortFunc(out, func(a, b *version[T]) int { return compareKeys(a.key, b.key) })
	return out
}

// findHalves notes where in T's struct the spec and the status are. It fails where a
// status subresource is asked for and T has no status.
func (t *table[T]) findHalves() error {
	t.spec = exportedField(t.typ, "Spec")
	t.status = exportedField(t.typ, "Status")
	if t.res.Status && t.status == nil && !t.untyped() {
		return fmt.Errorf("fake: %v: %w: a status subresource, but no field Status", t.typ, ErrResource)
	}
	return nil
}

// exportedField returns the index of a field of a struct's own, nil where it has none.
func exportedField(typ reflect.Type, name string) []int {
	if f, ok := typ.FieldByName(name); ok && f.IsExported() && len(f.Index) == 1 {
		return f.Index
	}
	return nil
}

// untyped reports whether T is Unstructured, whose members are those of a map.
func (t *table[T]) untyped() bool { return t.typ == reflect.TypeFor[unstructured.Unstructured]() }
