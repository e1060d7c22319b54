package client

import (
	"fmt"
	"net/url"
	"reflect"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/reflector"
)

// Resource is a typed client of one resource of an API server. As a [reflector.Source] it
// lists and watches the objects that its Options select. Its other methods reach every object
// of the resource.
//
// It is safe for concurrent use. Between calls it holds no goroutine, and no connection except
// the idle ones of its http.Client.
type Resource[T any] struct {
	core *resource
	as   *reading // of Relist; nil for other callers
}

// resource is a Resource without the type parameter, so that its code is compiled once. Its objects
// are pointers: see typed.
type resource struct {
	server  endpoint
	kind    *kind.Kind[any]
	gvr     schema.GroupVersionResource // of kind
	options Options
	name    string   // result of method Resource
	root    *url.URL // of the group and version
	// codec is an *objectCodec. Its type is not named here, because it names types of package reflect. Each
	// package that names a Resource would compile their methods: 6 KB.
	codec any

	encoding encoding // the first choice
	accepts  string   // the Accept header of an object, with the first choice
	limit    int64    // bytes of an object
	decoders int      // goroutines of a list
	// jsonOnly is set when the server has refused the first choice.
	jsonOnly atomic.Bool
	// wholeOnly is set when the server has refused to leave out managed fields.
	wholeOnly atomic.Bool

	// listed is the kind of the objects in the last complete list; nil before the first.
	listed atomic.Pointer[expectation]
}

// resourceOf returns the Resource of a core.
func resourceOf[T any](core *resource, err error) (*Resource[T], error) {
	if err != nil {
		return nil, err
	}
	return &Resource[T]{core: core}, nil
}

// New makes a client of the kind k. T is a pointer to a struct for the object, such as *Widget,
// *unstructured.Unstructured or *metav1.PartialObjectMetadata, or a struct itself, with or
// without metadata. New sends nothing. It returns an error if conn, k or opts is not usable,
// or if T is an interface: among others [kind.ErrInvalid], and [ErrInvalid] for a namespace of a
// cluster-scoped kind.
//
// The kind's name and the API version are set in objects that are read or written without them.
// Objects of another kind are reported and not used. If k has no name, it comes from the last
// complete list, and before any list from the first object of a watch; API servers refuse writes
// of custom resources without a kind.
func New[T any](conn Connection, k *kind.Kind[T], opts Options) (*Resource[T], error) {
	return resourceOf[T](newOf(conn, kind.As[any](k), (*T)(nil), opts))
}

// NewLike is [New] for objects whose Go type is known only at run time: T is an interface, such as
// runtime.Object, and every object has the type of like, a pointer to a struct, which may be nil.
// Everything depends on that type as it does on the T of New.
//
//	pods, err := client.NewLike(conn, kind.As[runtime.Object](core.Pods), runtime.Object(&corev1.Pod{}), client.Options{})
//
// In addition to the errors of New, it returns one if like has no type or is not a pointer.
func NewLike[T any](conn Connection, k *kind.Kind[T], like T, opts Options) (*Resource[T], error) {
	return resourceOf[T](newLike(conn, kind.As[any](k), like, opts))
}

// newLike makes a client whose objects have the type of like.
func newLike(conn Connection, k *kind.Kind[any], like any, opts Options) (*resource, error) {
	t := reflect.TypeOf(like)
	if t == nil || t.Kind() != reflect.Pointer {
		return nil, fmt.Errorf("client for %s: %T is not a pointer to a struct", describe(k.GroupVersionResource(), opts.Namespace), like)
	}
	return newResource(conn, k, t, opts)
}

// newOf makes a client whose objects are T, for a nil *T.
func newOf(conn Connection, k *kind.Kind[any], pointer any, opts Options) (*resource, error) {
	return newResource(conn, k, reflect.TypeOf(pointer).Elem(), opts)
}

