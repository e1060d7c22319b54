package clientgo

import (
	"context"
	"errors"
	"log/slog"

	"k8s.io/apimachinery/pkg/sharding"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"

	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/internal/logs"
	"github.com/kinform/kinform/internal/mistake"
)

// InformerOptions configure [Informer]. The zero value works.
type InformerOptions struct {
	// Logger gets the errors of index functions. Nil means slog.Default().
	Logger *slog.Logger
}

// Informer is a typed informer, or a handle on one, as a cache.SharedIndexInformer, for code that
// takes one. Both are the same cache and may be used side by side; several adapters of one
// informer, too. At most one opts is used.
//
//	shared, err := clientgo.Informer(pods)
//	lister := corelisters.NewPodLister(shared.GetIndexer())
//
// Handlers get what client-go's would. A handler without its own period resyncs after
// informer.Options.Resync. The objects are of type T, shared, and to be treated as read-only. The
// indexer reads the store. It has the store's indexes whose values are strings. The first lister that
// lists one namespace adds an index of the namespaces, unless there is one: see index.AddNamespace.
// The indexer's Get and its writes need objects with metadata.
//
// What differs from an informer of [NewSharedIndexInformer]: a panic in a handler ends the Run of
// the informer with an error, and its RunWithContext here with the panic. It may run again after a
// stop. SetTransform, SetShardSelector and SetWatchErrorHandler return an error: reflector.Map,
// reflector.Shard and informer.Options.OnError are in their place.
//
// Errors: informer.ErrInvalid if inf is nil.
func Informer[T any](inf informer.Informed[types.NamespacedName, T], opts ...InformerOptions) (cache.SharedIndexInformer, error) {
	if inf == nil {
		return nil, mistake.NoInformer
	}
	i := inf.AsInformer()
	if i == nil {
		return nil, mistake.NoInformer
	}
	var opt InformerOptions
	if len(opts) > 0 {
		opt = opts[0]
	}
	return &typedInformer[T]{newShared(i, objectNames, logs.New(opt.Logger, "informer", i.Resource()))}, nil
}

// objectNames are the names of objects with the usual key.
var objectNames = names[types.NamespacedName]{
	of: func(obj any) (types.NamespacedName, error) {
		name, err := cache.DeletionHandlingObjectToName(obj)
		return name.AsNamespacedName(), err
	},
	text: func(key types.NamespacedName) string { return cache.NamespacedNameAsObjectName(key).String() },
	parse: func(text string) (types.NamespacedName, error) {
		name, err := cache.ParseObjectName(text)
		return name.AsNamespacedName(), err
	},
}

// typedInformer is a cache.SharedIndexInformer.
type typedInformer[T any] struct {
	shared[types.NamespacedName, T]
}

var errTyped = errors.New("clientgo: the source of a typed informer selects and transforms its objects, and informer.Options.OnError gets its errors")

// Run implements cache.SharedInformer.
func (s *typedInformer[T]) Run(stop <-chan struct{}) { s.RunWithContext(wait.ContextForChannel(stop)) }

// RunWithContext implements cache.SharedInformer. If the informer runs already, it logs that and
// returns.
func (s *typedInformer[T]) RunWithContext(ctx context.Context) { s.run(ctx) }

// SetTransform implements cache.SharedInformer.
func (s *typedInformer[T]) SetTransform(cache.TransformFunc) error { return errTyped }

// SetShardSelector implements cache.SharedInformer of client-go 0.38 and later.
func (s *typedInformer[T]) SetShardSelector(sharding.Selector) error { return errTyped }

// SetWatchErrorHandler implements cache.SharedInformer.
func (s *typedInformer[T]) SetWatchErrorHandler(cache.WatchErrorHandler) error { return errTyped }

// SetWatchErrorHandlerWithContext implements cache.SharedInformer.
func (s *typedInformer[T]) SetWatchErrorHandlerWithContext(cache.WatchErrorHandlerWithContext) error {
	return errTyped
}
