package controllerruntime

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	kinformclient "github.com/kinform/kinform/client"
	"github.com/kinform/kinform/shard"
)

var (
	// ErrNoList is returned by [Divide] without ShardKeys.All or without a reconciler.
	ErrNoList = errors.New("controllerruntime: ShardKeys.All and the reconciler must not be nil")
	// ErrSourceStarted is returned by Start of the source of a [Shard] when it is called twice: a
	// Shard serves one controller.
	ErrSourceStarted = errors.New("controllerruntime: the source of a shard was started before")
)

// retryList is the time between two attempts to list keys.
const retryList = time.Second

// ShardKeys says what [Divide] needs to know about the requests of a controller. Hashed and All
// must be set.
type ShardKeys[Q comparable] struct {
	// Hashed returns the text by which a request is assigned. See shard.Keys.Hashed.
	Hashed func(Q) string

	// All returns all requests of the controller, such as [Listed] does. When ranges come to this
	// replica, those in them are added to the queue. It is called by one goroutine at a time. An
	// error is logged, and it is called again after a second.
	All func(context.Context) ([]Q, error)

	// CatchUp is shard.Keys.CatchUp. Nil means that ranges do not wait: the cache may be as old as
	// any controller's after a restart.
	CatchUp func(context.Context) error

	// Grace is how long the context of a running call of the reconciler outlives the context of its
	// controller, so that the call can finish when the manager ends: a write that is cut off holds
	// its range for a while, see shard.Replica.Gate. Zero means not at all, negative means until
	// the call returns.
	Grace time.Duration
}

// ByKey returns namespace and name of a request, for ShardKeys.Hashed.
func ByKey(req reconcile.Request) string { return shard.ByKey(req.NamespacedName) }

// ByNamespace returns the namespace of a request, for ShardKeys.Hashed: all of one namespace
// belongs to one replica.
func ByNamespace(req reconcile.Request) string { return shard.ByNamespace(req.NamespacedName) }

// Listed returns a function for ShardKeys.All: a request for each object of a list that it reads
// from the manager's cache. list is an empty list of the type that the controller watches, and opts
// select the objects that it works on.
func Listed(cache client.Reader, list client.ObjectList, opts ...client.ListOption) func(context.Context) ([]reconcile.Request, error) {
	opts = append(slices.Clone(opts), client.UnsafeDisableDeepCopy)
	return func(ctx context.Context) (all []reconcile.Request, err error) {
		objects := list.DeepCopyObject().(client.ObjectList)
		if err := cache.List(ctx, objects, opts...); err != nil {
			return nil, err
		}
		all = make([]reconcile.Request, 0, meta.LenList(objects))
		err = meta.EachListItem(objects, func(obj runtime.Object) error {
			o, err := meta.Accessor(obj)
			if err == nil {
				all = append(all, request(o))
			}
			return err
		})
		return all, err
	}
}

func request(o metav1.Object) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}}
}

// Shard is the part of a controller's requests that belongs to a replica. It is the reconciler of
// the controller, and [Shard.Source] one of its sources. Make one with [Divide].
type Shard[Q comparable] struct {
	work  *shard.Work[Q]
	all   func(context.Context) ([]Q, error)
	grace time.Duration

	begun   chan struct{} // closed when the source has started
	works   chan struct{} // closed by the first call of Reconcile
	working sync.Once

	mu sync.Mutex
	// Set by the source's Start, before begun is closed.
	ctx   context.Context // of the controller
	queue workqueue.TypedRateLimitingInterface[Q]
}

// Divide divides the requests of one controller among replicas, as shard.Divide does for Kinform's
// controllers. Several controllers may share a replica. It returns [ErrNoList], and the errors of
// shard.Divide.
func Divide[Q comparable](r *shard.Replica, keys ShardKeys[Q], reconciler reconcile.TypedReconciler[Q]) (*Shard[Q], error) {
	if keys.All == nil || reconciler == nil {
		return nil, ErrNoList
	}
	s := &Shard[Q]{all: keys.All, grace: keys.Grace, begun: make(chan struct{}), works: make(chan struct{})}
	var err error
	s.work, err = shard.Divide(r, shard.Keys[Q]{
		Hashed: keys.Hashed, All: s.keys, Add: s.add,
		CatchUp: func(ctx context.Context) error {
			if err := s.WaitForSync(ctx); err != nil || keys.CatchUp == nil {
				return err
			}
			return keys.CatchUp(ctx)
		},
	}, func(ctx context.Context, q Q) (err error) {
		result := ctx.Value(resultKey{}).(*reconcile.Result)
		*result, err = reconciler.Reconcile(ctx, q)
		return err
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

type resultKey struct{}

// Reconcile implements reconcile.TypedReconciler. It calls the reconciler of [Divide] for a request
// of this replica, and passes over the requests of others, even if they were queued, or were to be
// queued again after some time, when their range moved.
//
// The context ends when this replica's lease is over, and shard.Number returns the fencing number
// by it.
func (s *Shard[Q]) Reconcile(ctx context.Context, q Q) (result reconcile.Result, err error) {
	s.working.Do(func() { close(s.works) })
	ctx, cancel := outlive(ctx, s.grace)
	defer cancel()
	err = s.work.Reconcile(context.WithValue(ctx, resultKey{}, &result), q)
	return result, err
}

// outlive returns a context that ends some time after ctx was cancelled, or at its deadline.
func outlive(ctx context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	if grace == 0 {
		return context.WithCancel(ctx)
	}
	longer, cancel := context.WithoutCancel(ctx), context.CancelFunc(nil)
	if at, ok := ctx.Deadline(); ok {
		longer, cancel = context.WithDeadline(longer, at)
	} else {
		longer, cancel = context.WithCancel(longer)
	}
	if grace < 0 {
		return longer, cancel
	}
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-longer.Done():
		case <-time.After(grace):
			cancel()
		}
	})
	return longer, func() {
		stop()
		cancel()
	}
}

