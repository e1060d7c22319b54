package controllerruntime

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/kinform/kinform/index"
)

// notContinued is in every list, as in the lists of controller-runtime's cache: a cache has no
// pages.
const notContinued = "continue-not-supported"

// Get implements client.Reader.
func (c *objectCache) Get(ctx context.Context, key client.ObjectKey, out client.Object, opts ...client.GetOption) error {
	gvk, err := apiutil.GVKForObject(out, c.scheme)
	if err != nil {
		return err
	}
	of, err := c.readable(ctx, gvk, out)
	if err != nil {
		return err
	}
	var get client.GetOptions
	return of.get(key, out, get.ApplyOptions(opts))
}

func (of *collection) get(key client.ObjectKey, out client.Object, opts *client.GetOptions) error {
	if !of.namespaced {
		key.Namespace = ""
	}
	p := of.partOf(key.Namespace)
	if p == nil {
		return fmt.Errorf("controllerruntime: the cache of %s does not have namespace %q, so it cannot get %s", of.kind, key.Namespace, key)
	}
	obj, ok := p.Get(key)
	if !ok {
		return apierrors.NewNotFound(schema.GroupResource{Group: of.kind.Group, Resource: of.kind.Kind}, key.Name)
	}
	from, to := reflect.ValueOf(obj), reflect.ValueOf(out)
	if !from.Type().AssignableTo(to.Type()) {
		return fmt.Errorf("controllerruntime: the cache of %s has a %T under %s, but a %T was asked for", of.kind, obj, key, out)
	}
	if to.IsNil() {
		return fmt.Errorf("controllerruntime: %s %s cannot be put into a nil %T", of.kind, key, out)
	}
	if p.shares(opts.UnsafeDisableDeepCopy) {
		to.Elem().Set(from.Elem())
		return nil
	}
	to.Elem().Set(reflect.ValueOf(p.copy(obj)).Elem())
	out.GetObjectKind().SetGroupVersionKind(of.kind)
	return nil
}

// shares reports whether a read may return the cache's own objects, without copies.
func (p *part) shares(asked *bool) bool { return p.shared || asked != nil && *asked }

// copy returns a copy of an object that was read from the informer, or the object itself if it is one.
func (p *part) copy(obj client.Object) runtime.Object {
	if p.packed {
		return obj
	}
	return obj.DeepCopyObject()
}

// partOf returns the part that has the objects of a namespace, nil if there is none.
func (of *collection) partOf(namespace string) *part {
	if p := of.parts[namespace]; p != nil {
		return p
	}
	return of.parts[cache.AllNamespaces]
}

// List implements client.Reader.
func (c *objectCache) List(ctx context.Context, out client.ObjectList, opts ...client.ListOption) error {
	gvk, err := apiutil.GVKForObject(out, c.scheme)
	if err != nil {
		return err
	}
	gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
	item, err := c.itemOf(out, gvk)
	if err != nil {
		return err
	}
	of, err := c.readable(ctx, gvk, item)
	if err != nil {
		return err
	}
	var options client.ListOptions
	if options.ApplyOptions(opts); options.Continue != "" {
		return errContinue
	}
	objects, err := of.list(&options)
	if err != nil {
		return fmt.Errorf("controllerruntime: a list of %s: %w", gvk, err)
	}
	if err := meta.SetList(out, objects); err != nil {
		return fmt.Errorf("controllerruntime: a list of %s: %w", gvk, err)
	}
	out.SetContinue(notContinued)
	return nil
}

// itemOf returns an object of the type and form of the items of a list.
func (c *objectCache) itemOf(list client.ObjectList, gvk schema.GroupVersionKind) (runtime.Object, error) {
	switch formOf(list) {
	case formUnstructured:
		return &unstructured.Unstructured{}, nil
	case formMetadata:
		return &metav1.PartialObjectMetadata{}, nil
	}
	return c.scheme.New(gvk)
}

var (
	// errContinue is returned as it is: controller-runtime's cache has the same text alone.
	errContinue = errors.New("continue list option is not supported by the cache")
	errInexact  = errors.New("a field selector that demands anything but exact values")
)

