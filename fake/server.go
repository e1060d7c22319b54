package fake

import (
	"context"
	"hash/maphash"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/fake/internal/upkeep"
)

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
	seed     maphash.Seed                                                         // of version.sum
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
	drops     chan struct{} // closed by DropWatches and then replaced
}

// New returns an empty server at resourceVersion 1.
func New(opts Options) *Server {
	s := &Server{
		now:       opts.Now,
		stopPods:  opts.StopPods,
		mutate:    opts.Mutate,
		validate:  opts.Validate,
		seen:      opts.Seen,
		strategy:  opts.Strategy,
		exact:     opts.Strategy != nil,
		lacks:     opts.lacks(),
		rv:        1,
		compacted: 1,
		tables:    map[schema.GroupResource]*table{},
		byType:    map[reflect.Type][]*table{},
		drops:     make(chan struct{}),
		seed:      maphash.MakeSeed(),
	}
	s.upkeep = upkeep.New(&s.mu, opts.CollectGarbage, opts.KeepNamespaces)
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

// ResourceVersion returns the resourceVersion of the newest write.
func (s *Server) ResourceVersion() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return formatRV(s.rv)
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
