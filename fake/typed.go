package fake

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/fake/internal/refusal"
	"github.com/kinform/kinform/internal/mistake"
	"github.com/kinform/kinform/kind"
)

// A test makes and changes objects with the typed functions. They are synchronous, take no context,
// and no fault strikes them. When one returns, the write is in the history and every watch can see
// it. Objects are copied in and out. Refusals of Kubernetes are *errors.StatusError; misuse is one
// of the errors of this package.

// Create stores a copy of obj, which may have a generateName instead of a name, and
// returns the object as stored. Status errors: AlreadyExists, Invalid, BadRequest.
func Create[T metav1.Object](at Target, obj T) (T, error) {
	t, own, err := accept(at, obj)
	if err != nil {
		return *new(T), err
	}
	return handOut[T](t.create(own, write{}))
}

// Update replaces the object of obj's name by a copy of obj and returns it as stored. An
// obj with a resourceVersion must be the newest version; without one it overwrites any
// version. An update that changes nothing writes nothing. Status errors:
// NotFound, Conflict, Invalid, BadRequest.
func Update[T metav1.Object](at Target, obj T) (T, error) {
	t, own, err := accept(at, obj)
	if err != nil {
		return *new(T), err
	}
	v, _, err := t.replace(own, write{})
	return handOut[T](v, err)
}

// UpdateStatus is Update for the status subresource: of obj it takes the status and, in most of
// Kubernetes' own kinds, metadata (see [Rules]). Status errors: the errors of Update; NotFound also
// for a resource without that subresource.
func UpdateStatus[T metav1.Object](at Target, obj T) (T, error) {
	t, own, err := accept(at, obj)
	if err != nil {
		return *new(T), err
	}
	v, _, err := t.replace(own, write{subresource: statusField})
	return handOut[T](v, err)
}

// Change lets change the newest state of the object at key, as a part of the API server would: the spec and the
// status in one write, which is no new generation and leaves managedFields as they are. It calls change again
// if another write comes between. An error of change is Change's. A change of nothing writes nothing. Status
// errors: NotFound, Invalid, BadRequest.
func Change[T metav1.Object](at Target, key types.NamespacedName, change func(obj T) error) (T, error) {
	t, err := lookup[T](at, schema.GroupVersionKind{})
	if err != nil {
		return *new(T), err
	}
	return handOut[T](t.update(key, write{whole: true}, changingCopy(change)))
}

// ChangeStatus is [Change] for the status subresource, as a controller of that name would: the name
// is noted as the manager of what it changes. Status errors: the errors of Change; NotFound also
// for a resource without that subresource.
func ChangeStatus[T metav1.Object](at Target, key types.NamespacedName, manager string, change func(obj T) error) (T, error) {
	t, err := lookup[T](at, schema.GroupVersionKind{})
	if err != nil {
		return *new(T), err
	}
	if !t.res.Status {
		return *new(T), refusal.NoResource()
	}
	return handOut[T](t.update(key, write{subresource: statusField, manager: manager}, changingCopy(change)))
}

func changingCopy[T metav1.Object](change func(obj T) error) func(*revision) (metav1.Object, error) {
	return func(old *revision) (metav1.Object, error) {
		obj, err := clone(old.obj)
		if err != nil {
			return obj, apierrors.NewInternalError(err)
		}
		return obj, change(typed[T](obj))
	}
}

// Patch applies a JSON merge patch (RFC 7386) to the object at key and returns it as
// stored. A patch that states a resourceVersion is refused unless that is the newest.
// A client has the other types of patches. Status errors: NotFound, Conflict, Invalid,
// BadRequest.
func Patch[T metav1.Object](at Target, key types.NamespacedName, merge []byte) (T, error) {
	t, err := lookup[T](at, schema.GroupVersionKind{})
	if err != nil {
		return *new(T), err
	}
	v, _, err := t.patch(key, types.MergePatchType, merge, write{})
	return handOut[T](v, err)
}

// Delete deletes the object at key and returns its last state, at the resourceVersion of
// the deletion. An object with finalizers is only marked with a deletionTimestamp; it
// goes with its last finalizer. A pod goes at once, also one that a node runs: Delete plays
// the kubelet that stopped it, unless options ask for another grace period. As from an API server,
// watches then get a MODIFIED event before the DELETED one. Only the first of the options counts.
// Status errors: NotFound; with options Invalid, and Conflict for preconditions that do not hold.
func Delete[T metav1.Object](at Target, key types.NamespacedName, options ...metav1.DeleteOptions) (T, error) {
	t, err := lookup[T](at, schema.GroupVersionKind{})
	if err != nil {
		return *new(T), err
	}
	var atOnce int64 // which only pods heed
	opts := metav1.DeleteOptions{GracePeriodSeconds: &atOnce}
	if len(options) > 0 {
		opts = options[0]
		if err := checkDeleteOptions(&opts); err != nil {
			return *new(T), err
		}
	}
	last, final, err := t.remove(key, opts, write{paced: true})
	obj, err := handOut[T](last, err)
	if err == nil && final {
		obj.SetResourceVersion(formatRV(last.rv))
	}
	return obj, err
}

// Get returns a copy of the object at key. Status errors: NotFound.
func Get[T metav1.Object](at Target, key types.NamespacedName) (T, error) {
	t, err := lookup[T](at, schema.GroupVersionKind{})
	if err != nil {
		return *new(T), err
	}
	return handOut[T](t.read(key, ""))
}

// List returns the objects of a selection, ordered by namespace/name: copies, unless sel.ReadOnly.
// The order and the content are the same as in an HTTP LIST at this moment. Status errors:
// BadRequest for a selector that does not parse.
func List[T metav1.Object](at Target, sel Selection) ([]T, error) {
	t, err := lookup[T](at, schema.GroupVersionKind{})
	if err != nil {
		return nil, err
	}
	m, err := t.matcher(sel, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	p, err := t.list(m, listRequest{})
	if err != nil {
		return nil, err
	}
	out := make([]T, 0, len(p.items))
	for _, v := range p.items {
		obj, err := share[T](v, sel.ReadOnly)
		if err != nil {
			return nil, err
		}
		out = append(out, obj)
	}
	return out, nil
}

// ListKind is [List] for code that does not know the Go type of a kind. The kind is that of one of
// the resource's versions; scope is the resource's. The objects are the server's own, and
// read-only. Errors: the errors of List; [ErrNotRegistered].
func (s *Server) ListKind(of schema.GroupVersionKind, sel Selection) (list []metav1.Object, scope kind.Scope, err error) {
	t := s.ofKind(of)
	if t == nil {
		return nil, scope, fmt.Errorf("fake: %s: %w", of, ErrNotRegistered)
	}
	scope = kind.Namespaced
	if t.res.ClusterScoped {
		scope = kind.ClusterScoped
	}
	m, err := t.matcher(sel, metav1.ListOptions{})
	if err != nil {
		return nil, scope, err
	}
	p, err := t.list(m, listRequest{})
	for _, v := range p.items {
		list = append(list, v.obj)
	}
	return list, scope, err
}

// accept finds obj's table and takes a copy of obj.
func accept[T metav1.Object](at Target, obj T) (*table, T, error) {
	if mistake.IsNil(obj) {
		return nil, obj, apierrors.NewBadRequest(fmt.Sprintf("nil %T", obj))
	}
	t, err := lookup[T](at, kindOf(obj))
	if err != nil {
		return nil, obj, err
	}
	own, err := t.own(obj)
	return t, typed[T](own), err
}