func (of *collection) list(opts *client.ListOptions) ([]runtime.Object, error) {
	var required fields.Requirements
	if opts.FieldSelector != nil {
		if required = opts.FieldSelector.Requirements(); !exact(required) {
			return nil, fmt.Errorf("%w: %q", errInexact, opts.FieldSelector)
		}
	}
	parts, err := of.partsFor(opts.Namespace)
	if err != nil {
		return nil, err
	}
	all := []runtime.Object{}
	for _, p := range parts {
		found, err := of.find(p, opts.Namespace, required, opts.LabelSelector)
		if err != nil {
			return nil, err
		}
		if left := opts.Limit - int64(len(all)); opts.Limit > 0 && int64(len(found)) > left {
			found = found[:left]
		}
		all = slices.Grow(all, len(found))
		for _, obj := range found {
			all = append(all, of.item(p, obj, p.shares(opts.UnsafeDisableDeepCopy)))
		}
	}
	return all, nil
}

// item returns an object for a list.
func (of *collection) item(p *part, obj client.Object, shared bool) runtime.Object {
	if shared {
		return obj
	}
	made := p.copy(obj)
	made.GetObjectKind().SetGroupVersionKind(of.kind)
	return made
}

// partsFor returns the parts that have objects of a namespace, or all parts if it is empty.
func (of *collection) partsFor(namespace string) ([]*part, error) {
	if namespace != "" {
		if p := of.partOf(namespace); p != nil {
			return []*part{p}, nil
		}
		return nil, fmt.Errorf("the cache does not have namespace %q", namespace)
	}
	all := make([]*part, 0, len(of.parts))
	for _, p := range of.parts {
		all = append(all, p)
	}
	return all, nil
}

// exact reports whether there are requirements and all demand a value.
func exact(required fields.Requirements) bool {
	for _, r := range required {
		if r.Operator != selection.Equals && r.Operator != selection.DoubleEquals {
			return false
		}
	}
	return len(required) > 0
}

// names reports whether a requirement names the values that it lets pass.
func names(r labels.Requirement) bool {
	switch r.Operator() {
	case selection.Equals, selection.DoubleEquals, selection.In:
		return true
	}
	return false
}

// term is a value in an index.
type term struct {
	of    *index.Index[client.Object, string]
	value string
}

// find returns the objects of a part that meet all conditions. It begins with those under the
// rarest value that an index has, and looks at these only.
func (of *collection) find(p *part, namespace string, required fields.Requirements, selector labels.Selector) ([]client.Object, error) {
	if len(required) == 0 {
		p.indexLabels(selector)
		return index.Select(p.Store(), namespace, selector), nil
	}
	terms, err := of.terms(required)
	if err != nil {
		return nil, err
	}
	if namespace != "" && !of.namespaced {
		return nil, nil
	}
	if namespace != "" && p.byNamespace != nil {
		terms = append(terms, term{p.byNamespace, namespace})
	}
	slices.SortFunc(terms, func(a, b term) int { return a.of.Count(p.Store(), a.value) - b.of.Count(p.Store(), b.value) })
	found := terms[0].of.Get(p.Store(), terms[0].value)
	kept := found[:0]
	for _, obj := range found {
		ok, err := meets(obj, terms[1:])
		if err != nil {
			return nil, err
		}
		if ok && (selector == nil || selector.Matches(labels.Set(obj.GetLabels()))) {
			kept = append(kept, obj)
		}
	}
	return kept, nil
}

// terms returns the required values with the indexes of their fields.
func (of *collection) terms(required fields.Requirements) ([]term, error) {
	of.mu.Lock()
	defer of.mu.Unlock()
	terms := make([]term, 0, len(required)+1)
	for _, r := range required {
		x := of.fields[r.Field]
		if x == nil {
			return nil, fmt.Errorf("the field %q: %w: call IndexField first", r.Field, index.ErrUnknownIndex)
		}
		terms = append(terms, term{x, r.Value})
	}
	return terms, nil
}

func meets(obj client.Object, terms []term) (bool, error) {
	for _, t := range terms {
		if has, err := t.of.Has(obj, t.value); err != nil || !has {
			return false, err
		}
	}
	return true, nil
}
