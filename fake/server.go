package fake

import (
	"context"
	"hash/maphash"
	"maps"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/fake/internal/fieldmanager"
	"github.com/kinform/kinform/fake/internal/upkeep"
	"github.com/kinform/kinform/internal/broadcast"
)

// This file has the state of a server: the structs refer to each other, so they are together.

// Server is an API server in memory. It is safe for concurrent use, starts no goroutine
// and needs no Close. It serves HTTP (see [Server.ServeHTTP]) and Go callers (see
// [Create], [NewSource]) from the same state.
//
// A Server that is used inside a testing/synctest bubble must be made inside it.
type Server struct {
	history  uint64 // kept writes; zero keeps all
	now      func() time.Time
	lacks    features
	stopPods bool
	upkeep   *upkeep.Keeper // nil if the options ask for none
	faults   faults.Injector
	requests tally
	serials  atomic.Uint64                                                        // numbers of definitions, and of states of objects
	seed     maphash.Seed                                                         // of revision.sum
	seen     func(Exchange)                                                       // nil for none
	exact    bool                                                                 // there are strategies
	strategy func(schema.GroupVersionResource, schema.GroupVersionKind) *Strategy // nil for none

	mutate, validate func(context.Context, *Admission) error // nil for none

	// mu guards everything below and the state of every table. It is held for a few
	// pointer operations at a time; no object is copied, encoded or matched under it,
	// except that a list of n objects gathers n pointers.
	mu        sync.Mutex
	rv        uint64 // of the newest write
	compacted uint64 // writes up to this one are forgotten; compacted <= rv
	restores  uint64 // number of calls of Restore
	reserved  uint64 // number of calls of reserveUID
	tables    map[schema.GroupResource]*table
	order     []*table // by time of registration
	byType    map[reflect.Type][]*table
	drops     chan struct{}                        // closed by DropWatches and then replaced
	idle      map[loopObject]map[string]idleWrites // writes that changed nothing, by client
}

// features are the features that a server lacks.
type features struct{ watchList, bookmarks, paging, sharding, dropping bool }

// table serves one definition of a resource, of objects of any type. Another [Define] makes another
// table, on the same state.
type table struct {
	server     *Server
	serial     uint64          // of the definition; set once
	res        definedResource // set once
	hooks      hooks           // set once
	strategy   *Strategy       // nil for none
	deprecated string          // the warning to each request, empty for none
	typ        reflect.Type    // the struct that objects point to; set once
	protobuf   bool            // objects have a protobuf form; set once
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
	cur *revision
}

// revision is one state of one object. It never changes once a table holds it, so the table,
// the history and every reader share it without a lock.
type revision struct {
	key types.NamespacedName
	rv  uint64
	obj metav1.Object
	by  *writers // nil if obj has managedFields
	// writer is the field manager of the write, empty for a write of the test itself.
	writer string
	of     *table // whose definition obj is of
	// stored is the revision in the table of which this one is a view; nil for itself.
	stored *revision
	// kept is the sum that [Strategy].Prepare returned; zero for none.
	kept uint64
	// encoded is obj as JSON, made when HTTP first asks for it.
	encoded atomic.Pointer[[]byte]
	serial  atomic.Uint64 // see sum; zero until it is first needed
}

// writers are the writers of an object that has no managedFields yet. Its first apply names them as
// owners. The consecutive writes of one writer are one step: a field that it changes and then
// changes back is not its own. A nil writers stands for writes without a manager, as the typed
// functions make them.
type writers struct {
	manager string
	through string    // the subresource that the writes went to, empty for the object itself
	created bool      // the first of them created the object
	of      *table    // the version of the writes
	base    *revision // the object before them, unless created
	earlier *writers
	n       int // steps up to this one

	// forgotten says that a client has made the server forget the owners. As in the API server,
	// there are none then before the next apply.
	forgotten bool
}

// record is one write of a resource: a create has no old, a delete no cur, and a bookmark
// neither. It never changes but for the cache in gone.
type record struct {
	rv       uint64
	old, cur *revision
	left     atomic.Pointer[revision]
}

// log is the kept history of one resource, in the order of writing. Records are
// addressed by their number since the server began, so that a watch keeps its place
// while old records go.
type log struct {
	records []*record // rv never falls
	first   uint64    // number of records[0]
}

// progress is what the watch cache of a resource knows from etcd. Server.mu guards it.
type progress struct {
	asked time.Time // when the server asked last
	rv    uint64    // the version of the answer
}

// ResourceVersion returns the resourceVersion of the newest write.
func (s *Server) ResourceVersion() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return formatRV(s.rv)
}

// Requests returns how many requests the server has got since it began, by HTTP or from a [Source].
// A request counts when the server looks at it, even if a fault strikes it or the server refuses
// it. Requests for resources that are not registered and for verbs that they do not have do not
// count, and neither do the typed functions by which a test writes.
//
//	before := server.Requests()
//	... // nothing that the controller has to write for
//	if sent := server.Requests().Since(before); sent.Writes() > 0 {
//		t.Errorf("the controller sent %v", sent)
//	}
func (s *Server) Requests() Requests {
	s.requests.mu.Lock()
	defer s.requests.mu.Unlock()
	return maps.Clone(s.requests.seen)
}

// advance counts n writes and returns the resourceVersion of the last. The caller
// holds mu.
func (s *Server) advance(n uint64) uint64 {
	s.rv += n
	if s.history > 0 && s.rv > s.history {
		s.compacted = max(s.compacted, s.rv-s.history)
	}
	return s.rv
}
