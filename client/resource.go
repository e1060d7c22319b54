package client

import (
	"fmt"
	"reflect"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/reflector"
)

// Options select the objects of a resource and configure their transfer. The zero value
// selects the whole resource in all namespaces.
type Options struct {
	// Namespace limits List and Watch to one namespace. It is also the namespace of keys and
	// objects that have none. Empty means all namespaces, or a cluster-scoped resource.
	Namespace string

	// LabelSelector limits List and Watch, in the syntax of labels.Parse, such as
	// "app=web,tier!=db". Empty selects everything.
	LabelSelector string

	// FieldSelector limits List and Watch, in the syntax of fields.ParseSelector, such as
	// "spec.nodeName=n1". Empty selects everything. The server decides which fields of a
	// resource can be selected.
	FieldSelector string

	// Encoding is the encoding that the client requests first. JSON is always the second
	// choice, and the encoding of writes. Empty means Protobuf if every field of T has a
	// protobuf tag, as in k8s.io/api, and otherwise JSON. An answer is decoded in the encoding
	// that it states.
	Encoding Encoding

	// MaxObjectBytes limits the size of one object, so that no object can exhaust the memory
	// of the process. The size is that of the encoding, without compression. A decoded object
	// may take eight times the limit, or 1 MiB if that is more. This is estimated before
	// decoding, and never too low, so a limit near the size of the objects can refuse an
	// object with a hundred thousand tiny parts.
	//
	// A list or watch skips a larger object and reports it with its key as a *TooLargeError.
	// Other calls return that error. Zero means 16 MiB, which is enough for
	// every object that etcd stores by default. Set a higher limit for an aggregated API with
	// larger objects. Negative means no limit.
	MaxObjectBytes int64

	// DropManagedFields leaves out metadata.managedFields, in every encoding. Managed fields
	// are a third of many objects, and most programs never look at them. An update without
	// them does not change those on the server.
	DropManagedFields bool

	// InternedStrings is the number of different strings of up to 128 bytes that a list or
	// watch remembers, so that its objects share equal strings: namespaces, nodes, images,
	// the keys and values of labels. Each takes about 50 bytes until the call ends; a call
	// with fewer than some hundred objects takes less. Negative means none. Zero means 8192,
	// except for JSON into other types than Unstructured: there sharing costs a quarter more
	// time, so zero means none. The most is a million (1<<20).
	InternedStrings int

	// SharedParts is the number of different parts of objects that lists and watches
	// remember, so that their objects share equal parts. A part is the target of a pointer,
	// slice or map: the owners, tolerations, probes and environment of a ReplicaSet's pods.
	// A type with unexported fields is never shared, because its methods may write to them:
	// String of a *resource.Quantity keeps its result. Zero and less mean none.
	//
	// Treat objects with shared parts as read-only, also before they are cached; only the
	// fields of an object's own struct may be changed. DeepCopy makes a copy that shares
	// nothing. Get and the methods that write return objects that share nothing.
	//
	// Sharing is for caches of many objects: pods take half the memory. In protobuf they take
	// less time to decode, because a part that is known is not decoded again; in the other
	// encodings they take more. It costs up to 34 bytes per part, and the encoded bytes of
	// those from protobuf. A part of up to 64 KiB that came twice stays alive from one list or
	// watch to the next. The most is four million (1<<22).
	SharedParts int

	// Decoders is the largest number of goroutines that decode a list, or the initial events of a
	// watch. Their objects are still yielded in the server's order and by the caller's goroutine.
	// The goroutines begin after some objects and end with the call, in a watch with the initial
	// events. Methods of T that decode run in them, for several objects at a time.
	//
	// An object may be yielded only together with later ones. In a list, it waits for the end of
	// the list at most. In a watch, it waits for the next event that is no Added, or for an Added
	// that comes 100 ms after the last yielded one, and is lost if ctx is done before. A watch
	// without AllowWatchBookmarks, in which none of these may come, decodes in the goroutine of the
	// caller. So does a list or watch whose reader says which objects it has, as a reflector's
	// later lists.
	//
	// 1 and less mean that the caller's goroutine decodes all objects. Zero means one per processor
	// (GOMAXPROCS), up to four.
	Decoders int
}

// Resource is a typed client of one resource of an API server. As a [reflector.Source] it
// lists and watches the objects that its Options select. Its other methods reach every object
// of the resource.
//
// It is safe for concurrent use. Between calls it holds no goroutine, and no connection except
// the idle ones of its http.Client.
type Resource[T any] struct {
	core  *resource
	known func(reflector.Identity) bool // of Relist; nil if all objects are decoded
}

