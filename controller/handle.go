package controller

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/internal/coverage"
	"github.com/kinform/kinform/internal/mistake"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/store"
)

// OpenOptions configures a [Handle] whose cache holds objects P. The zero value works: all
// objects in all namespaces.
type OpenOptions[P any] struct {
	// Namespaces limits the handle to a set of namespaces, which may change at any time. Each
	// namespace lists, watches and fails separately: see informer.NewNamespaced. If one cannot be
	// listed, only its objects are missing, OnError gets its errors, and informer.Stats says how
	// each is. Reads have the writes through the handle as with one source. A request for an object
	// in another namespace, even a Get, is not sent and returns [ErrOutside]. Several handles may
	// share a set. Nil means the namespace in Client or, if that has none, all namespaces.
	Namespaces *informer.Namespaces

	// Part limits the cache to the objects of one of several replicas: a shard.Part, whose objects
	// change while the handle runs. It does not limit requests. It cannot be used together with
	// Namespaces. Nil means all objects.
	Part portion[P]

	// Client selects the objects and configures requests. With a namespace, keys and objects
	// may leave it out.
	Client client.Options

	// Informer configures the cache: OnError, Logger and so on.
	Informer informer.Options[P]
}

// portion is a part of the objects of a source: a shard.Part.
type portion[P any] interface {
	// Source returns a source of the objects of from that are in the part. It is called once.
	Source(from reflector.Source[P]) (reflector.Source[P], error)
	// Has reports whether an object is in the part now. Any goroutine calls it, and it must be
	// quick.
	Has(obj P) (bool, error)
}

// Handle serves a controller with one kind: it has a cache, and requests whose results every read
// of the cache sees at once. See the package documentation. Make one with [Open], and do not copy
// it.
//
// [Projected.Cached] and List read the cache. Get and the writes are requests to the server: see
// [Requests]. A Handle is an informer.Informed, so [For], [Owns], [Watch], [References] and
// informer.AddIndex take it. It is also a [Client] for the helpers, and a [Cache] for package
// controller/manager.
type Handle[T metav1.Object] struct {
	Projected[T, T]
	list func(namespace string, selector labels.Selector) []T // a lister's
}

// Open returns a handle on the objects of a kind. Pass one OpenOptions, or none for the zero value.
// The handle sends nothing before its informer runs. A [Controller] runs the informers of the
// handles that it is given.
//
// If something is wrong, [Projected.Err], the Run of a controller with the handle, and every
// request return it: an error of client.New, informer.New or informer.NewNamespaced, or
// [ErrInvalid]. It names the kind.
func Open[T metav1.Object](server client.Connection, of *kind.Kind[T], options ...OpenOptions[T]) *Handle[T] {
	h := &Handle[T]{Projected: openView(server, of, view[T, T]{
		key:    store.ObjectKey[T],
		part:   func(obj T) (T, error) { return obj, nil },
		source: func(from *client.Resource[T]) reflector.Source[T] { return from },
	}, options)}
	lister := informer.NewLister(h.inf)
	h.list = func(namespace string, selector labels.Selector) []T { return lister.In(namespace).List(selector) }
	return h
}

// List returns the objects in namespace, or in all namespaces if it is empty, whose labels match
// selector; nil matches everything. The first list of one namespace in a large cache adds an index of
// the namespaces, so such lists are O(result). See informer.Lister.List.
func (h *Handle[T]) List(namespace string, selector labels.Selector) []T {
	return h.list(namespace, selector)
}

// current is Cached for [CreateOrUpdate]. sure says that the cache is filled, and with all objects,
// so that an object which it does not have most likely does not exist.
func (h *Handle[T]) current(key types.NamespacedName) (obj T, found, sure bool) {
	obj, found = h.inf.Store().Get(completed(h.namespace, key))
	return obj, found, h.engine.sure(key)
}

// AsInformer implements informer.Informed.
func (h *Handle[T]) AsInformer() *informer.Informer[types.NamespacedName, T] {
	if h == nil {
		return nil
	}
	return h.Projected.AsInformer()
}

// Projected is a handle whose cache holds a P for each T, for example only the fields that the
// controller reads. Its requests are about T. Make one with [OpenProjected], and do not copy it.
type Projected[T metav1.Object, P any] struct {
	Requests[T]
	inf *informer.Informer[types.NamespacedName, P]
}

