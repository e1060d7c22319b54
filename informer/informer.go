package informer

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/internal/eventlog"
	"github.com/kinform/kinform/internal/logs"
	"github.com/kinform/kinform/internal/pace"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/store"
)

// HandlerLag is the number of events that a handler may be behind before the informer waits
// for it. While any goroutine waits for the store, the limit is four times as high: see
// [Informer.WaitForRV].
const HandlerLag = 4096

// Options configures an [Informer]. The zero value works.
type Options[T any] struct {
	// Indexes are the indexes of the store. New fails if two have the same name. Their
	// functions must not call the informer: see the package documentation.
	Indexes []index.Definition[T]

	// OnError gets every failure after which the informer continues: *reflector.RequestError,
	// *reflector.ObjectError, *reflector.SlowListError, *SlowHandlerError, *deltafifo.SlowError,
	// *MutationError, *LostWriteError, ErrContentsVary, and the errors of store.Options.OnError. It also gets every
	// *PanicError. Run then returns one of these. OnError runs in the goroutine of the failure and
	// blocks it meanwhile. Several goroutines may call it at once. If it is nil, each failure is
	// logged to Logger at level Warn, with resource, key, resourceVersion and the other attributes
	// of the error's LogValue.
	OnError func(error)

	// Logger gets a record at level Debug when Run begins and ends, when the cache is filled,
	// when handlers are added and removed, and for everything that reflector.Options.Logger
	// lists. Once, it gets a warning if Run was never called and reads have found nothing for ten
	// seconds. It gets errors only if OnError is nil. Events are never logged. Nil means
	// slog.Default(). Users of logr pass slog.New(logr.ToSlogHandler(theirs)).
	Logger *slog.Logger

	// Reflector configures list and watch.
	Reflector reflector.Tuning

	// Resync applies to handlers whose HandlerOptions.Resync is zero, such as the handler of a
	// controller.Controller. Zero or less means never.
	Resync time.Duration

	// Mutations looks for code that writes to shared objects. The zero value does not look.
	Mutations Mutations

	// Pending is the number of changes that may wait for the store before the watch has to
	// wait. Zero or less means deltafifo.DefaultLimit.
	Pending int
}

// phase is a stage of an informer's life.
type phase uint8

const (
	notStarted phase = iota
	running
	stopping // until Run returns
	stopped  // until Run is called again
)

// Informer keeps a store equal to a source and calls handlers for the changes. See the package
// documentation.
type Informer[K comparable, T any] struct {
	// Set by New and never changed.
	reader *store.Reader[K, T] // of the core's store, so that reads cost no call more
	typed  typed[K, T]
	engine engine  // the same core
	unread *unread // that of the core, so that a read which finds nothing costs no call of engine
}

// typed is the part of a core that handles keys or objects. Only New and NewNamespaced name a core. Go compiles
// all methods of a generic type wherever the type is named, so a package that holds an informer or a handle
// compiles the few lines of Informer, and not a core.
type typed[K comparable, T any] interface {
	WaitFor(ctx context.Context, key K, until func(obj T, exists bool) bool) error
	AddHandler(h Handler[K, T], opts HandlerOptions[T]) (*Registration, error)
	Events(ctx context.Context, opts HandlerOptions[T]) iter.Seq[Event[K, T]]
	AddIndexes(defs ...index.Definition[T]) error
	RecordWrite(obj T, rv string) error
	RecordGone(key K, uid types.UID, rv string) error
	LostKeys(since uint64) (keys []K, now uint64, complete bool)
	Coverage(key K) Coverage
	PendingWrite(key K) (rv string, ok bool)
	// refuse keeps an error of the setup.
	refuse(err error)
	// keyFunc returns the function that New got.
	keyFunc() store.KeyFunc[K, T]
}

// engine is the other part of a core, without a type parameter, so packages with many informers compile nothing
// of it.
type engine interface {
	Resource() string
	Err() error
	Run(ctx context.Context) error
	Done() <-chan struct{}
	Synced() <-chan struct{}
	WaitForSync(ctx context.Context) error
	WaitForRV(ctx context.Context, rv string) error
	LostWrites() uint64
	Stats() Stats
	Handlers() []HandlerStats
	Bytes() uint64
	Lookup(key string) Found
	Trace(n int)
	Traced(key string) []Traced
	// lacksNamespaces reports, once, that a list of one namespace has to add their index.
	lacksNamespaces() bool
}

// core is what an Informer drives.
type core[K comparable, T any] struct {
	// Set by New and never changed.
	name   string            // of the collection
	only   *part[K, T]       // the only part; nil in an informer over namespaces
	over   *namespaced[K, T] // the namespaces; nil if there is one part only
	key    store.KeyFunc[K, T]
	opts   Options[T]
	logger logs.Log
	store  *store.Store[K, T]
	synced chan struct{} // closed when the initial list is in the store
	lag    uint64        // HandlerLag, or less in tests

	faults     faults // of the setup
	unread     unread
	refusal    refusal       // why the initial list fails
	badObjects atomic.Uint64 // found by the informer itself; the reflector counts its own

	detector *detector[K, T] // nil if disabled; set by New

	counted    counters
	size       objectSize
	namespaced atomic.Bool // a list has seen to the index of namespaces

	waits *waits     // for handlers; nil before the first
	pace  pace.Meter // of commits

	ownLimit int // of writes that are ahead of the watch of a part: maxOwn, or less in tests
	losses   losses[K]

	versions versions[K, T] // of stored objects that do not carry their version

	// The current run, or the next one before the first Run, or the last one. Set with mu
	// held.
	session atomic.Pointer[session[K, T]]

	// turn has a value while a committer waits for handlers, and commits then. It is taken outside mu.
	turn chan struct{}

	// mu is held while a batch is committed and logged, so that a new handler sees the store
	// and the log at the same moment. It is taken inside the locks of the queues. No goroutine waits for a
	// handler or for the network with mu held.
	mu         sync.Mutex
	phase      phase
	places     places
	past       *reflector.Stats // of reflectors that have ended; nil before the first
	listeners  map[*listener[K, T]]struct{}
	coalescing []*listener[K, T] // the listeners with LagCoalesce
	unchanged  int               // number of listeners that want unchanged objects
	named      int               // number of handlers added so far
	log        eventlog.Log[Event[K, T]]

	trace atomic.Pointer[trace[K]] // nil until Trace; set with mu held
}

