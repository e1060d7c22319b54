package clientgo

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/sharding"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/internal/logs"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/with/clientgo/internal/stock"
)

// NewSharedInformer is cache.NewSharedInformer. See [NewSharedIndexInformer].
func NewSharedInformer(lw cache.ListerWatcher, exampleObject runtime.Object, resync time.Duration) cache.SharedInformer {
	return NewSharedIndexInformer(lw, exampleObject, resync, nil)
}

// NewSharedIndexInformer is cache.NewSharedIndexInformer on Kinform's cache. See the package
// documentation for what differs. exampleObject may be nil: then objects of all types are taken.
// resync is the period of handlers that are added without one; zero means never.
//
// A ListerWatcher that is nil, or that returns nil or something that is no list, fails each
// request. That is reported like a refusal by the server, and tried again.
func NewSharedIndexInformer(lw cache.ListerWatcher, exampleObject runtime.Object, resync time.Duration, indexers cache.Indexers) cache.SharedIndexInformer {
	return NewSharedIndexInformerWithOptions(lw, exampleObject, cache.SharedIndexInformerOptions{ResyncPeriod: resync, Indexers: indexers})
}

// NewSharedIndexInformerWithOptions is cache.NewSharedIndexInformerWithOptions. See
// [NewSharedIndexInformer]. opts.Identifier and opts.InformerMetricsProvider are not used. client-go 0.38 has
// opts.ShardSelector: see SetShardSelector of the result.
func NewSharedIndexInformerWithOptions(lw cache.ListerWatcher, exampleObject runtime.Object, opts cache.SharedIndexInformerOptions) cache.SharedIndexInformer {
	s := newUntyped(lw, exampleObject, opts)
	_ = s.SetShardSelector(stock.ShardOf(opts)) // requests fail with the error
	return s
}

func newUntyped(lw cache.ListerWatcher, exampleObject runtime.Object, opts cache.SharedIndexInformerOptions) *sharedInformer {
	name := opts.ObjectDescription
	if name == "" {
		name = fmt.Sprintf("%T", exampleObject)
	}
	whole := Source[runtime.Object](name, lw)
	s := &sharedInformer{lw: lw, example: exampleObject, whole: whole, selected: &selected{whole}}
	fits := checkType(exampleObject)
	source := reflector.Map[runtime.Object](s.selected, func(obj runtime.Object) (any, error) {
		if err := fits(obj); err != nil || s.transform == nil {
			return obj, err
		}
		return s.transform(obj)
	})
	inf, err := informer.New(source, cache.DeletionHandlingMetaNamespaceKeyFunc, informer.Options[any]{OnError: s.report, Resync: period(opts.ResyncPeriod)})
	if err != nil {
		panic(err) // not possible: there are a source, a key function and no indexes
	}
	s.shared = newShared(inf, textNames(cache.DeletionHandlingMetaNamespaceKeyFunc), logs.New(nil, "informer", name))
	s.guard = func(h informer.Handler[string, any], logger *klog.Logger) informer.Handler[string, any] {
		return crashing{h, s, logger}
	}
	if err := s.indexer.AddIndexers(opts.Indexers); err != nil {
		panic(err) // not possible: a map has no name twice
	}
	return s
}

// textNames are names of objects that are text in the store, too.
func textNames(of cache.KeyFunc) names[string] {
	return names[string]{of: of, text: func(key string) string { return key }, parse: func(text string) (string, error) { return text, nil }}
}

// sharedInformer is a cache.SharedIndexInformer on a ListerWatcher.
type sharedInformer struct {
	shared[string, any]

	// Set by New and never changed.
	lw       cache.ListerWatcher
	example  runtime.Object
	whole    reflector.Source[runtime.Object] // of lw
	selected *selected

	mu      sync.Mutex
	started bool

	// Set before Run, with mu held. Run's goroutines read them.
	transform cache.TransformFunc
	onError   cache.WatchErrorHandlerWithContext
	ctx       context.Context  // of Run
	reflector *cache.Reflector // for onError; it does not run
}

// selected is the source of an informer: of all objects or of a shard. SetShardSelector replaces it before Run.
type selected struct {
	reflector.Source[runtime.Object]
}

var errStarted = errors.New("clientgo: the informer has started already")

// report gets every error after which the informer continues.
func (s *sharedInformer) report(err error) {
	var failed *reflector.RequestError
	// As in client-go, the user's handler does not get the failure of a streaming list: a plain one
	// follows.
	if s.onError != nil && errors.As(err, &failed) && failed.Verb != "watchlist" {
		s.onError(s.ctx, s.reflector, failed.Err)
		return
	}
	s.log.Error(err)
}

// Run implements cache.SharedInformer.
func (s *sharedInformer) Run(stop <-chan struct{}) { s.RunWithContext(wait.ContextForChannel(stop)) }

// RunWithContext implements cache.SharedInformer. A panic of a handler or another function of the
// user goes on here, with its own value.
func (s *sharedInformer) RunWithContext(ctx context.Context) {
	if err := s.begin(ctx); err != nil {
		s.log.Error(err)
		return
	}
	s.run(ctx)
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

// SetWatchErrorHandler implements cache.SharedInformer. f gets the cause of a failed list or watch,
// and a Reflector that has the informer's names and does not run.
func (s *sharedInformer) SetWatchErrorHandler(f cache.WatchErrorHandler) error {
	return s.SetWatchErrorHandlerWithContext(func(_ context.Context, r *cache.Reflector, err error) { f(r, err) })
}

// SetWatchErrorHandlerWithContext implements cache.SharedInformer. See SetWatchErrorHandler.
func (s *sharedInformer) SetWatchErrorHandlerWithContext(f cache.WatchErrorHandlerWithContext) error {
	return s.set(func() { s.onError = f })
}

// SetShardSelector implements cache.SharedInformer of client-go 0.38 and later. The informer has the objects that
// selector selects, as reflector.Shard describes; nil, and a selector that selects everything, mean all objects. A
// selector that reflector.Shard refuses fails each request, too: factories of client-go drop the error.
func (s *sharedInformer) SetShardSelector(selector sharding.Selector) error {
	source, bad := s.whole, error(nil)
	if selector != nil && !selector.Empty() {
		if source, bad = reflector.Shard(s.whole, selector); bad != nil {
			source = failing[runtime.Object](s.whole.Resource(), bad)
		}
	}
	return errors.Join(s.set(func() { s.selected.Source = source }), bad)
}
