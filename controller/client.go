package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/internal/deepcopy"
	"github.com/kinform/kinform/internal/keytext"
	"github.com/kinform/kinform/internal/mistake"
)

// Object is a pointer to an object with metadata that can be copied: every type of k8s.io/api,
// the types that controller-gen makes, *unstructured.Unstructured and
// *metav1.PartialObjectMetadata.
type Object[T any] interface {
	metav1.Object
	DeepCopy() T
}

// Client has the requests that the helpers of this package send. *client.Resource[T] and *Handle[T]
// implement it. Its methods are safe for concurrent use, and refusals are
// *errors.StatusError of k8s.io/apimachinery.
type Client[T any] interface {
	Get(ctx context.Context, key types.NamespacedName, opts metav1.GetOptions) (T, error)
	Create(ctx context.Context, object T, opts metav1.CreateOptions) (T, error)
	Patch(ctx context.Context, key types.NamespacedName, pt types.PatchType, data []byte, opts metav1.PatchOptions) (T, error)
	PatchStatus(ctx context.Context, key types.NamespacedName, pt types.PatchType, data []byte, opts metav1.PatchOptions) (T, error)
	Delete(ctx context.Context, key types.NamespacedName, opts metav1.DeleteOptions) error
}

// tries is the number of requests to write after which a helper returns the conflict. Each try
// after the first works on an object that was just read, so conflicts in a row are rare.
const tries = 5

// errGone says that an object was deleted, and perhaps created again under the same name.
var errGone = errors.New("controller: the object is gone")

// keyOf returns the namespace and the name of an object.
func keyOf(obj metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

// copyOf returns a copy of an object.
func copyOf[T any](obj T) T {
	if o, ok := any(obj).(interface{ DeepCopy() T }); ok {
		return o.DeepCopy()
	}
	return deepcopy.Of(obj)
}

// completed adds a namespace to a key without one.
func completed(namespace string, key types.NamespacedName) types.NamespacedName {
	if key.Namespace == "" {
		key.Namespace = namespace
	}
	return key
}

// nameOf names obj in errors: its kind or, if obj does not state it, its type, and its key.
func nameOf(obj metav1.Object) string {
	kind := ownKind(obj).Kind
	if kind == "" {
		kind = fmt.Sprintf("%T", obj)
	}
	return kind + " " + keytext.Of(keyOf(obj))
}

// ownKind returns the kind in obj's TypeMeta, or an empty one.
func ownKind(obj metav1.Object) schema.GroupVersionKind {
	typed, ok := obj.(interface{ GetObjectKind() schema.ObjectKind })
	if !ok {
		return schema.GroupVersionKind{}
	}
	return typed.GetObjectKind().GroupVersionKind()
}

// about returns err with the name of an object.
func about(obj metav1.Object, err error) error {
	return fmt.Errorf("controller: %s: %w", nameOf(obj), err)
}

// noObject says that an object is nil. where names the resource of the object, or the call.
func noObject(where string, obj any) error {
	return fmt.Errorf("controller: %s: a %T: %w: look at the error of the call that returned it, or at ok of Cached: %w", where, obj, mistake.NoObject, client.ErrNotSent)
}

// IgnoreNotFound returns nil for a NotFound of an API server, and any other error unchanged. Use it
// for the deletion of objects that may not exist, and for writes to objects that may be gone by
// now, because repeating such a write would fail again.
func IgnoreNotFound(err error) error {
	if err != nil && apierrors.IsNotFound(err) { // which allocates
		return nil
	}
	return err
}

// Delete deletes obj, and no other object that got its name meanwhile. It returns nil if obj is
// gone already, or never existed. If obj is being deleted already, Delete sends nothing. If obj has
// no UID, Delete deletes any object with its name. Errors: the errors of c, and [ErrInvalid] for a nil object.
func Delete[T Object[T]](ctx context.Context, c Client[T], obj T, opts metav1.DeleteOptions) error {
	if mistake.IsNil(obj) {
		return noObject("Delete", obj)
	}
	if obj.GetDeletionTimestamp() != nil {
		return nil
	}
	key, uid := keyOf(obj), obj.GetUID()
	if uid != "" {
		var just metav1.Preconditions
		if opts.Preconditions != nil {
			just = *opts.Preconditions
		}
		just.UID, opts.Preconditions = &uid, &just
	}
	err := c.Delete(ctx, key, opts)
	if uid != "" && apierrors.IsConflict(err) {
		// A precondition does not hold: if it is that of the UID, obj is gone.
		if _, failed := newest(ctx, c, obj); errors.Is(failed, errGone) {
			return nil
		}
	}
	return IgnoreNotFound(err)
}

// newest asks the server for obj. The error is errGone if obj is gone, even if another object has
// its name now.
func newest[T Object[T]](ctx context.Context, c Client[T], obj T) (T, error) {
	now, err := c.Get(ctx, keyOf(obj), metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && now.GetUID() != obj.GetUID() {
		return obj, errGone
	}
	return now, err
}

// appliedKey returns the namespace and the name in a config for resource.
func appliedKey(resource string, config any) (types.NamespacedName, error) {
	if mistake.IsNil(config) {
		return types.NamespacedName{}, noObject(resource, config)
	}
	if obj, ok := config.(metav1.Object); ok {
		return keyOf(obj), nil
	}
	var named metav1.PartialObjectMetadata
	if text, err := json.Marshal(config); err == nil {
		_ = json.Unmarshal(text, &named) // otherwise the client refuses it
	}
	return keyOf(&named), nil
}
