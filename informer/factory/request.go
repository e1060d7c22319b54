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
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/store"
)

// Request selects objects of a resource. The zero value selects those of the factory's
// Options.
type Request[T any] struct {
	// Select chooses the objects, and how they are fetched. An empty namespace or selector is
	// that of the factory's Options. These three decide which informer it is. All other fields
	// are those of the first request.
	Select client.Options

	// Informer configures the informer, if this request is the first for it. Zero fields take
	// the factory's Options. Indexes are also added to an informer that exists already. Asking
	// again for the same *index.Index is no conflict, so keep it in a variable. Another index of
	// the same name is one, such as the result of a second call of index.Namespace.
	Informer informer.Options[T]
}

// Projection makes the T that is cached of the R that the server sends. See reflector.Map.
type Projection[K comparable, R, T any] struct {
	// Name tells projections between the same types apart, which functions cannot.
	Name string
	// Func is called for each object.
	Func func(R) (T, error)
	// Key gives the key of what is cached.
	Key store.KeyFunc[K, T]
}

// identity is what two requests have in common that share an informer.
type identity struct {
	cached, sent  reflect.Type
	keyed         reflect.Type
	resource      schema.GroupVersionResource
	namespace     string
	labels        string // see sameLabels
	fields        string // see sameFields
	projectedName string
}

// Handle is a place at a shared informer. Its methods are those of the informer. Do not call
// Run: the factory does.
type Handle[K comparable, T any] struct {
	*informer.Informer[K, T]
	release func()
}

// Release gives the handle back, and with the last one the informer stops, soon. It does
// not wait and may be called from a handler. What waits for the informer then
// ends with informer.ErrStopped, also if it was never run. Handlers that were added by the handle stay
// if others hold the informer: remove them. Releasing again does nothing.
func (h *Handle[K, T]) Release() { h.release() }

// For returns a handle on the informer of a resource, keyed by namespace and name. It
// begins to run at once if the factory runs. Errors: informer.ErrStopped after [Factory.Run], and those of client.New,
// informer.New, and informer.Informer.AddIndexes.
func For[T metav1.Object](f *Factory, resource schema.GroupVersionResource, req Request[T]) (*Handle[types.NamespacedName, T], error) {
	return request(f, identity{sent: reflect.TypeFor[T](), resource: resource}, req,
		func(opts client.Options) (reflector.Source[T], error) { return open[T](f, resource, opts) },
		store.ObjectKey[T])
}

// Project returns a handle on the informer of what project makes of a resource's objects.
// Errors: [ErrNoName], [ErrNoProjection], and those of For.
func Project[K comparable, R, T any](f *Factory, resource schema.GroupVersionResource, project Projection[K, R, T], req Request[T]) (*Handle[K, T], error) {
	if project.Name == "" {
		return nil, ErrNoName
	}
	if project.Func == nil {
		return nil, ErrNoProjection
	}
	id := identity{sent: reflect.TypeFor[R](), resource: resource, projectedName: project.Name}
	return request(f, id, req, func(opts client.Options) (reflector.Source[T], error) {
		raw, err := open[R](f, resource, opts)
		if err != nil {
			return nil, err
		}
		return reflector.Map(raw, project.Func), nil
	}, project.Key)
}

// open returns the source of what the server sends, with the factory's Transform applied.
func open[R any](f *Factory, resource schema.GroupVersionResource, opts client.Options) (reflector.Source[R], error) {
	raw, err := client.New[R](f.conn, resource, opts)
	if err != nil {
		return nil, err
	}
	if f.opts.Transform == nil {
		return raw, nil
	}
	return reflector.Map(raw, func(obj R) (R, error) {
		object, ok := any(obj).(metav1.Object)
		if !ok {
			object, ok = any(&obj).(metav1.Object)
		}
		if !ok {
			return obj, nil
		}
		return obj, f.opts.Transform(object)
	}), nil
}

// request returns a handle on the informer that is asked for, which it makes if need be.
func request[K comparable, T any](f *Factory, id identity, req Request[T], open func(client.Options) (reflector.Source[T], error), key store.KeyFunc[K, T]) (*Handle[K, T], error) {
	sel := f.selected(req.Select)
	id.cached, id.keyed = reflect.TypeFor[T](), reflect.TypeFor[K]()
	id.namespace, id.labels, id.fields = sel.Namespace, sameLabels(sel.LabelSelector), sameFields(sel.FieldSelector)
	s, err := f.hold(id, func() (*shared, error) {
		source, err := open(sel)
		if err != nil {
			return nil, err
		}
		inf, err := informer.New(source, key, configured(f, req.Informer))
		if err != nil {
			return nil, err
		}
		run := func(ctx context.Context) error { return runOrFollow(ctx, inf) }
		return &shared{inf: inf, resource: inf.Resource(), run: run, wait: inf.WaitForSync, stats: inf.Stats}, nil
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

// hold returns what is shared under id, made if there is none, with one handle more.
func (f *Factory) hold(id identity, open func() (*shared, error)) (*shared, error) {
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
		f.shared[id] = s
		if f.phase == running {
			f.start(s)
		}
	}
	s.handles++
	return s, nil
}

// giveBack returns one handle.
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
		// It will not run: a run that is over at once tells all who wait for it.
		over, end := context.WithCancel(context.Background())
		end()
		_ = s.run(over)
	}
}

// addIndexes adds those of defs that inf does not have.
func addIndexes[K comparable, T any](inf *informer.Informer[K, T], defs []index.Definition[T]) error {
	for _, def := range defs {
		err := inf.AddIndexes(def)
		if errors.Is(err, index.ErrExists) && inf.Store().Indexer().Definitions()[def.Name()] == def {
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", inf.Resource(), err)
		}
	}
	return nil
}

// selected is what a request selects.
func (f *Factory) selected(sel client.Options) client.Options {
	sel.Namespace = cmp.Or(sel.Namespace, f.opts.Namespace)
	sel.LabelSelector = cmp.Or(sel.LabelSelector, f.opts.LabelSelector)
	sel.FieldSelector = cmp.Or(sel.FieldSelector, f.opts.FieldSelector)
	return sel
}

// configured is how the informer of a request is configured.
func configured[T any](f *Factory, opts informer.Options[T]) informer.Options[T] {
	if opts.OnError == nil {
		opts.OnError = f.opts.OnError
	}
	opts.Logger = cmp.Or(opts.Logger, f.opts.Logger)
	opts.Resync = cmp.Or(opts.Resync, f.opts.Resync)
	if reflect.ValueOf(opts.Reflector).IsZero() {
		opts.Reflector = f.opts.Reflector
	}
	return opts
}
