package factory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/store"
)

// Request selects objects of a resource. The zero value selects the objects of the factory's
// Options.
type Request[T any] struct {
	// Select selects the objects and configures how they are fetched. An empty namespace or
	// selector takes the factory's. These three fields are part of the informer's identity.
	// All other fields count only in the first request for an informer.
	Select client.Options

	// Informer configures the informer, if this request is the first for it. Zero fields take
	// the factory's Options. Indexes are also added to an existing informer. Requests may
	// repeat the same *index.Index, so keep it in a variable. Another index with the same name
	// is a conflict, even the result of a second call of index.Namespace.
	Informer informer.Options[T]
}

// Projection turns each R from the server into the T that is cached. See reflector.Map.
type Projection[K comparable, R, T any] struct {
	// Name tells projections between the same types apart, because functions cannot be
	// compared.
	Name string
	// Func is called for each object.
	Func func(R) (T, error)
	// Key returns the key of a projected object.
	Key store.KeyFunc[K, T]
}

// identity holds everything that two requests must agree on to share an informer.
type identity struct {
	cached, sent  reflect.Type
	keyed         reflect.Type
	resource      schema.GroupVersionResource
	namespace     string
	labels        string // see sameLabels
	fields        string // see sameFields
	projectedName string
	customName    string
}

// identityOf returns the part of an identity that the kind decides.
func identityOf[T any](k *kind.Kind[T]) identity {
	return identity{sent: reflect.TypeFor[T](), resource: k.GroupVersionResource()}
}

// Handle is one user's share in an informer. It has the informer's methods. Do not call Run:
// the factory does.
type Handle[K comparable, T any] struct {
	*informer.Informer[K, T]
	release func()
}

// AsInformer returns the shared informer. With it a handle can be passed to controller.For and
// everything else that takes an informer.Informed.
func (h *Handle[K, T]) AsInformer() *informer.Informer[K, T] {
	if h == nil {
		return nil
	}
	return h.Informer
}

// Release gives the handle back. After the last release the informer stops soon; Release does
// not wait for that and may be called from a handler. Waits for the informer then end with
// informer.ErrStopped, even if it never ran. Handlers that were added through the handle stay
// while others hold the informer: remove them first. Calling Release again does nothing.
func (h *Handle[K, T]) Release() { h.release() }

// For returns a handle on the informer of a kind, keyed by namespace and name. If the factory runs,
// so does the informer at once. Errors: informer.ErrStopped after [Factory.Run], [ErrKind], and the
// errors of client.New, informer.New, and informer.Informer.AddIndexes.
func For[T metav1.Object](f *Factory, k *kind.Kind[T], req Request[T]) (*Handle[types.NamespacedName, T], error) {
	if k == nil {
		return nil, k.Check()
	}
	return request(f, identityOf(k), kind.As[any](k), req,
		func(opts client.Options) (reflector.Source[T], error) { return open(f, k, opts) },
		store.ObjectKey[T])
}

// Project returns a handle on an informer that caches projections of a kind's objects. Errors:
// [ErrUnnamed], [ErrNoProjection], and the errors of For.
func Project[K comparable, R, T any](f *Factory, k *kind.Kind[R], project Projection[K, R, T], req Request[T]) (*Handle[K, T], error) {
	if k == nil {
		return nil, k.Check()
	}
	if project.Name == "" {
		return nil, fmt.Errorf("factory: a projection of %s: %w", k, ErrUnnamed)
	}
	if project.Func == nil {
		return nil, fmt.Errorf("factory: the projection %q of %s: %w", project.Name, k, ErrNoProjection)
	}
	id := identityOf(k)
	id.projectedName = project.Name
	return request(f, id, kind.As[any](k), req, func(opts client.Options) (reflector.Source[T], error) {
		raw, err := open(f, k, opts)
		if err != nil {
			return nil, err
		}
		return reflector.Map(raw, project.Func), nil
	}, project.Key)
}

// Custom describes an informer of a source that is not a resource of the factory's connection: of a
// clientset, another cluster, or no cluster at all.
type Custom[K comparable, T any] struct {
	// Name tells sources apart, because functions cannot be compared. Requests share an
	// informer if they agree on it and on everything else that the package documentation names.
	Name string
	// Open returns the source of a selection: the request's Select, completed by the factory's
	// Options. It runs with the factory's lock held and must not use the factory.
	Open func(client.Options) (reflector.Source[T], error)
	// Key returns the key of an object.
	Key store.KeyFunc[K, T]
}

// ForSource returns a handle on an informer of the program's own source. The factory's Transform
// and TweakListOptions apply to it. Errors: [ErrUnnamed], [ErrNoOpen], and the errors of Open and
// For.
func ForSource[K comparable, T any](f *Factory, custom Custom[K, T], req Request[T]) (*Handle[K, T], error) {
	if custom.Name == "" {
		return nil, fmt.Errorf("factory: a source of %T: %w", *new(T), ErrUnnamed)
	}
	if custom.Open == nil {
		return nil, fmt.Errorf("factory: the source %q: %w", custom.Name, ErrNoOpen)
	}
	id := identity{sent: reflect.TypeFor[T](), customName: custom.Name}
	return request(f, id, &kind.Kind[any]{}, req, func(opts client.Options) (reflector.Source[T], error) {
		source, err := custom.Open(opts)
		if err != nil {
			return nil, err
		}
		return adapted(f, source), nil
	}, custom.Key)
}

