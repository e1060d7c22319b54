package clientgo

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"

	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/internal/logs"
	"github.com/kinform/kinform/reflector"
)

// NewSharedInformer is cache.NewSharedInformer. See [NewSharedIndexInformer].
func NewSharedInformer(lw cache.ListerWatcher, exampleObject runtime.Object, resync time.Duration) cache.SharedInformer {
	return NewSharedIndexInformer(lw, exampleObject, resync, nil)
}

// NewSharedIndexInformer is cache.NewSharedIndexInformer on Kinform's cache. See the package documentation for what
// differs. exampleObject may be nil: then objects of all types are taken. resync is the period of handlers that are
// added without one; zero means never.
//
// A ListerWatcher that is nil, or that returns nil or something that is no list, fails each request. That is reported
// like a refusal by the server, and tried again.
func NewSharedIndexInformer(lw cache.ListerWatcher, exampleObject runtime.Object, resync time.Duration, indexers cache.Indexers) cache.SharedIndexInformer {
	return NewSharedIndexInformerWithOptions(lw, exampleObject, cache.SharedIndexInformerOptions{ResyncPeriod: resync, Indexers: indexers})
}

// NewSharedIndexInformerWithOptions is cache.NewSharedIndexInformerWithOptions. See [NewSharedIndexInformer].
// opts.Identifier and opts.InformerMetricsProvider are not used.
func NewSharedIndexInformerWithOptions(lw cache.ListerWatcher, exampleObject runtime.Object, opts cache.SharedIndexInformerOptions) cache.SharedIndexInformer {
	return newShared(lw, exampleObject, opts)
}

func newShared(lw cache.ListerWatcher, exampleObject runtime.Object, opts cache.SharedIndexInformerOptions) *sharedInformer {
	name := opts.ObjectDescription
	if name == "" {
		name = fmt.Sprintf("%T", exampleObject)
	}
	s := &sharedInformer{lw: lw, example: exampleObject, resync: opts.ResyncPeriod, ended: make(chan struct{})}
	s.log = logs.New(nil, "informer", name)
	fits := checkType(exampleObject)
	source := reflector.Map(Source[runtime.Object](name, lw), func(obj runtime.Object) (any, error) {
		if err := fits(obj); err != nil || s.transform == nil {
			return obj, err
		}
		return s.transform(obj)
	})
	inf, err := informer.New(source, cache.DeletionHandlingMetaNamespaceKeyFunc, informer.Options[any]{OnError: s.report})
	if err != nil {
		panic(err) // not possible: there are a source, a key function and no indexes
	}
	s.inf, s.indexer = inf, &indexer{store: inf.Writer(), key: cache.DeletionHandlingMetaNamespaceKeyFunc, log: s.log}
	if err := s.indexer.AddIndexers(opts.Indexers); err != nil {
		panic(err) // not possible: a map has no name twice
	}
	return s
}

// sharedInformer is a cache.SharedIndexInformer.
type sharedInformer struct {
	// Set by New and never changed.
	lw      cache.ListerWatcher
	example runtime.Object
	resync  time.Duration
	inf     *informer.Informer[string, any]
	indexer *indexer
	log     logs.Log
	ended   chan struct{} // closed when Run has returned

	mu      sync.Mutex
	started bool

	// Set before Run, with mu held. Run's goroutines read them.
	transform cache.TransformFunc
	onError   cache.WatchErrorHandlerWithContext
	ctx       context.Context  // of Run
	reflector *cache.Reflector // for onError; it does not run
}

var errStarted = errors.New("clientgo: the informer has started already")

// report gets every error after which the informer continues.
func (s *sharedInformer) report(err error) {
	var failed *reflector.RequestError
	// As in client-go, the user's handler does not get the failure of a streaming list: a plain one follows.
	if s.onError != nil && errors.As(err, &failed) && failed.Verb != "watchlist" {
		s.onError(s.ctx, s.reflector, failed.Err)
		return
	}
	s.log.Error(err)
}

// Run implements cache.SharedInformer.
func (s *sharedInformer) Run(stop <-chan struct{}) { s.RunWithContext(wait.ContextForChannel(stop)) }

