package fake

import (
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/fake/faults"
)

// defaultHistory is what Options.History zero means.
const defaultHistory = 100_000

// Options configure a [Server]. The zero value works.
type Options struct {
	// History is how many of the newest writes, of all resources together, a watch or
	// a consistent list can go back. Zero means 100,000; negative keeps all.
	History int

	// Now is the clock for creationTimestamp and deletionTimestamp, called by the
	// goroutine of the write without a lock. Nil means time.Now, which testing/synctest
	// fakes.
	Now func() time.Time

	// CollectGarbage makes the server do what the garbage collector of Kubernetes does:
	// objects whose owners are all gone are deleted, and deletions in the foreground or
	// with orphans are finished. It is done when the write that caused it returns, or one of
	// another goroutine at the same time. Without it objects keep the finalizers of these
	// deletions until somebody takes them out, as with an API server that runs alone.
	CollectGarbage bool

	// KeepNamespaces gives namespaces a life of their own, where the resource namespaces
	// of the core group is registered: objects can be created in namespaces that are there
	// and not being deleted alone, and with a namespace goes all that is in it, when the
	// write returns. Without it namespaces need not exist, and are objects as any other.
	KeepNamespaces bool

	// What follows makes the server an older one, without a feature.

	// NoWatchList makes it refuse sendInitialEvents.
	NoWatchList bool
	// NoBookmarks makes it send no bookmarks, asked for or not, and implies NoWatchList.
	NoBookmarks bool
	// NoPaging makes it ignore limit and continue: every list is whole.
	NoPaging bool
	// NoVersionMatch makes it ignore resourceVersionMatch, and implies NoWatchList.
	NoVersionMatch bool
	// NoSharding makes it ignore shardSelector: lists are whole, and say so by having no
	// ShardInfo.
	NoSharding bool
}

// features are those that a server lacks.
type features struct{ watchList, bookmarks, paging, versionMatch, sharding bool }

func (o Options) lacks() features {
	return features{
		watchList: o.NoWatchList || o.NoBookmarks || o.NoVersionMatch,
		bookmarks: o.NoBookmarks, paging: o.NoPaging, versionMatch: o.NoVersionMatch, sharding: o.NoSharding,
	}
}

// ignore takes out of opts what a server overlooks that does not know it.
func (f features) ignore(opts *metav1.ListOptions) {
	if f.bookmarks {
		opts.AllowWatchBookmarks = false
	}
	if f.paging {
		opts.Limit, opts.Continue = 0, ""
	}
	if f.versionMatch {
		opts.ResourceVersionMatch = ""
	}
}

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

// collection is a table whose object type the caller does not know.
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

func formatRV(rv uint64) string { return strconv.FormatUint(rv, 10) }
