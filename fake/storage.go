package fake

import (
	"fmt"
	"maps"
	"reflect"
	"sync"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/fake/internal/fieldmanager"
	"github.com/kinform/kinform/fake/internal/upkeep"
	"github.com/kinform/kinform/fake/internal/wire"
)

// table serves one definition of a resource. Another [Define] makes another table, on the same
// state.
type table[T metav1.Object] struct {
	server     *Server
	res        resource     // set once
	hooks      Hooks[T]     // set once
	strategy   *Strategy    // nil for none
	deprecated string       // the warning to each request, empty for none
	typ        reflect.Type // the struct of T; set once
	protobuf   bool         // T has a protobuf form; set once
	// spec, status and meta are the field indices of Spec, Status and ObjectMeta in typ, nil if
	// it has none; set once.
	spec, status, meta []int

	// fieldManager keeps managedFields. It is made when first needed; set once.
	fieldManager func() (*fieldmanager.Manager, error)

	fields map[string]func(T) string // selectable ones; replaced under Server.mu, never changed

	// versions are the further versions of the resource, of which each has this table as its
	// storage; set by Define.
	versions []*table[T]
	storage  *table[T]

	*state[T]
}

// state holds the objects of one resource and the history of its writes. Server.mu guards it.
type state[T metav1.Object] struct {
	upkeep *upkeep.Collection // set by Define; nil if the options ask for none

	objects map[types.NamespacedName]*slot[T]
	// sorted and recent hold all slots, live or not: sorted in list order, recent as
	// they came. settle merges them before a list.
	sorted []*slot[T]
	recent []*slot[T]
	dead   int // deleted slots in sorted and recent

	log log[T]
	// wake is closed by the next append to log; nil while no watch waits.
	wake chan struct{}

	// mixed says that there may be objects of several definitions.
	mixed atomic.Bool
	// current is the table of the newest definition; nil once the resource is unregistered. It
	// changes under Server.mu.
	current atomic.Pointer[table[T]]
}

// slot is the place of one object in list order. A slot whose cur is nil is dead: a later
// object of the same name gets its own.
type slot[T metav1.Object] struct {
	key types.NamespacedName
	cur *version[T]
}

func newTable[T metav1.Object](s *Server, r resource, hooks Hooks[T]) (*table[T], error) {
	t := &table[T]{
		server: s,
		res:    r,
		hooks:  hooks,
		typ:    reflect.TypeFor[T]().Elem(),
		fields: maps.Clone(hooks.Fields),
		state:  &state[T]{objects: map[types.NamespacedName]*slot[T]{}},
	}
	if s.strategy != nil {
		t.strategy = s.strategy(r.GroupVersionResource(), r.GroupVersionKind())
	}
	t.deprecated = deprecation(newObject[T](), r)
	t.protobuf = wire.HasProtobuf(newObject[T])
	t.fieldManager = sync.OnceValues(func() (*fieldmanager.Manager, error) {
		switch {
		case r.TypeConverter != nil:
			return fieldmanager.NewWith(r.GroupVersionKind(), r.TypeConverter, r.Status)
		case t.untyped():
			return fieldmanager.New(r.GroupVersionKind(), nil, r.Status)
		}
		return fieldmanager.New(r.GroupVersionKind(), t.typ, r.Status)
	})
	return t, t.findHalves()
}

func (t *table[T]) info() *resource { return &t.res }

// get returns the newest version of an object, nil if there is none.
func (t *table[T]) get(key types.NamespacedName) (*version[T], error) {
	t.server.mu.Lock()
	err, v := t.checkServed(), t.live(key)
	t.server.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return t.view(v)
}

func (t *table[T]) live(key types.NamespacedName) *version[T] {
	if s := t.objects[key]; s != nil {
		return s.cur
	}
	return nil
}

// put makes next the state of its key (nil: the object is gone), records the write at rv
// and wakes the watches. The caller holds Server.mu.
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
	t.upkeep.Note(r.key(), old.object(), next.object())
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

// findHalves finds the parts of T's struct. It fails if the resource has a status
// subresource and T has no status.
func (t *table[T]) findHalves() error {
	t.spec = exportedField(t.typ, "Spec")
	t.status = exportedField(t.typ, "Status")
	t.meta = exportedField(t.typ, "ObjectMeta")
	if t.res.Status && t.status == nil && !t.untyped() {
		return fmt.Errorf("fake: %v: %w: a status subresource, but no field Status", t.typ, ErrResource)
	}
	return nil
}

// exportedField returns the index of a field of the struct's own, nil if it has none.
func exportedField(typ reflect.Type, name string) []int {
	if f, ok := typ.FieldByName(name); ok && f.IsExported() && len(f.Index) == 1 {
		return f.Index
	}
	return nil
}

// untyped reports whether T is Unstructured, whose members are those of a map.
func (t *table[T]) untyped() bool { return t.typ == reflect.TypeFor[unstructured.Unstructured]() }

// after does what follows a write, without a lock.
func (t *table[T]) after() {
	t.server.upkeep.Run()
	t.changed()
}

func (t *table[T]) changed() {
	if now := t.current.Load(); now != nil && now.hooks.Stored != nil {
		now.hooks.Stored()
	}
}

// liveObject is for callers that hold Server.mu.
func (t *table[T]) liveObject(key types.NamespacedName) metav1.Object { return t.live(key).object() }

// Peek is for package upkeep.
func (l latest[T]) Peek(key types.NamespacedName) metav1.Object {
	t := l.of.current.Load()
	if t == nil {
		return nil
	}
	t.server.mu.Lock()
	defer t.server.mu.Unlock()
	return t.live(key).object()
}