// newResource makes a client whose objects have the type t.
func newResource(conn Connection, k *kind.Kind[any], t reflect.Type, opts Options) (*resource, error) {
	gvr := k.GroupVersionResource()
	fail := func(err error) (*resource, error) {
		return nil, fmt.Errorf("client for %s: %w", describe(gvr, opts.Namespace), err)
	}
	server, err := conn.endpoint()
	if err != nil {
		return fail(err)
	}
	if err := k.Check(); err != nil {
		return fail(err)
	}
	if err := opts.check(k.Scope); err != nil {
		return fail(err)
	}
	objects, err := newObjectCodec(t, opts)
	if err != nil {
		return fail(err)
	}
	first := inProtobuf
	if objects.protobuf != nil {
		first = inJSON
	}
	r := &resource{
		server:  server,
		kind:    k,
		gvr:     gvr,
		options: opts,
		name:    describe(gvr, opts.Namespace),
		root:    server.root(gvr.GroupVersion()),
		codec:   &objects,

		encoding: first,
		limit:    objectLimit(opts.MaxObjectBytes),
		decoders: decoders(),
	}
	r.accepts = acceptAnswer(r, "", "")
	return r, nil
}

// codecOf returns the codec of a client's objects.
func codecOf(r *resource) *objectCodec { return r.codec.(*objectCodec) }

// InNamespace returns a client that is like r and is for one namespace, in place of that in r's Options. It
// shares what r knows of T's type, which is most of what [New] costs, and the equal parts of its objects. Its
// Stats are its own. Errors: New's errors for the namespace.
func InNamespace[T any](r *Resource[T], namespace string) (*Resource[T], error) {
	return resourceOf[T](inNamespace(r.core, namespace))
}

func inNamespace(r *resource, namespace string) (*resource, error) {
	opts := r.options
	opts.Namespace = namespace
	if err := opts.check(r.kind.Scope); err != nil {
		return nil, fmt.Errorf("client for %s: %w", describe(r.gvr, namespace), err)
	}
	codec := *codecOf(r)
	codec.stats = new(counters)
	in := &resource{
		server: r.server, kind: r.kind, gvr: r.gvr, options: opts, name: describe(r.gvr, namespace), root: r.root, codec: &codec,
		encoding: r.encoding, accepts: r.accepts, limit: r.limit, decoders: r.decoders,
	}
	return in, nil
}

// Resource names the collection in errors and logs, such as "pods" or "deployments.apps
// in namespace prod".
func (r *Resource[T]) Resource() string { return r.core.name }

// Kind returns the kind that the client was made for.
func (r *Resource[T]) Kind() *kind.Kind[T] { return kind.As[T](r.core.kind) }

// Breaker implements [reflector.Server].
func (r *Resource[T]) Breaker() *reflector.Breaker { return r.core.server.breaker }

// Stats returns the current counters. It takes no lock: the numbers may be a few objects
// apart.
//
//go:noinline
func (r *Resource[T]) Stats() Stats { return statsOf(r.core) }

//go:noinline
func statsOf(r *resource) Stats {
	return codecOf(r).stats.now()
}

// Received serves reflectors with Stats. So a reflector's Stats report the bytes and
// time of all calls of this Resource.
func (r *Resource[T]) Received() (bytes uint64, decoding time.Duration) {
	s := r.Stats()
	return uint64(s.Bytes), s.DecodeTime
}

func describe(gvr schema.GroupVersionResource, namespace string) string {
	name := gvr.GroupResource().String()
	if gvr.Resource == "" {
		name = "a resource without a name"
	}
	if namespace != "" {
		name += " in namespace " + namespace
	}
	return name
}

// expected returns the identity of the collection's objects, as far as it is known.
func expected(r *resource) expectation {
	want := expectation{apiVersion: r.gvr.GroupVersion().String(), kind: r.kind.Kind}
	if listed := r.listed.Load(); want.kind == "" && listed != nil {
		want.kind, want.guess = listed.kind, listed.guess
	}
	want.partial = codecOf(r).partial
	return want
}