// Has reports whether this replica works on a request now. Use it in predicates, so that the
// requests of others are not queued.
func (s *Shard[Q]) Has(q Q) bool { return s.work.Has(q) }

// Source returns the source of the requests in ranges that come to this replica. Its controller
// must have it, by builder.WatchesRawSource or controller.Watch: before it is started, this replica
// works on nothing. Start returns [ErrSourceStarted] when it is called twice.
func (s *Shard[Q]) Source() source.TypedSource[Q] {
	return source.TypedFunc[Q](func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[Q]) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.queue != nil {
			return ErrSourceStarted
		}
		s.ctx, s.queue = ctx, queue
		close(s.begun)
		return nil
	})
}

// WaitForSync returns nil when the controller works: all its sources are synced, and ShardKeys.All
// succeeds. It returns the error of ctx if that ends first. To learn that the controller works, it
// queues one of the requests.
func (s *Shard[Q]) WaitForSync(ctx context.Context) error {
	select {
	case <-s.begun:
	case <-ctx.Done():
		return ctx.Err()
	}
	all, err := s.list(ctx)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return nil
	}
	select {
	case <-s.works:
		return nil
	default:
		s.add(all[0])
	}
	select {
	case <-s.works:
		return nil
	case <-s.ctx.Done(): // its workers never came
		return s.ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// list lists all requests, and repeats that until it succeeds or ctx ends.
func (s *Shard[Q]) list(ctx context.Context) ([]Q, error) {
	for {
		all, err := s.all(ctx)
		if err == nil {
			return all, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		log.FromContext(s.ctx).Error(err, "the keys of this shard cannot be listed, which is tried again")
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(retryList):
		}
	}
}

// keys is shard.Keys.All. It is called after WaitForSync.
func (s *Shard[Q]) keys() iter.Seq[Q] {
	all, _ := s.list(s.ctx) // an error only when the controller has ended
	return slices.Values(all)
}

func (s *Shard[Q]) add(q Q) { s.queue.Add(q) }

// Predicate lets the events of objects pass whose requests, by namespace and name, this replica
// works on: for builder.For with builder.WithPredicates. builder.Owns and builder.Watches need
// none, because [Shard.Reconcile] passes over the requests of others.
func Predicate(s *Shard[reconcile.Request]) predicate.Predicate {
	return predicate.NewPredicateFuncs(func(obj client.Object) bool { return s.Has(request(obj)) })
}

// Replica lets a manager run a replica. It takes part in the work when each of shards, and of other
// caches that reconcile reads, has answered WaitForSync. So ranges come to it only when it can
// work. It runs in every process: a manager with a replica needs no leader election. An error of
// WaitForSync or of the replica's Run ends the manager.
//
// The replica gives its ranges up at the manager's end. Let ctrl.Options.GracefulShutdownTimeout be
// longer than a reconcile.
func Replica(r *shard.Replica, shards ...interface{ WaitForSync(context.Context) error }) manager.Runnable {
	return runnable{func(ctx context.Context) error {
		for _, s := range shards {
			if err := s.WaitForSync(ctx); err != nil {
				if ctx.Err() != nil {
					return nil // the manager ends
				}
				return fmt.Errorf("controllerruntime: the replica %s waits for a cache: %w", r.Identity(), err)
			}
		}
		return r.Run(ctx)
	}}
}

// GatedClient returns a function for ctrl.Options.NewClient: the manager's client then refuses
// writes when the lease of a replica is over, as shard.Replica.Gate does. Pass the context of
// Reconcile to every write. Reads, and the writes of the manager itself, such as events, always
// pass.
func GatedClient(r *shard.Replica) client.NewClientFunc {
	return func(config *rest.Config, options client.Options) (client.Client, error) {
		if options.HTTPClient == nil {
			var err error
			if options.HTTPClient, err = rest.HTTPClientFor(config); err != nil {
				return nil, err
			}
		}
		options.HTTPClient = r.Gate(kinformclient.Connection{HTTP: options.HTTPClient}).HTTP
		return client.New(config, options)
	}
}
