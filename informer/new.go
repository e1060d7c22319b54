package informer

import (
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/internal/eventlog"
	"github.com/kinform/kinform/internal/logs"
	"github.com/kinform/kinform/internal/mistake"
	"github.com/kinform/kinform/internal/picking"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/store"
)

// New returns an informer that is not running. key returns the key of an object. Most callers
// pass store.ObjectKey: then K is types.NamespacedName, and the type arguments can be left
// out:
//
//	pods, err := informer.New(source, store.ObjectKey, informer.Options[*corev1.Pod]{})
//
// It returns [ErrInvalid] or the error of
// store.New for the indexes.
func New[K comparable, T any](source reflector.Source[T], key store.KeyFunc[K, T], opts Options[T]) (*Informer[K, T], error) {
	if source == nil {
		return nil, noSource(*new(T))
	}
	if key == nil {
		return nil, about(source.Resource(), errNoKeyFunc)
	}
	i, err := newCore(source.Resource(), key, opts)
	if err != nil {
		return nil, err
	}
	i.only = &part[K, T]{inf: i, source: source, place: place{resource: source.Resource()}}
	i.places.add(&i.only.place)
	if c, ok := source.(picking.Changing[T]); ok {
		i.only.keeps = c.Selects
	}
	return informerOf(i), firstSession(i)
}

// noSource is the error of an informer of the objects' type without a source.
func noSource(object any) error { return fmt.Errorf("informer of %T: %w", object, mistake.NoSource) }

// newCore returns a core without a source and a session.
func newCore[K comparable, T any](name string, key store.KeyFunc[K, T], opts Options[T]) (*core[K, T], error) {
	if opts.Packed {
		opts.Mutations = 0 // nobody has the store's objects
	}
	i := &core[K, T]{key: key, listeners: map[*listener[K, T]]struct{}{}, versions: newVersions[K, T]()}
	makeBase(&i.base, name, opts.Logger, opts.OnError, opts.Mutations)
	opts.OnError = i.onError
	if opts.Pending <= 0 {
		opts.Pending = defaultPending
	}
	i.opts = opts
	i.resample = func() { resample(i) }
	i.handlers = func() []handlerState { return handlersOf(i) }
	i.lagging = func(limit uint64) <-chan struct{} { return eventlog.Lagging(&i.log, limit) }
	i.wakeAll = func() { eventlog.WakeAll(&i.log) }
	i.care.look = func() { lookAfterHandlers(&i.base) }
	var err error
	i.store, err = store.New(key, store.Options[T]{
		Indexes: opts.Indexes, Unchanged: unchanged(&i.versions), Packed: opts.Packed, OnError: opts.OnError,
	})
	if err != nil {
		return nil, about(i.name, err)
	}
	i.versions.codec, _ = i.store.Packing()
	return i, nil
}

func makeBase(i *base, name string, logger *slog.Logger, onError func(error), mutations Mutations) {
	i.name = name
	i.logger = logs.New(logger, "informer", name)
	if i.onError = onError; onError == nil {
		i.onError = i.logger.Error
	}
	i.unread.log = &i.logger
	i.synced = make(chan struct{})
	i.turn = make(chan struct{}, 1)
	i.lag = handlerLag
	i.ownLimit = maxOwn
	i.detector = newDetector(mutations)
	i.hashes = maphash.MakeSeed()
}

// informerOf returns the Informer of a core. There must be only one.
func informerOf[K comparable, T any](i *core[K, T]) *Informer[K, T] {
	return &Informer[K, T]{reader: i.store.Reader(), typed: i, engine: i, unread: &i.unread}
}

// Failed returns an informer that only holds an error. It is for a function that opens informers
// and could not open one, so that the function need not return a pair: setup goes on, and finds the
// other mistakes. Run, WaitForSync and Err of the informer return err, which should name the
// resource and say what to do, and may not be nil. Nothing is sent.
func Failed[T any](resource string, err error) *Informer[types.NamespacedName, T] {
	if err == nil {
		err = about(resource, errors.New("Failed got no error"))
	}
	none := func(T) (key types.NamespacedName, _ error) { return key, err }
	i, _ := newCore(resource, none, Options[T]{}) // cannot fail: the type of keys is valid, and there are no indexes
	i.faults.add(errors.Join(err, firstSession(i)))
	i.unread.quiet()
	return informerOf(i)
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