// open returns a source for a kind.
func open[R any](f *Factory, k *kind.Kind[R], opts client.Options) (reflector.Source[R], error) {
	source, err := client.New(f.conn, k, opts)
	if err != nil {
		return nil, err
	}
	return adapted(f, source), nil
}

// adapted returns source with the factory's TweakListOptions and Transform applied.
func adapted[R any](f *Factory, source reflector.Source[R]) reflector.Source[R] {
	source = reflector.Tweak(source, f.opts.TweakListOptions)
	if f.opts.Transform == nil {
		return source
	}
	return reflector.Map(source, func(obj R) (R, error) {
		object, ok := any(obj).(metav1.Object)
		if !ok {
			object, ok = any(&obj).(metav1.Object)
		}
		if !ok {
			return obj, nil
		}
		return obj, f.opts.Transform(object)
	})
}

// request returns a handle on the requested informer, and makes the informer if necessary.
func request[K comparable, T any](f *Factory, id identity, k *kind.Kind[any], req Request[T], open func(client.Options) (reflector.Source[T], error), key store.KeyFunc[K, T]) (*Handle[K, T], error) {
	sel := f.selected(k.Scope, req.Select)
	id.cached, id.keyed = reflect.TypeFor[T](), reflect.TypeFor[K]()
	id.namespace, id.labels, id.fields = sel.Namespace, sameLabels(sel.LabelSelector), sameFields(sel.FieldSelector)
	s, err := f.hold(id, k, func() (*shared, error) {
		source, err := open(sel)
		if err != nil {
			return nil, err
		}
		inf, err := informer.New(source, key, configured(f, req.Informer))
		if err != nil {
			return nil, err
		}
		run := func(ctx context.Context) error { return runOrFollow(ctx, inf) }
		return &shared{inf: inf, untyped: inf, resource: inf.Resource(), run: run, wait: inf.WaitForSync, stats: inf.Stats}, nil
	})
	if err != nil {
		return nil, err
	}
	inf := s.inf.(*informer.Informer[K, T]) // the types are part of the identity
	h := &Handle[K, T]{Informer: inf, release: sync.OnceFunc(func() { f.giveBack(id, s) })}
	if err := addIndexes(inf, req.Informer.Indexes); err != nil {
		h.Release()
		return nil, err
	}
	return h, nil
}

// hold returns the entry of id with one more handle. If there is none, open makes it.
func (f *Factory) hold(id identity, k *kind.Kind[any], open func() (*shared, error)) (*shared, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.phase == stopped || f.phase == running && f.ctx.Err() != nil {
		return nil, informer.ErrStopped
	}
	s := f.shared[id]
	if s == nil {
		var err error
		if s, err = open(); err != nil {
			return nil, err
		}
		s.kind = k
		f.shared[id] = s
		if f.phase == running {
			f.start(s)
		}
	}
	if differ(s.kind.Kind, k.Kind) || differ(s.kind.Scope, k.Scope) {
		return nil, fmt.Errorf("%s: %w: %s and %s", s.resource, ErrKind, named(s.kind), named(k))
	}
	s.handles++
	return s, nil
}

// differ reports whether two names that may be unknown are known to differ.
func differ[S ~string](a, b S) bool { return a != "" && b != "" && a != b }

func named(k *kind.Kind[any]) string {
	return fmt.Sprintf("%s %q", cmp.Or(k.Scope, "unknown scope"), k.Kind)
}

// giveBack releases one handle.
func (f *Factory) giveBack(id identity, s *shared) {
	f.mu.Lock()
	s.handles--
	last, stop := s.handles == 0, s.stop
	if last {
		delete(f.shared, id)
	}
	f.mu.Unlock()
	switch {
	case !last:
	case stop != nil:
		stop()
	default:
		// It will not run. A run that ends at once releases all waiters.
		over, end := context.WithCancel(context.Background())
		end()
		_ = s.run(over)
	}
}

// addIndexes adds the indexes of defs that inf does not have.
func addIndexes[K comparable, T any](inf *informer.Informer[K, T], defs []index.Definition[T]) error {
	for _, def := range defs {
		err := inf.AddIndexes(def)
		if errors.Is(err, index.ErrDuplicate) && inf.Store().Indexer().Definitions()[def.Name()] == def {
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// selected returns a request's selection, completed by the factory's Options.
func (f *Factory) selected(scope kind.Scope, sel client.Options) client.Options {
	if scope != kind.ClusterScoped {
		sel.Namespace = cmp.Or(sel.Namespace, f.opts.Namespace)
	}
	sel.LabelSelector = cmp.Or(sel.LabelSelector, f.opts.LabelSelector)
	sel.FieldSelector = cmp.Or(sel.FieldSelector, f.opts.FieldSelector)
	return sel
}

// configured returns a request's informer options, completed by the factory's Options.
func configured[T any](f *Factory, opts informer.Options[T]) informer.Options[T] {
	if opts.OnError == nil {
		opts.OnError = f.opts.OnError
	}
	opts.Logger = cmp.Or(opts.Logger, f.opts.Logger)
	opts.Resync = cmp.Or(opts.Resync, f.opts.Resync)
	opts.Packed = opts.Packed || f.opts.Packed
	if reflect.ValueOf(opts.Reflector).IsZero() {
		opts.Reflector = f.opts.Reflector
	}
	return opts
}
