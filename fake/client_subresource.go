package fake

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/fake/internal/refusal"
)

// Subresource reads and writes a part of objects that has its own address. It has the methods of
// client.Subresource. A Client only has the subresource "status", of kinds that have it; the
// methods of others return 404. Those that a [SubresourceHook] makes are served over HTTP only.
type Subresource[T metav1.Object] struct {
	of   *Client[T]
	path []string
}

// Subresource returns the client of a subresource; more names are further parts of the path.
func (c *Client[T]) Subresource(name string, more ...string) Subresource[T] {
	return Subresource[T]{of: c, path: append([]string{name}, more...)}
}

// check refuses a subresource that the resource does not have. As over HTTP, no fault strikes it.
func (s Subresource[T]) check() error {
	if len(s.path) != 1 || s.path[0] != statusField || !s.of.table().res.Status {
		return refusal.NoResource()
	}
	return nil
}

// Get returns a copy of the object at key, as [Client.Get] does.
func (s Subresource[T]) Get(ctx context.Context, key types.NamespacedName, opts metav1.GetOptions) (T, error) {
	if err := s.check(); err != nil {
		return *new(T), err
	}
	return s.of.get(ctx, key, opts, true)
}

// Create is always refused, because a status cannot be created. Status errors: NotFound,
// MethodNotAllowed.
func (s Subresource[T]) Create(ctx context.Context, object T, _ metav1.CreateOptions) (T, error) {
	if err := s.check(); err != nil {
		return *new(T), err
	}
	if ctx.Err() != nil {
		return *new(T), context.Cause(ctx)
	}
	return *new(T), s.of.table().errSubresourceCreate()
}

// Update writes to the subresource, as [Client.UpdateStatus] does.
func (s Subresource[T]) Update(ctx context.Context, object T, opts metav1.UpdateOptions) (T, error) {
	if err := s.check(); err != nil {
		return *new(T), err
	}
	return s.of.put(ctx, object, opts, true)
}

// Patch changes the subresource of the object at key as [Client.Patch] changes an object.
func (s Subresource[T]) Patch(ctx context.Context, key types.NamespacedName, pt types.PatchType, data []byte, opts metav1.PatchOptions) (T, error) {
	if err := s.check(); err != nil {
		return *new(T), err
	}
	return s.of.patch(ctx, key, pt, data, opts, true)
}

// Apply applies config to the subresource as [Client.Apply] does to an object. It does not create
// the object.
func (s Subresource[T]) Apply(ctx context.Context, config any, opts metav1.ApplyOptions) (T, error) {
	if err := s.check(); err != nil {
		return *new(T), err
	}
	return s.of.apply(ctx, config, opts, true)
}
