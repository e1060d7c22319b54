package controller

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/kind"
)

// Stats are the numbers of a [Handle], with the names to export them under.
type Stats struct {
	// Kind is the kind of the objects. Its name is empty for a kind of kind.OfResource.
	Kind schema.GroupVersionKind
	// Resource names the objects of the handle, such as "deployments.apps in namespace prod".
	Resource string
	// Cache are the numbers of the informer. Client are the numbers of all requests, including the
	// informer's.
	Cache  informer.Stats
	Client client.Stats
}

// Kind returns the kind that the handle was opened for.
//
//go:noinline
func (r *Requests[T]) Kind() *kind.Kind[T] {
	return r.sender.kind()
}

//go:noinline
func (r *requests[T]) kind() *kind.Kind[T] { return r.of }

// Stats returns the current numbers. They are read one by one and may be from different moments. It
// is safe from any goroutine.
//
//go:noinline
func (h *Projected[T, P]) Stats() Stats {
	var is schema.GroupVersionKind
	if of := h.Kind(); of != nil {
		is = of.GroupVersionKind
	}
	return Stats{Kind: is, Resource: h.Resource(), Cache: h.inf.Stats(), Client: h.engine.stats()}
}

func (r *requests[T]) stats() client.Stats {
	if r.invalid != nil {
		return client.Stats{}
	}
	all := r.client.Stats()
	if r.members != nil {
		all = plus(all, r.members.stats())
	}
	return all
}

// Handlers returns the statistics of all handlers of the cache, see informer.Informer.Handlers.
func (h *Projected[T, P]) Handlers() []informer.HandlerStats { return h.inf.Handlers() }

// Bytes estimates the memory of the objects in the cache, see informer.Informer.Bytes.
func (h *Projected[T, P]) Bytes() uint64 { return h.inf.Bytes() }
