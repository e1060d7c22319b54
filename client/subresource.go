package client

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Subresource reads and writes a part or an aspect of objects that has its own address, such
// as their status. It has the methods of [Resource], with the same errors.
type Subresource[T any] struct {
	core *resource
	path []string
}

// Subresource returns the client of a subresource, such as "status", "scale" or "eviction"; more
// names are further parts of the path. T must fit the subresource's answer: the object itself for
// "status", and an autoscaling/v1 Scale for "scale". So for the scale of deployments, call
// Subresource("scale") on a client of kind.As[*autoscalingv1.Scale](apps.Deployments). The kind is
// checked only for "status", because the kind of other subresources is not known.
//
// It sends nothing. If a name is not usable, the methods return an error.
//
//go:noinline
func (r *Resource[T]) Subresource(name string, more ...string) *Subresource[T] {
	return &Subresource[T]{core: r.core, path: append([]string{name}, more...)}
}

// Get reads the subresource of an object.
func (s *Subresource[T]) Get(ctx context.Context, key types.NamespacedName, opts metav1.GetOptions) (T, error) {
	return typedAnswer[T](getObject(ctx, s.core, s.path, key, &opts))
}

// Create creates the subresource of the existing object with object's name, such as the
// eviction of a pod. If the server only confirms, as it does for an eviction, the returned T
// is zero.
func (s *Subresource[T]) Create(ctx context.Context, object T, opts metav1.CreateOptions) (T, error) {
	return typedAnswer[T](createObject(ctx, s.core, s.path, object, &opts))
}

// Update replaces the subresource of an object.
func (s *Subresource[T]) Update(ctx context.Context, object T, opts metav1.UpdateOptions) (T, error) {
	return typedAnswer[T](updateObject(ctx, s.core, s.path, object, &opts))
}

// Patch changes the subresource of an object as [Resource.Patch] changes an object.
//
//go:noinline
func (s *Subresource[T]) Patch(ctx context.Context, key types.NamespacedName, pt types.PatchType, data []byte, opts metav1.PatchOptions) (T, error) {
	return typedAnswer[T](patchObject(ctx, s.core, s.path, key, pt, data, &opts))
}

// Apply applies config to the subresource of an object as [Resource.Apply] does to an object.
func (s *Subresource[T]) Apply(ctx context.Context, config any, opts metav1.ApplyOptions) (T, error) {
	return typedAnswer[T](applyObject(ctx, s.core, s.path, config, &opts))
}