// OpenProjected returns a handle whose cache holds the result of part for each object: see
// reflector.Map. key returns the key of a P, which must be the namespace and the name of its
// object. If P has no UID, a deletion costs a second request: see [Requests.CatchUp]. [Open]
// explains the options and what happens to errors. Errors: the errors of Open, and [ErrInvalid] if
// part is nil.
func OpenProjected[T metav1.Object, P any](server client.Connection, of *kind.Kind[T], part func(T) (P, error), key store.KeyFunc[types.NamespacedName, P], options ...OpenOptions[P]) *Projected[T, P] {
	h := openView(server, of, view[T, P]{
		key:    key,
		part:   part,
		source: func(from *client.Resource[T]) reflector.Source[P] { return reflector.Map(from, part) },
	}, options)
	return &h
}

// view is the part of each object that the cache of a handle holds.
type view[T, P any] struct {
	key    store.KeyFunc[types.NamespacedName, P]
	part   func(T) (P, error)
	source func(*client.Resource[T]) reflector.Source[P]
}

// openView returns a new handle.
func openView[T metav1.Object, P any](server client.Connection, of *kind.Kind[T], v view[T, P], options []OpenOptions[P]) Projected[T, P] {
	c := &cached[T, P]{part: v.part, key: v.key}
	r := &requests[T]{of: of, cache: c, recorder: c}
	if err := fillIn(r, c, server, v, options); err != nil {
		r.invalid, r.members = err, nil
		c.inf, c.only, c.set = informer.Failed[P](of.String(), err), nil, nil
	}
	return Projected[T, P]{Requests[T]{r, r, r.namespace}, c.inf}
}

// fillIn makes the client and the cache of a handle.
func fillIn[T metav1.Object, P any](r *requests[T], c *cached[T, P], server client.Connection, v view[T, P], options []OpenOptions[P]) error {
	opts, err := oneOf(options)
	if err != nil {
		return openFailed(r.of.String(), err)
	}
	many := opts.Namespaces != nil
	switch {
	case v.part == nil:
		return openFailed(r.of.String(), errNoPartFunc)
	case many && opts.Part != nil:
		return openFailed(r.of.String(), errPartAndSet)
	case many && server.Breaker == nil:
		server.Breaker = new(reflector.Breaker) // of all sources
	}
	if err := openRequests(r, server, opts.Client); err != nil {
		return openFailed(fmt.Sprintf("%T", *new(T)), err) // the kind may be nil
	}
	c.only, c.set = opts.Part, opts.Namespaces
	if many {
		return divide(r, c, v, opts)
	}
	source := v.source(r.client)
	if opts.Part != nil {
		r.selects = true
		if source, err = opts.Part.Source(source); err != nil {
			return openFailed(r.of.String(), err)
		}
	}
	c.inf, err = informer.New(source, v.key, opts.Informer)
	return err
}

var (
	errNoPartFunc error = mistake.Text("the function that takes a part of each object is nil: pass one")
	errPartAndSet       = fmt.Errorf("%w: Part is set, so leave out Namespaces", errOptions)
)

// openFailed says which handle could not be opened.
func openFailed(resource string, cause error) error {
	return fmt.Errorf("controller: Open of %s: %w", resource, cause)
}

// divide makes the cache of a handle over several namespaces.
func divide[T metav1.Object, P any](r *requests[T], c *cached[T, P], v view[T, P], opts OpenOptions[P]) (err error) {
	if r.members, err = newNamespaceClients(r.client, opts.Namespaces, opts.Client); err != nil {
		return err
	}
	c.inf, err = informer.NewNamespaced(r.client.Resource(), opts.Namespaces, func(namespace string) (reflector.Source[P], error) {
		from, err := joinNamespace(r.members, namespace)
		if err != nil {
			return nil, err
		}
		return v.source(from), nil
	}, v.key, opts.Informer)
	return err
}

// AsInformer implements informer.Informed.
func (h *Projected[T, P]) AsInformer() *informer.Informer[types.NamespacedName, P] {
	if h == nil {
		return nil
	}
	return h.inf
}

// Untyped returns the informer for programs that look at all informers alike.
func (h *Projected[T, P]) Untyped() informer.Untyped { return h.inf }

// Cached returns the cached part of the object under key, and whether there is one. It includes the
// writes through the handle. Cost: see informer.Informer.Get. [Requests.Get] asks the server.
//
//go:noinline
func (h *Projected[T, P]) Cached(key types.NamespacedName) (P, bool) {
	return h.inf.Get(completed(h.namespace, key))
}

// List returns the cached parts of all objects, in no order, in a new slice. It includes the writes
// through the handle. Cost: see informer.Informer.List. An index (informer.AddIndex) reads a part
// of them.
func (h *Projected[T, P]) List() []P { return h.inf.List() }

