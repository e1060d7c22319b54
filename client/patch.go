package client

import (
	"context"
	"errors"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Patch changes an object by data and returns the stored object. Data is sent unchanged. pt is
// its type: types.JSONPatchType, MergePatchType, StrategicMergePatchType (built-in types
// only), ApplyYAMLPatchType (JSON is YAML; see [Resource.Apply]) or ApplyCBORPatchType.
//
//go:noinline
func (r *Resource[T]) Patch(ctx context.Context, key types.NamespacedName, pt types.PatchType, data []byte, opts metav1.PatchOptions) (T, error) {
	return typedAnswer[T](patchObject(ctx, r.core, nil, key, pt, data, &opts))
}

// PatchStatus changes only the status of an object, if status is a subresource. It is the same as
// Patch of Subresource("status").
//
//go:noinline
func (r *Resource[T]) PatchStatus(ctx context.Context, key types.NamespacedName, pt types.PatchType, data []byte, opts metav1.PatchOptions) (T, error) {
	return typedAnswer[T](patchObject(ctx, r.core, statusPath, key, pt, data, &opts))
}

func patchObject(ctx context.Context, r *resource, path []string, key types.NamespacedName, pt types.PatchType, data []byte, opts *metav1.PatchOptions) (any, error) {
	c := call{verb: "patch", method: http.MethodPatch, key: key, subresource: path, contentType: string(pt), body: data}
	if c.contentType == "" || len(c.body) == 0 {
		return nil, refuse(r, c, errors.New("no patch, or no patch type"))
	}
	return askForObject(ctx, r, c, opts)
}

// Apply is a server-side apply
// (https://kubernetes.io/docs/reference/using-api/server-side-apply/): it sets the fields of
// config in the object and makes opts.FieldManager, which servers require, their manager. It
// returns the stored object, and creates the object if there was none. If another manager has
// set a field to another value, the error is a conflict, unless opts.Force is set. Controllers
// should set it.
//
// Config is any value with the JSON form of a part of the object, including metadata.name: a
// map[string]any, an *unstructured.Unstructured, an apply configuration of client-go, or T.
// Apply claims every field in that form, so T is suitable only if it omits unset fields.
// Namespace, kind and apiVersion are completed as by Create. Leave out managed fields, and
// leave out the resourceVersion unless the object must still have it.
func (r *Resource[T]) Apply(ctx context.Context, config any, opts metav1.ApplyOptions) (T, error) {
	return typedAnswer[T](applyObject(ctx, r.core, nil, config, &opts))
}

func applyObject(ctx context.Context, r *resource, path []string, config any, opts *metav1.ApplyOptions) (any, error) {
	return putObject(ctx, r, call{verb: "apply", method: http.MethodPatch, subresource: path}, config, opts)
}
