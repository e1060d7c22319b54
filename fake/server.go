package fake

import (
	"fmt"
	"net/http"
	"reflect"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/fake/faults"
)

// Server is an API server in memory. It is safe for concurrent use, starts no goroutine
// and needs no Close. It serves HTTP (see [Server.ServeHTTP]) and Go callers (see
// [Create], [NewSource]) from the same state.
//
// A Server that is used inside a testing/synctest bubble must be made inside it.
type Server struct {
	history uint64 // kept writes; zero keeps all
	now     func() time.Time
	lacks   features
	upkeep  *upkeep // nil if the options ask for none
	faults  faults.Injector

	// mu guards everything below and the state of every table. It is held for a few
	// pointer operations at a time; no object is copied, encoded or matched under it,
	// except that a list of n objects gathers n pointers.
	mu        sync.Mutex
	rv        uint64 // of the newest write
	compacted uint64 // writes up to this one are forgotten; compacted <= rv
	restores  uint64 // number of calls of Restore
	tables    map[schema.GroupResource]collection
	order     []collection // by time of registration
	byType    map[reflect.Type][]collection
	drops     chan struct{} // closed by DropWatches and then replaced
}

// collection is a table of any object type.
type collection interface {
	info() *Resource
	// compact forgets records up to Server.compacted; bookmark appends a bookmark.
	// Both run under Server.mu.
	compact()
	bookmark()
	// backup and empty are for Server.Backup; under Server.mu.
	backup() (restore func())
	empty()
	// liveObject returns the newest state of an object for reading, nil when there is none;
	// under Server.mu. peek is the same without.
	liveObject(key types.NamespacedName) metav1.Object
	peek(key types.NamespacedName) metav1.Object
	keysIn(namespace string) []types.NamespacedName
	// discard, adjust and dissolve are the writes of upkeep.
	discard(key types.NamespacedName, opts metav1.DeleteOptions) error
	adjust(key types.NamespacedName, change func(metav1.Object) bool) error
	dissolve(key types.NamespacedName)
	// load creates the object of a manifest, status included, and returns its uid. uids are
	// those of objects that were loaded before, by what their manifests state.
	load(manifest []byte, uids map[types.UID]types.UID) (types.UID, error)
	// serve answers one HTTP request for the resource.
	serve(w *response, r *http.Request, req request) error
}

// New returns an empty server at resourceVersion 1.
func New(opts Options) *Server {
	s := &Server{
		now:       opts.Now,
		lacks:     opts.lacks(),
		rv:        1,
		compacted: 1,
		tables:    map[schema.GroupResource]collection{},
		byType:    map[reflect.Type][]collection{},
		drops:     make(chan struct{}),
	}
	s.upkeep = newUpkeep(s, opts)
	switch {
	case opts.History == 0:
		s.history = defaultHistory
	case opts.History > 0:
		s.history = uint64(opts.History)
	}
	if s.now == nil {
		s.now = time.Now
	}
	return s
}

// Register adds a resource whose objects have the Go type T, a pointer to a struct. The
// server writes through T's metadata methods alone. It copies objects by DeepCopyObject
// where T has it and by a JSON round trip otherwise.
//
// One T may be registered for many resources, as Unstructured will be. Errors:
// [ErrType], [ErrResource], [ErrDuplicate].
func Register[T metav1.Object](s *Server, r Resource) error {
	typ := reflect.TypeFor[T]()
	r, err := r.complete(typ)
	if err != nil {
		return err
	}
	t, err := newTable[T](s, r)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.tables[r.groupResource()]; ok {
		return fmt.Errorf("fake: %s: %w", r.groupResource(), ErrDuplicate)
	}
	s.tables[r.groupResource()] = t
	s.order = append(s.order, t)
	s.byType[typ] = append(s.byType[typ], t)
	return nil
}

// ResourceVersion returns the resourceVersion of the newest write.
func (s *Server) ResourceVersion() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return formatRV(s.rv)
}

// advance counts n writes and returns the resourceVersion of the last. Called under mu.
func (s *Server) advance(n uint64) uint64 {
	s.rv += n
	if s.history > 0 && s.rv > s.history {
		s.compacted = max(s.compacted, s.rv-s.history)
	}
	return s.rv
}
