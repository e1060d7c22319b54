package fake

import (
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"sync"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/fake/internal/fieldmanager"
	"github.com/kinform/kinform/fake/internal/refusal"
	"github.com/kinform/kinform/fake/internal/upkeep"
	"github.com/kinform/kinform/fake/internal/wire"
	"github.com/kinform/kinform/internal/broadcast"
)

// table serves one definition of a resource, of objects of any type. Another [Define] makes another
// table, on the same state.
type table struct {
	server     *Server
	serial     uint64       // of the definition; set once
	res        resource     // set once
	hooks      hooks        // set once
	strategy   *Strategy    // nil for none
	deprecated string       // the warning to each request, empty for none
	typ        reflect.Type // the struct that objects point to; set once
	protobuf   bool         // objects have a protobuf form; set once
	// spec, status and meta are the field indices of Spec, Status and ObjectMeta in typ, nil if
	// it has none; set once.
	spec, status, meta []int

	// fieldManager keeps managedFields. It is made when first needed; set once.
	fieldManager func() (*fieldmanager.Manager, error)

	fields map[string]func(metav1.Object) string // selectable ones; replaced under Server.mu, never changed

	// versions are the further versions of the resource, of which each has this table as its
	// storage; set by Define.
	versions []*table
	storage  *table

	*state
}

// state holds the objects of one resource and the history of its writes. Server.mu guards it.
type state struct {
	upkeep *upkeep.Collection // set by Define; nil if the options ask for none

	objects map[types.NamespacedName]*slot
	// sorted and recent hold all slots, live or not: sorted in list order, recent as
	// they came. settle merges them before a list.
	sorted []*slot
	recent []*slot
	dead   int // deleted slots in sorted and recent

	log      log
	wake     broadcast.Signal // that something was appended to log
	progress progress

	// mixed says that there may be objects of several definitions.
	mixed atomic.Bool
	// current is the table of the newest definition; nil once the resource is unregistered. It
	// changes under Server.mu.
	current atomic.Pointer[table]
	// redefined is the resourceVersion at which the newest definition began, if it had objects to
	// follow. Nobody resumes a watch from before. Guarded by Server.mu, at most Server.rv.
	redefined uint64
}

// slot is the place of one object in list order. A slot whose cur is nil is dead: a later
// object of the same name gets its own.
type slot struct {
	key types.NamespacedName
	cur *version
}

// newTable makes the table of objects that are pointers to a struct of type typ.
func newTable(s *Server, r resource, typ reflect.Type, hooks hooks) (*table, error) {
	t := &table{
		server: s,
		serial: s.serials.Add(1),
		res:    r,
		hooks:  hooks,
		typ:    typ,
		fields: maps.Clone(hooks.fields),
		state:  &state{objects: map[types.NamespacedName]*slot{}},
	}
	if s.strategy != nil {
		t.strategy = s.strategy(r.GroupVersionResource(), r.GroupVersionKind())
	}
	t.deprecated = deprecation(newObject(typ), r)
	t.protobuf = wire.HasProtobuf(func() metav1.Object { return newObject(typ) })
	t.fieldManager = sync.OnceValues(t.newFieldManager)
	return t, t.findHalves()
}

// pointer returns the type of the objects.
func (t *table) pointer() reflect.Type { return reflect.PointerTo(t.typ) }

// get returns the newest version of an object, nil if there is none.
func (t *table) get(key types.NamespacedName) (*version, error) {
	t.server.mu.Lock()
	err, v := t.checkServed(), t.live(key)
	t.server.mu.Unlock()
	if err != nil {
		return nil, err
	}
	out, err := t.decoded(v)
	if err != nil {
		return nil, undecodable{refusal.New(http.StatusInternalServerError, metav1.StatusReasonUnknown, notDecodable(v, err))}
	}
	return out, nil
}

func (t *table) live(key types.NamespacedName) *version {
	if s := t.objects[key]; s != nil {
		return s.cur
	}
	return nil
}

// put makes next the state of its key (nil: the object is gone), records the write at rv
// and wakes the watches. The caller holds Server.mu.
func (t *table) put(rv uint64, old, next *version) {
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

// findHalves finds the parts of the struct. It fails if the resource has a status
// subresource and the struct has no status.
func (t *table) findHalves() error {
	t.spec = exportedField(t.typ, "Spec")
	t.status = exportedField(t.typ, "Status")
	t.meta = exportedField(t.typ, "ObjectMeta")
	if t.res.Status && t.status == nil && !t.untyped() {
		return fmt.Errorf("fake: %v: %w: a status subresource, but no field Status", t.typ, errResource)
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

// untyped reports whether objects are Unstructured, whose members are those of a map.
func (t *table) untyped() bool { return t.typ == reflect.TypeFor[unstructured.Unstructured]() }

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

// liveObject returns the newest state of an object for reading, nil if there is none. The caller
// holds Server.mu.
func (t *table) liveObject(key types.NamespacedName) metav1.Object { return t.live(key).object() }

// Peek is for package upkeep.
func (l latest) Peek(key types.NamespacedName) metav1.Object {
	t := l.of.current.Load()
	if t == nil {
		return nil
	}
	t.server.mu.Lock()
	defer t.server.mu.Unlock()
	return t.live(key).object()
}
