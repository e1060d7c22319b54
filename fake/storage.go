package fake

import (
	"net/http"
	"reflect"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/fake/internal/fieldmanager"
	"github.com/kinform/kinform/fake/internal/refusal"
	"github.com/kinform/kinform/fake/internal/upkeep"
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
