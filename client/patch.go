package client

import (
	"context"
	"errors"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Patch changes an object by data and returns it as the server stored it. Data is sent as
// it is; pt says what it is: types.JSONPatchType, MergePatchType, StrategicMergePatchType
// (built-in types only), ApplyYAMLPatchType (JSON is YAML; see [Resource.Apply]) or
// ApplyCBORPatchType.
func (r *Resource[T]) Patch(ctx context.Context, key types.NamespacedName, pt types.PatchType, data []byte, opts metav1.PatchOptions) (T, error) {
	return r.patch(ctx, call{key: key, contentType: string(pt), body: data}, opts)
}

func (r *Resource[T]) patch(ctx context.Context, c call, opts metav1.PatchOptions) (T, error) {
	c.verb, c.method = "patch", http.MethodPatch
	if c.contentType == "" || len(c.body) == 0 {
		return *new(T), r.fail(c, errors.New("no patch, or no patch type"))
	}
	return r.one(ctx, c, &opts)
}

// Apply makes the fields of config the object's, and opts.FieldManager, which servers ask
// for, their manager: a server-side apply
// (https://kubernetes.io/docs/reference/using-api/server-side-apply/). It returns the
// object as the server stored it, which is a new one if there was none. Where another
// manager has a field with another value, the error is a conflict, unless opts.Force is
// set, as it should be in controllers.
//
// Config is anything with the JSON form of a part of the object, metadata.name included: a
// map[string]any, an *unstructured.Unstructured, an apply configuration of client-go, or
// T. Every field in that form is claimed, so T is right only if it leaves out what is not
// set. Namespace, kind and apiVersion are completed as by Create. Managed fields have to
// be left out, and so does the resourceVersion unless the object must still have it.
func (r *Resource[T]) Apply(ctx context.Context, config any, opts metav1.ApplyOptions) (T, error) {
	return r.put(ctx, call{verb: "apply", method: http.MethodPatch}, config, &opts)
}
