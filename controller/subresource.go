package controller

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/internal/mistake"
	"github.com/kinform/kinform/kind"
)

// Subresource returns the requests of a subresource whose body is a T, such as "status" or
// "ephemeralcontainers". For other bodies use [SubresourceAs].
//
//go:noinline
func (r *Requests[T]) Subresource(name string, more ...string) *Subresource[T] {
	return r.sender.subresource(name, more)
}

//go:noinline
func (r *requests[T]) subresource(name string, more []string) *Subresource[T] {
	if r.invalid != nil {
		return &Subresource[T]{r, nil} // check refuses every request
	}
	return &Subresource[T]{r, r.client.Subresource(name, more...)}
}

func (r *Requests[T]) requests() *Requests[T] { return r }

// SubresourceAs returns the requests of a subresource whose body is a B: a Scale, an Eviction, a
// Binding or a TokenRequest. The handle is a [Handle], a [Projected] or its [Requests]; its kind names its subresources.
//
//	scale, err := controller.SubresourceAs[*autoscalingv1.Scale](deployments, "scale")
//	...
//	now, err := scale.Get(ctx, key, metav1.GetOptions{})
//
// It sends nothing. Errors: [ErrInvalid] for a nil handle, and the errors of client.New for B.
func SubresourceAs[B, T metav1.Object](handle interface{ requests() *Requests[T] }, name string, more ...string) (*Subresource[B], error) {
	if mistake.IsNil(handle) {
		return nil, noInformer[T]("SubresourceAs")
	}
	r := handle.requests()
	server, err := r.engine.opened()
	if err != nil {
		return nil, err
	}
	c, err := client.New(server, kind.As[B](r.Kind()), client.Options{Namespace: r.namespace})
	if err != nil {
		return nil, err
	}
	return &Subresource[B]{r.engine, c.Subresource(name, more...)}, nil
}

// Get reads the subresource of an object.
func (s *Subresource[B]) Get(ctx context.Context, key types.NamespacedName, opts metav1.GetOptions) (B, error) {
	if err := s.of.check(key); err != nil {
		return *new(B), err
	}
	return s.client.Get(ctx, key, opts)
}

// Create creates the subresource of the existing object that body names, such as the eviction of a
// pod. If the server only confirms, the returned B is zero.
func (s *Subresource[B]) Create(ctx context.Context, body B, opts metav1.CreateOptions) (B, error) {
	if err := checkBody(s, body); err != nil {
		return *new(B), err
	}
	made, err := s.client.Create(ctx, body, opts)
	s.of.wroteSubresource(ctx, keyOf(body), err)
	return made, err
}

// Update replaces the subresource of the object that body names.
func (s *Subresource[B]) Update(ctx context.Context, body B, opts metav1.UpdateOptions) (B, error) {
	if err := checkBody(s, body); err != nil {
		return *new(B), err
	}
	now, err := s.client.Update(ctx, body, opts)
	s.of.wroteSubresource(ctx, keyOf(body), err)
	return now, err
}

// Patch changes the subresource of an object.
func (s *Subresource[B]) Patch(ctx context.Context, key types.NamespacedName, pt types.PatchType, data []byte, opts metav1.PatchOptions) (B, error) {
	if err := s.of.check(key); err != nil {
		return *new(B), err
	}
	now, err := s.client.Patch(ctx, key, pt, data, opts)
	s.of.wroteSubresource(ctx, key, err)
	return now, err
}

// Apply is a server-side apply of the subresource.
func (s *Subresource[B]) Apply(ctx context.Context, config any, opts metav1.ApplyOptions) (B, error) {
	key, err := appliedKey(s.of.resource(), config)
	if err == nil {
		err = s.of.check(key)
	}
	if err != nil {
		return *new(B), err
	}
	now, err := s.client.Apply(ctx, config, opts)
	s.of.wroteSubresource(ctx, key, err)
	return now, err
}

func checkBody[B metav1.Object](s *Subresource[B], body B) error {
	if mistake.IsNil(body) {
		return noObject(s.of.resource(), body)
	}
	return s.of.check(keyOf(body))
}
