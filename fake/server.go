package fake

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"reflect"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
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

	// NoWatchList makes the server refuse sendInitialEvents, as releases without the
	// WatchList feature do.
	NoWatchList bool
}

// Server is an API server in memory. It is safe for concurrent use, starts no goroutine
// and needs no Close. It serves HTTP (see [Server.ServeHTTP]) and Go callers (see
// [Create], [NewSource]) from the same state.
//
// A Server that is used inside a testing/synctest bubble must be made inside it.
type Server struct {
	history     uint64 // kept writes; zero keeps all
	now         func() time.Time
	noWatchList bool

	// mu guards everything below and the state of every table. It is held for a few
	// pointer operations at a time; no object is copied, encoded or matched under it,
	// except that a list of n objects gathers n pointers.
	mu        sync.Mutex
	rv        uint64 // of the newest write
	compacted uint64 // writes up to this one are forgotten; compacted <= rv
	tables    map[schema.GroupResource]collection
	order     []collection // by time of registration
	byType    map[reflect.Type][]collection
	names     *rand.Rand // suffixes for generateName
	faults    []*fault
	drops     chan struct{} // closed by DropWatches and then replaced
}

// collection is a table whose object type the caller does not know.
type collection interface {
	info() *Resource
	// compact forgets records up to Server.compacted; bookmark appends a bookmark.
	// Both run under Server.mu.
	compact()
	bookmark()
	// serve answers one HTTP request for the resource.
	serve(w *response, r *http.Request, req request) error
}

// New returns an empty server at resourceVersion 1.
func New(opts Options) *Server {
	s := &Server{
		now:         opts.Now,
		noWatchList: opts.NoWatchList,
		rv:          1,
		compacted:   1,
		tables:      map[schema.GroupResource]collection{},
		byType:      map[reflect.Type][]collection{},
		names:       rand.New(rand.NewPCG(1, 2)),
		drops:       make(chan struct{}),
	}
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
	t := newTable[T](s, r)
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

// Compact forgets the history up to resourceVersion rv, inclusive. A watch from before
// rv then gets 410 Expired, and so does the next page of a list from before rv. A
// resourceVersion already forgotten changes nothing; one that is yet to come, or is no
// number, is an error.
func (s *Server) Compact(rv string) error {
	n, err := strconv.ParseUint(rv, 10, 64)
	if err != nil {
		return fmt.Errorf("fake: compact: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if n > s.rv {
		return fmt.Errorf("fake: compact: resourceVersion %d is yet to come, current: %d", n, s.rv)
	}
	s.compacted = max(s.compacted, n)
	for _, c := range s.order {
		c.compact()
	}
	return nil
}

// Bookmark sends a bookmark to every open watch that allows them, after the events of
// all writes so far and before those of later ones. The server sends none by itself but
// at the end of initial events and of timeoutSeconds: real time has no part in it.
func (s *Server) Bookmark() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.order {
		c.bookmark()
	}
}

// advance counts one write and returns its resourceVersion. Called under mu.
func (s *Server) advance() uint64 {
	s.rv++
	if s.history > 0 && s.rv > s.history {
		s.compacted = max(s.compacted, s.rv-s.history)
	}
	return s.rv
}

func formatRV(rv uint64) string { return strconv.FormatUint(rv, 10) }