// Err returns every mistake in how the handle was opened and indexed, joined. The Run of a
// controller with the handle returns it, too. Nil means that there is none, and says nothing about
// requests.
func (h *Projected[T, P]) Err() error { return h.inf.Err() }

// Run runs the informer, see informer.Informer.Run. A [Controller] runs its handles itself. This
// method, Err and the next three make a handle a [Cache].
//
//go:noinline
func (h *Projected[T, P]) Run(ctx context.Context) error { return h.inf.Run(ctx) }

// Done is closed when the informer's current call of Run ends, see informer.Informer.Done.
func (h *Projected[T, P]) Done() <-chan struct{} { return h.inf.Done() }

// WaitForSync waits until the cache is filled, see informer.Informer.WaitForSync.
//
//go:noinline
func (h *Projected[T, P]) WaitForSync(ctx context.Context) error { return h.inf.WaitForSync(ctx) }

// Resource returns the resource's name with its group, such as "deployments.apps".
func (h *Projected[T, P]) Resource() string { return h.inf.Resource() }

// cached is the cache of a handle as its requests see it.
type cached[T metav1.Object, P any] struct {
	inf  *informer.Informer[types.NamespacedName, P]
	set  *informer.Namespaces // nil without OpenOptions.Namespaces
	part func(T) (P, error)
	key  store.KeyFunc[types.NamespacedName, P]
	only portion[P] // nil for all objects
}

func (c *cached[T, P]) keys() (all []types.NamespacedName) {
	for _, p := range c.inf.List() {
		if key, err := c.key(p); err == nil {
			all = append(all, key)
		}
	}
	return all
}

func (c *cached[T, P]) version() string { return c.inf.Store().ResourceVersion() }

func (c *cached[T, P]) keeps(obj T) bool {
	p, err := c.part(obj)
	if err != nil || c.only == nil {
		return err == nil // the informer skips an object with an error
	}
	has, err := c.only.Has(p)
	return err == nil && has
}

func (c *cached[T, P]) record(obj T) error {
	p, err := c.part(copyOf(obj)) // the caller has obj, and may change it
	if err != nil {
		return err // the informer skips such an object, too
	}
	return c.inf.RecordWrite(p, obj.GetResourceVersion())
}

func (c *cached[T, P]) recordGone(key types.NamespacedName, uid types.UID, rv string) error {
	return c.inf.RecordGone(key, uid, rv)
}

func (c *cached[T, P]) hasUID(obj T) bool {
	p, err := c.part(obj)
	seen, ok := any(p).(metav1.Object)
	return err == nil && ok && seen.GetUID() == obj.GetUID()
}

func (c *cached[T, P]) shown(key types.NamespacedName) (obj any, uid types.UID, rv string, ok bool) {
	p, ok := c.inf.Store().Get(key)
	if !ok {
		return nil, "", "", false
	}
	obj = p
	if has, ok := obj.(metav1.Object); ok {
		uid, rv = has.GetUID(), has.GetResourceVersion()
	}
	return obj, uid, rv, true
}

func (c *cached[T, P]) lost() uint64 { return c.inf.LostWrites() }

func (c *cached[T, P]) lostKeys(since uint64) ([]types.NamespacedName, uint64, bool) {
	return c.inf.LostKeys(since)
}

func (c *cached[T, P]) listing(namespace string) bool {
	return c.set != nil && c.knows(namespace) == coverage.Listing
}

func (c *cached[T, P]) covers(namespace string) bool {
	return c.set == nil || c.knows(namespace) == coverage.Covered
}

func (c *cached[T, P]) stale() []string {
	if c.set == nil {
		return nil
	}
	return slices.DeleteFunc(c.set.Names(), c.covers)
}

func (c *cached[T, P]) waits(namespace string) bool {
	return c.knows(namespace) != coverage.Uncovered
}

func (c *cached[T, P]) knows(namespace string) coverage.Coverage {
	return c.inf.Coverage(types.NamespacedName{Namespace: namespace})
}

func (c *cached[T, P]) informer() any { return c.inf }

// waitGone waits until the store has no object under key.
func (c *cached[T, P]) waitGone(ctx context.Context, key types.NamespacedName) error {
	return c.inf.WaitFor(ctx, key, func(_ P, exists bool) bool { return !exists })
}

func (c *cached[T, P]) live() bool {
	select {
	case <-c.inf.Done():
		return false
	default:
	}
	select {
	case <-c.inf.Synced():
		return true
	default:
		return false
	}
}

func (c *cached[T, P]) waitFor(ctx context.Context, rv string) error { return c.inf.WaitForRV(ctx, rv) }