// resource is a Resource without the type parameter, so that its code is compiled once. Its objects
// are pointers: see typed.
type resource struct {
	server  endpoint
	kind    *kind.Kind[any]
	gvr     schema.GroupVersionResource // of kind
	options Options
	name    string // result of method Resource
	// codec is an *objectCodec. Its type is not named here, because it names those of package reflect, whose
	// methods each package that names a Resource would compile: 6 KB.
	codec any

	encoding Encoding // the first choice
	limit    int64    // bytes of an object
	decoders int      // goroutines of a list
	// jsonOnly is set when the server has refused the first choice.
	jsonOnly atomic.Bool

	// listed is the kind of the objects in the last complete list; nil before the first.
	listed atomic.Pointer[expectation]
}

// New makes a client of the kind k. T is a pointer to a struct for the object, such as *Widget,
// *unstructured.Unstructured or *metav1.PartialObjectMetadata, or a struct itself, with or
// without metadata. New sends nothing. It returns an error if conn, k or opts is not usable,
// or if T is an interface: among others [kind.ErrInvalid], and [ErrScope] for a namespace of a
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
	encoding, err := chooseEncoding(opts.Encoding, objects.protobuf)
	if err != nil {
		return fail(err)
	}
	return &resource{
		server:  server,
		kind:    k,
		gvr:     gvr,
		options: opts,
		name:    describe(gvr, opts.Namespace),
		codec:   &objects,

		encoding: encoding,
		limit:    objectLimit(opts.MaxObjectBytes),
		decoders: decoders(opts.Decoders),
	}, nil
}

// codecOf returns the codec of a client's objects.
func codecOf(r *resource) *objectCodec { return r.codec.(*objectCodec) }

// InNamespace returns a client that is like r and is for one namespace, in place of that in r's Options. It
// shares what r knows of T's type, which is most of what [New] costs, and the parts of Options.SharedParts. Its
// Stats are its own. Errors: those of New for the namespace.
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
		server: r.server, kind: r.kind, gvr: r.gvr, options: opts, name: describe(r.gvr, namespace), codec: &codec,
		encoding: r.encoding, limit: r.limit, decoders: r.decoders,
	}
	return in, nil
}

// check checks the part of the collection that the options select.
func (opts Options) check(scope kind.Scope) error {
	if err := checkSegment(opts.Namespace); err != nil {
		return err
	}
	if scope == kind.ClusterScoped && opts.Namespace != "" {
		return fmt.Errorf("%w: Options.Namespace is %q, but the kind is cluster-scoped: leave the namespace out, or Cluster() of the kind", ErrScope, opts.Namespace)
	}
	if _, err := labels.Parse(opts.LabelSelector); err != nil {
		return fmt.Errorf("label selector %q: %w", opts.LabelSelector, err)
	}
	if _, err := fields.ParseSelector(opts.FieldSelector); err != nil {
		return fmt.Errorf("field selector %q: %w", opts.FieldSelector, err)
	}
	return nil
}

// Resource names the collection in errors and logs, such as "pods" or "deployments.apps
// in namespace prod".
func (r *Resource[T]) Resource() string { return r.core.name }

// Kind returns the kind that the client was made for.
func (r *Resource[T]) Kind() *kind.Kind[T] { return kind.As[T](r.core.kind) }

// Breaker implements [reflector.Server].
func (r *Resource[T]) Breaker() *reflector.Breaker { return r.core.server.breaker }

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

// checkSegment checks that a name is one segment of a URL path.
func checkSegment(s string) error {
	if faults := content.IsPathSegmentName(s); len(faults) > 0 {
		return fmt.Errorf("name %q %s", s, faults[0])
	}
	return nil
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

// reporter returns the function that makes the error for an object left out of a watch, or of a list if
// typ is zero.
func reporter(r *resource) func(typ reflector.EventType, id identity, cause error) error {
	return func(typ reflector.EventType, id identity, cause error) error {
		return &reflector.ObjectError{Resource: r.name, Key: id.key(), ResourceVersion: id.resourceVersion, Type: typ, Err: sized(r, cause)}
	}
}

// concrete returns the type that values of the type t are decoded into.
func concrete(t reflect.Type) (elem reflect.Type, err error) {
	if elem = t; t.Kind() == reflect.Pointer {
		elem = t.Elem()
	}
	switch elem.Kind() {
	case reflect.Struct, reflect.Map:
		return elem, nil
	}
	return nil, fmt.Errorf("%v cannot hold an object: it must be a struct, a map, or a pointer to one", t)
}