// RunWithContext implements cache.SharedInformer. A panic of a handler or another function of the user goes on here, with
// its own value.
func (s *sharedInformer) RunWithContext(ctx context.Context) {
	if err := s.begin(ctx); err != nil {
		s.log.Error(err)
		return
	}
	defer close(s.ended)
	err := s.inf.Run(ctx)
	var panicked *informer.PanicError
	if errors.As(err, &panicked) {
		panic(panicked.Value)
	}
	if err != nil {
		panic(err)
	}
}

func (s *sharedInformer) begin(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.started {
		return errStarted
	}
	s.started, s.ctx = true, ctx
	if s.onError != nil {
		opts := cache.ReflectorOptions{Name: s.log.Resource, TypeDescription: s.log.Resource}
		s.reflector = cache.NewReflectorWithOptions(s.lw, s.example, s.indexer, opts)
	}
	return nil
}

// stoppedError ends in the words of client-go's error, which programs look for, and is an informer.ErrStopped.
type stoppedError struct{ what, resource string }

func (e *stoppedError) Error() string {
	return fmt.Sprintf("clientgo: %s of %s was not added to shared informer because it has stopped already", e.what, e.resource)
}

func (e *stoppedError) Unwrap() error { return informer.ErrStopped }

// set calls f unless the informer has started.
func (s *sharedInformer) set(f func()) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.started {
		return errStarted
	}
	f()
	return nil
}

// SetTransform implements cache.SharedInformer.
func (s *sharedInformer) SetTransform(f cache.TransformFunc) error {
	return s.set(func() { s.transform = f })
}

// SetWatchErrorHandler implements cache.SharedInformer. f gets the cause of a failed list or watch, and a Reflector
// that has the informer's names and does not run.
func (s *sharedInformer) SetWatchErrorHandler(f cache.WatchErrorHandler) error {
	return s.SetWatchErrorHandlerWithContext(func(_ context.Context, r *cache.Reflector, err error) { f(r, err) })
}

// SetWatchErrorHandlerWithContext implements cache.SharedInformer. See SetWatchErrorHandler.
func (s *sharedInformer) SetWatchErrorHandlerWithContext(f cache.WatchErrorHandlerWithContext) error {
	return s.set(func() { s.onError = f })
}

// HasSynced implements cache.SharedInformer.
func (s *sharedInformer) HasSynced() bool { return isClosed(s.inf.Synced()) }

// HasSyncedChecker implements cache.SharedInformer.
func (s *sharedInformer) HasSyncedChecker() cache.DoneChecker {
	return checker{"informer of " + s.log.Resource, s.inf.Synced()}
}

// LastSyncResourceVersion implements cache.SharedInformer.
func (s *sharedInformer) LastSyncResourceVersion() string { return s.inf.Store().ResourceVersion() }

// IsStopped implements cache.SharedInformer.
func (s *sharedInformer) IsStopped() bool { return isClosed(s.ended) }

// GetStore implements cache.SharedInformer.
func (s *sharedInformer) GetStore() cache.Store { return s.indexer }

// GetIndexer implements cache.SharedIndexInformer. Its writes are for tests: handlers hear nothing of them, and the next
// change or list of the server overrides them.
func (s *sharedInformer) GetIndexer() cache.Indexer { return s.indexer }

// AddIndexers implements cache.SharedIndexInformer.
func (s *sharedInformer) AddIndexers(indexers cache.Indexers) error {
	if s.IsStopped() {
		return &stoppedError{"indexers", s.log.Resource}
	}
	return s.indexer.AddIndexers(indexers)
}

// GetController implements cache.SharedInformer. The Controller's Run does nothing.
func (s *sharedInformer) GetController() cache.Controller { return idle{s} }

// idle is the informer without its Run.
type idle struct{ *sharedInformer }

func (idle) Run(<-chan struct{})                {}
func (idle) RunWithContext(ctx context.Context) {}

// checker is a cache.DoneChecker.
type checker struct {
	name string
	done <-chan struct{}
}

func (c checker) Name() string          { return c.name }
func (c checker) Done() <-chan struct{} { return c.done }

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
