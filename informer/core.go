package informer

import (
	"context"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kinform/kinform/deltafifo"
	"github.com/kinform/kinform/internal/eventlog"
	"github.com/kinform/kinform/internal/logs"
	"github.com/kinform/kinform/internal/mutation"
	"github.com/kinform/kinform/internal/pace"
	"github.com/kinform/kinform/internal/usercode"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/store"
)

// This file has the state of an informer: the structs refer to each other, so they are together. A struct names what
// guards each field. The functions are in the files of their concerns.

// phase is a stage of an informer's life.
type phase uint8

const (
	phaseNotStarted phase = iota
	phaseRunning
	phaseStopping // until Run returns
	phaseStopped  // until Run is called again
)

// base is the part of a core that is the same for all types. What works on it alone is compiled once, and not in each
// package that makes an informer. Its only methods are those of engine: a core has a wrapper for each method.
type base struct {
	// Set by New and never changed.
	name    string // of the collection
	onError func(error)
	logger  logs.Log
	synced  chan struct{} // closed when the initial list is in the store
	lag     uint64        // handlerLag, or less in tests

	loose loose

	detector *mutation.Detector // nil if disabled
	hashes   maphash.Seed       // for it
	resample func()             // has it look at other objects; one goroutine calls it

	// Of the core, for base.
	wakeAll  func()                             // wakes the handlers that wait for events
	handlers func() []handlerState              // called with mu held
	lagging  func(limit uint64) <-chan struct{} // eventlog.Lagging

	faults     faults // of the setup
	unread     unread
	refusal    refusal       // why the initial list fails
	badObjects atomic.Uint64 // found by the informer itself; the reflector counts its own

	counted    counters
	size       objectSize
	namespaced atomic.Bool // a list has seen to the index of namespaces

	waits *handlerWaits // for handlers; nil before the first
	care  care
	pace  pace.Meter // of commits

	ownLimit int // of writes that are ahead of the watch of a part: maxOwn, or less in tests
	lost     lostWrites

	// The current run, or the next one before the first Run, or the last one. Set with mu
	// held.
	session atomic.Pointer[session]

	// turn has a value while a committer waits for handlers, and commits then. It is taken outside mu.
	turn chan struct{}

	// mu is held while a batch is committed and logged, so that a new handler sees the store
	// and the log at the same moment. It is taken inside the locks of the queues. No goroutine waits for a
	// handler or for the network with mu held.
	mu        sync.Mutex
	phase     phase
	places    places
	past      *reflector.Stats // of reflectors that have ended; nil before the first
	unchanged int              // number of listeners that want unchanged objects
	named     int              // number of handlers added so far
}

// core is what an Informer drives.
type core[K comparable, T any] struct {
	base

	// Set by New and never changed.
	only     *part[K, T]       // the only part; nil in an informer over namespaces
	over     *namespaced[K, T] // the namespaces; nil if there is one part only
	key      store.KeyFunc[K, T]
	opts     Options[T]
	store    *store.Store[K, T]
	versions versions[K, T] // of stored objects that do not carry their version

	// Guarded by mu.
	losses     []K // keys of the last times that a write was found to be lost, the newest last
	listeners  map[*listener[K, T]]struct{}
	coalescing []*listener[K, T] // the listeners with Coalesce
	log        eventlog.Log[Event[K, T]]

	trace atomic.Pointer[trace[K]] // nil until Trace; set with mu held
}

// part is what an informer gets from one source: all objects or, in an informer over namespaces, the
// objects of one namespace. Each part has its reflector, queue, own writes and version, and a key belongs
// to one part.
type part[K comparable, T any] struct {
	place

	// Set when it is made and never changed.
	inf    *core[K, T]
	source reflector.Source[T]
	keeps  func(T) bool // Selects of source; nil if its selection does not change

	own  own[K, T]   // writes of this process that are ahead of this part's watch
	feed *feed[K, T] // of the current run, or the next one before the first, or the last one; guarded by the informer's mu
}

