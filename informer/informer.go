package informer

import (
	"context"
	"iter"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/internal/coverage"
	"github.com/kinform/kinform/internal/nocmp"
	"github.com/kinform/kinform/internal/tracing"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/store"
)

// handlerLag is the number of events that a handler may be behind before the informer waits
// for it: see HandlerOptions.Coalesce.
const handlerLag = 4096

// defaultPending is Options.Pending if it is not set.
const defaultPending = 1024

// Options configures an [Informer]. The zero value works.
type Options[T any] struct {
	// Indexes are the indexes of the store. New fails if two have the same name. Their
	// functions must not call the informer: see the package documentation.
	Indexes []index.Definition[T]

	// OnError gets every failure after which the informer continues: *reflector.RequestError,
	// *reflector.ObjectError, *reflector.SlowListError, *SlowHandlerError, *deltafifo.SlowError,
	// *MutationError, *LostWriteError, one error if contents vary without a new version, and the errors of store.Options.OnError. It also gets every
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

	// Packed keeps the objects as bytes: see store.Options.Packed. Each read returns a new object then, which belongs
	// to the caller. The objects of an event are shared by all handlers.
	// Mutations looks for nothing.
	Packed bool

	// Reflector configures list and watch.
	Reflector reflector.Tuning

	// Resync applies to handlers whose HandlerOptions.Resync is zero, such as the handler of a
	// controller.Controller. Zero or less means never.
	Resync time.Duration

	// Mutations looks for code that writes to shared objects. The zero value does not look.
	Mutations Mutations

	// Pending is the number of changes that may wait for the store before the watch has to
	// wait. Zero or less means 1,024.
	Pending int
}

// Informer keeps a store equal to a source and calls handlers for the changes. See the package
// documentation.
type Informer[K comparable, T any] struct {
	_ nocmp.Type

	// Set by New and never changed.
	reader *store.Reader[K, T] // of the core's store, so that reads cost no call more
	typed  typed[K, T]
	engine engine  // the same core
	unread *unread // the core's, so that a read that finds nothing costs no call of engine
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
	Coverage(key K) coverage.Coverage
	PendingWrite(key K) (rv string, ok bool)
	// keyFunc returns the function that New got.
	keyFunc() store.KeyFunc[K, T]
}

// engine is the other part of a core, without a type parameter, so packages with many informers compile nothing
// of it.
type engine interface {
	Resource() string
	Err() error
	// refuse keeps an error of the setup.
	refuse(err error)
	Run(ctx context.Context) error
	Done() <-chan struct{}
	Synced() <-chan struct{}
	WaitForSync(ctx context.Context) error
	WaitForRV(ctx context.Context, rv string) error
	LostWrites() uint64
	Stats() Stats
	Handlers() []HandlerStats
	Bytes() uint64
	Lookup(key string) tracing.Found
	Trace(n int)
	Traced(key string) []tracing.Event
	// lacksNamespaces reports, once, that a list of one namespace has to add their index.
	lacksNamespaces() bool
}

// Resource names the cached collection, as reflector.Source.Resource does.
func (i *Informer[K, T]) Resource() string { return i.engine.Resource() }

// AsInformer returns i. With it an informer is an [Informed].
func (i *Informer[K, T]) AsInformer() *Informer[K, T] { return i }

// Informed is an informer, or a handle on one: an [*Informer], a *factory.Handle or a
// *controller.Handle. Functions that need an informer take an Informed, so that callers pass
// whichever they have.
type Informed[K comparable, T any] interface {
	// AsInformer returns the informer, and nil if the receiver is nil.
	AsInformer() *Informer[K, T]
}

// Get returns the object under key and whether there is one. It is the store's.
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
