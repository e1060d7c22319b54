package informer

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/internal/eventlog"
	"github.com/kinform/kinform/internal/logs"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/store"
)

// HandlerLag is how many events a handler may be behind before the informer waits for it.
// While somebody waits for the store, which may be the handler, it is four times as many: see
// [Informer.WaitForRV].
const HandlerLag = 4096

// Options configures an [Informer]. The zero value works.
type Options[T any] struct {
	// Indexes are the indexes that the store keeps. New fails on two of one name. Their
	// functions must not call the informer: see the package documentation.
	Indexes []index.Definition[T]

	// OnError gets every failure after which the informer continues: *reflector.RequestError,
	// *reflector.ObjectError, *reflector.SlowListError, *MutationError, *LostWriteError, and
	// those of store.Options.OnError. It also gets every *PanicError, one of which Run then
	// returns. It is called from the goroutine of the failure, at times from several at once,
	// and holds that goroutine up while it runs.
	// Nil logs each to Logger at level Warn, with resource, key, resourceVersion and what
	// else the error's LogValue has as attributes.
	OnError func(error)

	// Logger is told, at level Debug, when Run begins and ends, the cache is filled,
	// handlers come and go, and what reflector.Options.Logger is told of. It is told of
	// errors if OnError is nil, and only then. No event is logged. Nil means slog.Default().
	// Users of logr pass slog.New(logr.ToSlogHandler(theirs)).
	Logger *slog.Logger

	// Reflector configures list and watch. Its OnError and Logger are not used.
	Reflector reflector.Options

	// Resync is HandlerOptions.Resync of the handlers that leave it at zero, those of a
	// controller.Controller for one. Zero or less is never.
	Resync time.Duration

	// Mutations looks for code that writes to shared objects. The zero value does not.
	Mutations Mutations

	// Pending is how many changes may wait for the store before the watch is made to
	// wait. Zero or less means deltafifo.DefaultLimit.
	Pending int
}

// phase is where an informer is in its life.
type phase uint8

const (
	notStarted phase = iota
	running
	stopping // until Run returns
	stopped  // until Run is called again
)

// Informer keeps a store equal to a source and tells handlers what changes. See the
// package documentation.
type Informer[K comparable, T any] struct {
	// Set by New and never changed.
	source reflector.Source[T]
	key    store.KeyFunc[K, T]
	opts   Options[T]
	logger logs.Log
	store  *store.Store[K, T]
	synced chan struct{} // closed when the initial list is in the store
	lag    uint64        // HandlerLag; less in tests

	refusal    refusal       // why the initial list does not come
	badObjects atomic.Uint64 // that the informer found, beside the reflector's

	detector *detector[K, T] // nil for none; set by New

	written written[K, T] // by this process, and ahead of the store

	versions versions[K, T] // what the store has of what does not say its version

	// The run that goes on, or the next one before the first, or the last one. Set with mu
	// held.
	session atomic.Pointer[session[K, T]]

	// mu is held while a batch is committed and put into the log, so that a handler
	// which is added sees the store and the log at one and the same moment. Nothing
	// waits for a handler or for the network with it held.
	mu         sync.Mutex
	phase      phase
	past       reflector.Stats // of the sessions before
	listeners  map[*listener[K, T]]struct{}
	coalescing []*listener[K, T] // the listeners with LagCoalesce
	unchanged  int               // number of those that want unchanged objects
	named      int               // number of handlers that were added
	log        eventlog.Log[Event[K, T]]
}

// New returns an informer that is not running. key gives the key of an object: with
// store.ObjectKey, which most callers pass, K is types.NamespacedName, and the types
// need not be spelled out:
//
//	pods, err := informer.New(source, store.ObjectKey, informer.Options[*corev1.Pod]{})
//
// It returns reflector.ErrNoSource, [ErrNoKeyFunc], store.ErrKeyType, or what store.New says of the
// indexes.
func New[K comparable, T any](source reflector.Source[T], key store.KeyFunc[K, T], opts Options[T]) (*Informer[K, T], error) {
	if key == nil {
		return nil, ErrNoKeyFunc
	}
	if source == nil {
		return nil, reflector.ErrNoSource
	}
	log := logs.Log{To: opts.Logger, Part: "informer", Resource: source.Resource()}
	if opts.OnError == nil {
		opts.OnError = log.Error
	}
	i := &Informer[K, T]{
		source:    source,
		key:       key,
		opts:      opts,
		logger:    log,
		synced:    make(chan struct{}),
		lag:       HandlerLag,
		versions:  newVersions[K, T](),
		detector:  newDetector[K, T](opts.Mutations),
		listeners: map[*listener[K, T]]struct{}{},
	}
	var err error
	i.store, err = store.New(key, store.Options[T]{Indexes: opts.Indexes, Unchanged: i.versions.unchanged(), OnError: opts.OnError})
	if err != nil {
		return nil, err
	}
	next, err := i.newSession()
	if err != nil {
		return nil, err
	}
	i.session.Store(next)
	return i, nil
}

// Resource names what is cached, as reflector.Source.Resource does.
func (i *Informer[K, T]) Resource() string { return i.source.Resource() }

// Store returns the reading side of the cache. It is empty until the initial list is in.
func (i *Informer[K, T]) Store() *store.Reader[K, T] { return i.store.Reader() }
