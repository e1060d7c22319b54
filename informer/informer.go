package informer

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kinform/kinform/deltafifo"
	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/internal/eventlog"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/store"
)

// HandlerLag is how many events a handler may be behind before the informer waits for it.
const HandlerLag = 4096

// Options configures an [Informer]. The zero value works.
type Options[T any] struct {
	// Indexes are the indexes that the store keeps. New fails on two of one name. Their
	// functions must not call the informer: see the package documentation.
	Indexes []index.Definition[T]

	// OnError hears of everything that went wrong and that the informer can go on from:
	// *reflector.RequestError, *reflector.ObjectError, and what store.Options.OnError
	// hears of; and of every *PanicError, one of which Run then returns. It is called
	// from the goroutine that it happened in, at times from several at once, and holds
	// that up while it runs. Nil logs each at level Warn to slog.Default().
	OnError func(error)

	// Backoff, PageSize and WatchTimeout are those of reflector.Options.
	Backoff      reflector.Backoff
	PageSize     int64
	WatchTimeout time.Duration

	// Pending is how many changes may wait for the store before the watch is made to
	// wait. Zero or less means deltafifo.DefaultLimit.
	Pending int
}

// phase is where an informer is in its life.
type phase uint8

const (
	notStarted phase = iota
	running
	stopped
)

// Informer keeps a store equal to a source and tells handlers what changes. See the
// package documentation.
type Informer[K comparable, T any] struct {
	// Set by New and never changed.
	source    reflector.Source[T]
	key       store.KeyFunc[K, T]
	opts      Options[T]
	store     *store.Store[K, T]
	fifo      *deltafifo.DeltaFIFO[K, T]
	reflector *reflector.Reflector[T]
	synced    chan struct{} // closed when the initial list is in the store
	ended     chan struct{} // closed when Run returns

	badObjects atomic.Uint64 // that the informer found, beside the reflector's

	// Set by Run before any other goroutine can look.
	ctx    context.Context
	cancel context.CancelCauseFunc
	wg     sync.WaitGroup

	// mu is held while a batch is committed and put into the log, so that a handler
	// which is added sees the store and the log at one and the same moment. Nothing
	// waits for a handler or for the network with it held.
	mu        sync.Mutex
	phase     phase
	listeners map[*listener[K, T]]struct{}
	log       eventlog.Log[Event[K, T]]
}

// New returns an informer that is not running. key gives the key of an object: with
// store.ObjectKey, which most callers pass, K is types.NamespacedName, and the types
// need not be spelled out:
//
//	pods, err := informer.New(source, store.ObjectKey, informer.Options[*corev1.Pod]{})
//
// It returns reflector.ErrNoSource, [ErrNoKeyFunc], or what store.New says of the indexes.
func New[K comparable, T any](source reflector.Source[T], key store.KeyFunc[K, T], opts Options[T]) (*Informer[K, T], error) {
	if key == nil {
		return nil, ErrNoKeyFunc
	}
	if opts.OnError == nil {
		opts.OnError = func(err error) { slog.Default().Warn("informer", "error", err) }
	}
	i := &Informer[K, T]{
		source:    source,
		key:       key,
		opts:      opts,
		synced:    make(chan struct{}),
		ended:     make(chan struct{}),
		listeners: map[*listener[K, T]]struct{}{},
	}
	var err error
	i.store, err = store.New(key, store.Options[T]{Indexes: opts.Indexes, Unchanged: unchanged[T](), OnError: opts.OnError})
	if err != nil {
		return nil, err
	}
	i.fifo = deltafifo.New(deltafifo.Known[K, T](i.store.Reader()), deltafifo.Options{Limit: opts.Pending})
	i.reflector, err = reflector.New(source, &sink[K, T]{inf: i}, reflector.Options{
		Backoff:      opts.Backoff,
		PageSize:     opts.PageSize,
		WatchTimeout: opts.WatchTimeout,
		OnError:      i.report,
	})
	if err != nil {
		return nil, err
	}
	return i, nil
}

// Resource names what is cached, as reflector.Source.Resource does.
func (i *Informer[K, T]) Resource() string { return i.source.Resource() }

// Store returns the reading side of the cache. It is empty until the initial list is in.
func (i *Informer[K, T]) Store() *store.Reader[K, T] { return i.store.Reader() }

// Synced is closed once the initial list is in the store.
func (i *Informer[K, T]) Synced() <-chan struct{} { return i.synced }

// WaitForSync waits until the initial list is in the store. It returns ctx's error, or
// [ErrStopped] if the informer stopped before.
func (i *Informer[K, T]) WaitForSync(ctx context.Context) error {
	select {
	case <-i.synced:
		return nil
	default:
	}
	select {
	case <-i.synced:
		return nil
	case <-i.ended:
		return ErrStopped
	case <-ctx.Done():
		return ctx.Err()
	}
}

// hasSynced reports whether the initial list is in the store. With mu held it stays so.
func (i *Informer[K, T]) hasSynced() bool {
	select {
	case <-i.synced:
		return true
	default:
		return false
	}
}

// Stats counts what an informer did and holds.
type Stats struct {
	// Stats are the reflector's counters; BadObjects also counts what has no key and what
	// the store did not take.
	reflector.Stats
	// Objects is the number of objects in the store, Pending the number of changes that
	// wait for it.
	Objects, Pending int
	// ResourceVersion is the store's.
	ResourceVersion string
}

// Stats returns the counters. Safe from any goroutine; they are read one by one and need
// not be of the same moment.
func (i *Informer[K, T]) Stats() Stats {
	fetched := i.reflector.Stats()
	fetched.BadObjects += i.badObjects.Load()
	return Stats{
		Stats:           fetched,
		Objects:         i.store.Len(),
		Pending:         i.fifo.Len(),
		ResourceVersion: i.store.ResourceVersion(),
	}
}