// New returns an informer that is not running. key returns the key of an object. Most callers
// pass store.ObjectKey: then K is types.NamespacedName, and the type arguments can be left
// out:
//
//	pods, err := informer.New(source, store.ObjectKey, informer.Options[*corev1.Pod]{})
//
// It returns reflector.ErrNoSource, [ErrNoKeyFunc], store.ErrKeyType, or the error of
// store.New for the indexes.
func New[K comparable, T any](source reflector.Source[T], key store.KeyFunc[K, T], opts Options[T]) (*Informer[K, T], error) {
	if source == nil {
		return nil, fmt.Errorf("informer of %T: %w", *new(T), reflector.ErrNoSource)
	}
	if key == nil {
		return nil, fmt.Errorf("%s: %w", source.Resource(), ErrNoKeyFunc)
	}
	i, err := newCore(source.Resource(), key, opts)
	if err != nil {
		return nil, err
	}
	i.only = &part[K, T]{inf: i, source: source, place: place{resource: source.Resource()}}
	i.places.add(&i.only.place)
	if c, ok := source.(reflector.Changing[T]); ok {
		i.only.keeps = c.Selects
	}
	return informerOf(i), firstSession(i)
}

// informerOf returns the Informer of a core. There must be only one.
func informerOf[K comparable, T any](i *core[K, T]) *Informer[K, T] {
	return &Informer[K, T]{reader: i.store.Reader(), typed: i, engine: i, unread: &i.unread}
}

// newCore returns a core without a source and a session.
func newCore[K comparable, T any](name string, key store.KeyFunc[K, T], opts Options[T]) (*core[K, T], error) {
	log := logs.New(opts.Logger, "informer", name)
	if opts.OnError == nil {
		opts.OnError = log.Error
	}
	i := &core[K, T]{
		name:      name,
		key:       key,
		opts:      opts,
		logger:    log,
		synced:    make(chan struct{}),
		turn:      make(chan struct{}, 1),
		lag:       HandlerLag,
		ownLimit:  maxOwn,
		versions:  newVersions[K, T](),
		detector:  newDetector[K, T](opts.Mutations),
		listeners: map[*listener[K, T]]struct{}{},
	}
	i.unread.log = &i.logger
	var err error
	i.store, err = store.New(key, store.Options[T]{Indexes: opts.Indexes, Unchanged: unchanged(&i.versions), OnError: opts.OnError})
	if err != nil {
		return nil, i.about(err)
	}
	return i, nil
}

func firstSession[K comparable, T any](i *core[K, T]) error {
	next, err := newSession(i)
	if err != nil {
		return err
	}
	i.session.Store(next)
	return nil
}

// Resource names the cached collection, as reflector.Source.Resource does.
func (i *Informer[K, T]) Resource() string { return i.engine.Resource() }

func (i *core[K, T]) Resource() string { return i.name }

// AsInformer returns i. With it an informer is an [Informed].
func (i *Informer[K, T]) AsInformer() *Informer[K, T] { return i }

// Informed is an informer, or a handle on one: an [*Informer], a *factory.Handle or a
// *controller.Handle. Functions that need an informer take an Informed, so that callers pass
// whichever they have.
type Informed[K comparable, T any] interface {
	// AsInformer returns the informer, and nil if the receiver is nil.
	AsInformer() *Informer[K, T]
}

// Writer returns the writable store of an informer. It is for adapters to libraries whose caches
// can be written to, and for tests that fill a cache without a server. Handlers get no event for
// such a write, but the next event of its key has it as Old. The next change or list of the source
// overrides it. Do not call Close, EndWaits and Rewind: the informer does. Writer is a function
// because a method would make each package that names an Informer compile the store's writes.
func Writer[K comparable, T any](of Informed[K, T]) *store.Store[K, T] {
	i := of.AsInformer().typed.(*core[K, T])
	i.unread.quiet()
	return i.store
}

// Get returns the object under key and whether there is one. It is that of the store.
func (i *Informer[K, T]) Get(key K) (T, bool) {
	obj, ok := i.reader.Get(key)
	if !ok {
		i.unread.missed()
	}
	return obj, ok
}

// Store returns the reading side of the cache. Until the initial list is complete, it has only the
// recorded writes of this process and, in an informer over namespaces, the objects of namespaces
// that have listed.
func (i *Informer[K, T]) Store() *store.Reader[K, T] { return i.reader }

func (i *core[K, T]) keyFunc() store.KeyFunc[K, T] { return i.key }