// namespaced are the parts of an informer over namespaces. What only such an informer does stands behind functions,
// so that packages that make none do not compile it for their types.
type namespaced[K comparable, T any] struct {
	// Set once.
	of       func(K) string             // the namespace of a key
	objects  func(namespace string) []T // what the store has of a namespace
	count    func(namespace string) int // the number of these objects
	coming   func() (string, bool)      // a namespace that is being added, if there is one
	start    func(*session)             // starts all parts; called with the informer's mu held
	await    func(*session)             // sees to parts that do not list; called with the informer's mu held
	follower *follower                  // of the set

	// Guarded by the informer's mu.
	parts map[string]*part[K, T] // by namespace
	begun bool                   // Run was called
}

// session holds what an informer needs anew for each Run. What each part needs is its feed.
type session struct {
	feeding sync.WaitGroup // of the namespaces' reflectors

	// life ends, with ErrStopped, when the session stops.
	life context.Context
	die  context.CancelCauseFunc

	done chan struct{} // closed, with the informer's mu held, when the session has stopped

	run *usercode.Run // set by Informer.Run before any other goroutine can look
}

// present returns the session of the current run, or the one that stands in for it. It is not inlined: each package
// that makes an informer would compile the methods of the pointer.
//
//go:noinline
func present(i *base) *session { return i.session.Load() }

// keepSession makes s the present one. Called with mu held, or before the informer is given out.
//
//go:noinline
func keepSession(i *base, s *session) { i.session.Store(s) }

// feed is what a part needs anew for each Run. It is the sink of the part's reflector, which commits after
// the last event at hand and leaves everything else to the committer. It also notices when the server
// answers, because an answer ends the refusal of earlier tries. The reflector's goroutine owns it.
type feed[K comparable, T any] struct {
	// Set when it is made and never changed, but for reflector: see newReflector.
	part      *part[K, T]
	session   *session
	to        *deltafifo.Sink[K, T]
	reflector *reflector.Reflector[T] // of the goroutine that runs it
	commit    func(deltafifo.Batch[K, T]) error

	restores  int           // that were known when the reflector was made
	floor     uint64        // the version of the store then, if the reflector's first list is the newest
	changes   changes[K, T] // of the batch in flight; owned by the goroutine that commits it
	committer committer     // gets what commit does not
	commits   bool          // the reflector's goroutine, which owns it, commits
	pruned    atomic.Bool   // Prune has put something into the queue
	committed bool          // commit has got everything pending since the flag was cleared
	listing   bool          // the list in progress has delivered something
	marks     bool          // the source has said that it is idle
}

// listener calls one handler. The goroutine that calls the handler owns every field, unless a
// comment says otherwise. Between two runs no goroutine owns them.
type listener[K comparable, T any] struct {
	// Set when it is registered and never changed.
	reg     *Registration
	inf     *core[K, T]
	handler Handler[K, T]
	opts    HandlerOptions[T]
	loop    bool // called by a loop over Events instead of a goroutine of a session

	// Guarded by the informer's mu.
	active   bool           // the handler is being called
	leaving  bool           // the handler was removed, or will be after Drain
	overrun  *overrun[K, T] // the events that it missed; set by the writer that cut the cursor
	overruns uint64
	initial  *store.Snapshot[K, T] // the objects of an initialMark in the log; nil if there is none

	// Written with mu held, by the goroutine that owns the rest.
	cursor *eventlog.Cursor[Event[K, T]]

	found    *store.Snapshot[K, T] // objects to deliver before anything else; nil once that is done
	early    bool                  // found is only what this process wrote before the informer had a list
	replayed int                   // number of objects of found that were delivered
	synced   bool

	rest    []Event[K, T]         // events of the last run of the log, or of an overrun, still to handle
	logged  bool                  // rest is of the log
	listed  bool                  // found is the initial list
	backlog atomic.Int64          // number of events still to come of found or an overrun; 1 while that is being counted
	due     time.Time             // when to resync next
	touched map[K]struct{}        // keys handled since the resync began; nil outside a resync
	turns   atomic.Pointer[turns] // for Trace; nil without
	current *Event[K, T]          // the event of the last call; nil after a run
	doing   string                // the function being called: handling or filtering
}

// Values of listener.doing, and of PanicError.Where.
const (
	handling  = "handler"
	filtering = "filter"
)

// objectSize is the mean size of an object.
type objectSize struct {
	mu   sync.Mutex
	at   time.Time
	mean float64 // of a sample at that time
}

func (i *core[K, T]) keyFunc() store.KeyFunc[K, T] { return i.key }
func (i *base) Resource() string                   { return i.name }
