package client

import (
	"errors"
	"fmt"
	"reflect"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/reflector"
)

// Options choose what of a resource is read. The zero value is the whole resource in all
// namespaces.
type Options struct {
	// Namespace limits List and Watch to one namespace, and is the namespace of keys and
	// objects that name none; empty means all namespaces, or a cluster-scoped resource.
	Namespace string

	// LabelSelector limits List and Watch, in the syntax of labels.Parse, such as
	// "app=web,tier!=db". Empty selects everything.
	LabelSelector string

	// FieldSelector limits List and Watch, in the syntax of fields.ParseSelector, such
	// as "spec.nodeName=n1". Empty selects everything. The server knows which fields a
	// resource can be selected by.
	FieldSelector string

	// Kind is the objects' kind, such as "Pod". Objects of another kind are reported,
	// not used. Empty takes the kind from the last complete list, and before any list
	// from the first object of a watch, so set it if what the server sends cannot be
	// trusted that far. It is also put into objects that come, or are written, without.
	Kind string
}

// Resource is a typed client of one resource of an API server. As a [reflector.Source]
// it lists and watches what its Options select; its other methods reach every object of
// the resource.
//
// Safe for concurrent use. It holds no goroutine, and no connection between calls other
// than the idle ones of its http.Client.
type Resource[T any] struct {
	server  endpoint
	gvr     schema.GroupVersionResource
	options Options
	name    string // what Resource returns
	objects objectCodec[T]

	// listedKind is the item kind of the last complete list; nil before.
	listedKind atomic.Pointer[string]
}

// New makes the client of the resource gvr, which needs a version and a resource; the
// core group is "". T is a pointer to a struct that holds the object, such as *Widget,
// *unstructured.Unstructured or *metav1.PartialObjectMetadata, or a struct itself, with
// or without metadata. New sends nothing. It returns an error if conn, gvr or opts is not
// usable, or T is an interface.
func New[T any](conn Connection, gvr schema.GroupVersionResource, opts Options) (*Resource[T], error) {
	fail := func(err error) (*Resource[T], error) {
		return nil, fmt.Errorf("client for %s: %w", describe(gvr, opts.Namespace), err)
	}
	server, err := conn.endpoint()
	if err != nil {
		return fail(err)
	}
	if err := checkNames(gvr, opts.Namespace); err != nil {
		return fail(err)
	}
	if _, err := labels.Parse(opts.LabelSelector); err != nil {
		return fail(fmt.Errorf("label selector %q: %w", opts.LabelSelector, err))
	}
	if _, err := fields.ParseSelector(opts.FieldSelector); err != nil {
		return fail(fmt.Errorf("field selector %q: %w", opts.FieldSelector, err))
	}
	objects, err := newObjectCodec[T]()
	if err != nil {
		return fail(err)
	}
	return &Resource[T]{
		server:  server,
		gvr:     gvr,
		options: opts,
		name:    describe(gvr, opts.Namespace),
		objects: objects,
	}, nil
}

// Resource names the collection in errors and logs, such as "pods" or "deployments.apps
// in namespace prod".
func (r *Resource[T]) Resource() string { return r.name }

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

// checkNames makes sure that each name is one segment of a URL path.
func checkNames(gvr schema.GroupVersionResource, namespace string) error {
	if gvr.Resource == "" {
		return errors.New("no resource")
	}
	if gvr.Version == "" {
		return errors.New("no API version")
	}
	for _, s := range []string{gvr.Group, gvr.Version, gvr.Resource, namespace} {
		if err := checkSegment(s); err != nil {
			return err
		}
	}
	return nil
}

func checkSegment(s string) error {
	if faults := content.IsPathSegmentName(s); len(faults) > 0 {
		return fmt.Errorf("name %q %s", s, faults[0])
	}
	return nil
}

// expected is the identity that objects of the collection have, as far as it is known.
func (r *Resource[T]) expected() expectation {
	want := expectation{apiVersion: r.gvr.GroupVersion().String(), kind: r.options.Kind}
	if listed := r.listedKind.Load(); want.kind == "" && listed != nil {
		want.kind = *listed
	}
	want.partial = r.objects.partial
	return want
}

// objectError reports an object that is left out of a list, where typ is zero, or watch.
func (r *Resource[T]) objectError(typ reflector.EventType, id identity, cause error) error {
	return &reflector.ObjectError{Resource: r.name, Key: id.key(), ResourceVersion: id.resourceVersion, Type: typ, Err: cause}
}

// concrete returns the type that T's values are decoded into, and whether T points to it.
func concrete[T any]() (t reflect.Type, pointer bool, err error) {
	t = reflect.TypeFor[T]()
	if pointer = t.Kind() == reflect.Pointer; pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return t, pointer, nil
	}
	return nil, false, fmt.Errorf("%v cannot hold an object: it must be a struct, a map, or a pointer to one", reflect.TypeFor[T]())
}
