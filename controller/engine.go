package controller

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/kind"
)

// Requests are the requests of a [Handle]. They are client.Resource's requests, with the same
// errors. The handle records a copy of each answer, so its reads are never older than an answer.
// The object that a request returns is yours to change. A handle has the requests as methods, so it
// is a [Client], and [CreateOrUpdate], [Apply] and their like take it.
//
// If the handle is for a set of namespaces, each request for an object in another namespace returns
// [ErrOutside] and sends nothing.
//
// A dry run is not recorded. If the object in an answer does not match the handle's label
// selectors, reads do not have that object. Only the server evaluates field selectors: until the
// watch has caught up, reads may have an object that such a selector leaves out.
type Requests[T metav1.Object] struct {
	sender    sender[T]
	engine    engine // the same *requests[T]
	namespace string // of keys that have none
}

// sender is the part of requests that needs T. It is a *requests[T], which only the functions
// that open handles name. Go compiles all methods of a generic type wherever the type is named, so a package
// that holds a handle compiles the few lines of [Requests], and not the client.
type sender[T metav1.Object] interface {
	get(ctx context.Context, key types.NamespacedName, opts *metav1.GetOptions) (T, error)
	create(ctx context.Context, obj T, opts *metav1.CreateOptions) (T, error)
	update(ctx context.Context, obj T, opts *metav1.UpdateOptions, status bool) (T, error)
	patch(ctx context.Context, p *patchRequest) (T, error)
	apply(ctx context.Context, config any, opts *metav1.ApplyOptions) (T, error)
	subresource(name string, more []string) *Subresource[T]
	kind() *kind.Kind[T]
}

// patchRequest is a patch of an object, or of its status.
type patchRequest struct {
	key    types.NamespacedName
	pt     types.PatchType
	data   []byte
	opts   metav1.PatchOptions
	status bool
}

// engine is the part of requests that needs no type parameter, so a package that holds handles of many kinds
// compiles nothing of it.
type engine interface {
	writer
	subject
	remove(ctx context.Context, key types.NamespacedName, opts *metav1.DeleteOptions) error
	removeAll(ctx context.Context, opts *metav1.DeleteOptions, list *metav1.ListOptions) error
	serverVersion(ctx context.Context, key string) (string, error)
	// waitForNow is [Projected.WaitForNow], and so on.
	waitForNow(ctx context.Context) error
	covers(namespace string) bool
	// stats returns the numbers of all requests.
	stats() client.Stats
	// writes returns the latest writes through the handle.
	writes() *ownWrites
	// sure reports whether an object that the cache does not have most likely does not exist.
	sure(key types.NamespacedName) bool
	// opened returns the connection of the handle, or why it could not be opened.
	opened() (client.Connection, error)
}

// subject is a [Requests] of any type.
type subject interface {
	check(key types.NamespacedName) error
	resource() string
	// wroteSubresource follows a write of a subresource.
	wroteSubresource(ctx context.Context, key types.NamespacedName, err error)
}

// Subresource sends the requests of a subresource of a handle's objects, whose body is a B. See
// client.Subresource. An answer does not show the state of the object itself. So after a write the
// handle gets the object from the server, and then its reads have the write.
type Subresource[B metav1.Object] struct {
	of     subject
	client subresourceClient[B]
}

// subresourceClient is a client.Subresource, which a package that holds a handle does not compile.
type subresourceClient[B metav1.Object] interface {
	Get(ctx context.Context, key types.NamespacedName, opts metav1.GetOptions) (B, error)
	Create(ctx context.Context, body B, opts metav1.CreateOptions) (B, error)
	Update(ctx context.Context, body B, opts metav1.UpdateOptions) (B, error)
	Patch(ctx context.Context, key types.NamespacedName, pt types.PatchType, data []byte, opts metav1.PatchOptions) (B, error)
	Apply(ctx context.Context, config any, opts metav1.ApplyOptions) (B, error)
}

// requests are the sender of a handle.
type requests[T metav1.Object] struct {
	of        *kind.Kind[T]
	invalid   error // why the handle could not be opened; then what follows is not set
	server    client.Connection
	client    *client.Resource[T]
	members   *namespaceClients[T] // nil without OpenOptions.Namespaces
	namespace string               // of keys that have none
	labels    labels.Selector      // of the handle's objects
	selects   bool                 // by labels or fields
	cache     requestCache
	recorder  recorder[T] // the same *cached[T, P]
	own       ownWrites
	debt      debt
	turn      chan struct{} // holds a value while CatchUp works
	nows      turns         // of WaitForNow
}

// recorder is the part of the informer that Requests use for an object.
type recorder[T any] interface {
	// record is RecordWrite of the informer.
	record(obj T) error
	// hasUID reports whether reads of obj have its UID.
	hasUID(obj T) bool
	// keeps reports whether an object that the server sends belongs into the cache.
	keeps(obj T) bool
}

// requestCache is the part of the informer that Requests use and that needs no type parameter.
type requestCache interface {
	// recordGone is RecordGone of the informer.
	recordGone(key types.NamespacedName, uid types.UID, rv string) error
	// shown returns what reads have under key, nil for nothing; without metadata, uid and rv are empty.
	shown(key types.NamespacedName) (obj any, uid types.UID, rv string, ok bool)
	// keys returns the keys of all objects that reads have.
	keys() []types.NamespacedName
	// version returns the version of the store, which is empty before the first list.
	version() string
	// lost and lostKeys are LostWrites and LostKeys of the informer.
	lost() uint64
	lostKeys(since uint64) ([]types.NamespacedName, uint64, bool)
	waitFor(ctx context.Context, rv string) error
	waitGone(ctx context.Context, key types.NamespacedName) error
	// live reports whether the informer runs and has its first list.
	live() bool
	informer() any
	listing(namespace string) bool
	// stale returns the namespaces that are not up to date with the version of the cache. A cache
	// that is not divided by namespace is the namespace "".
	stale() []string
	// covers reports whether a namespace is up to date with that version.
	covers(namespace string) bool
	// waits reports whether the keys of a stale namespace wait. They do not if it was refused from
	// the start.
	waits(namespace string) bool
}

func openRequests[T metav1.Object](r *requests[T], server client.Connection, opts client.Options) (err error) {
	if r.client, err = client.New(server, r.of, opts); err != nil {
		return err
	}
	r.server, r.namespace, r.turn = server, opts.Namespace, make(chan struct{}, 1)
	r.nows.gate = make(chan struct{}, 1)
	r.selects = opts.LabelSelector != "" || opts.FieldSelector != ""
	r.labels, err = labels.Parse(opts.LabelSelector)
	return err // client.New has parsed it
}

func (r *requests[T]) opened() (client.Connection, error) { return r.server, r.invalid }

func (r *requests[T]) writes() *ownWrites { return &r.own }

func (r *requests[T]) sure(key types.NamespacedName) bool {
	return !r.selects && r.cache.version() != "" && r.cache.covers(key.Namespace)
}

func (r *requests[T]) resource() string {
	if r.invalid != nil {
		return r.of.String()
	}
	return r.client.Resource()
}
