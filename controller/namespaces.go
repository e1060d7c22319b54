package controller

import (
	"context"
	"errors"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/internal/mistake"
	"github.com/kinform/kinform/reflector"
)

// check returns why no request for a key is sent: the error of Open, or an [ErrOutside] if the handle is not for its
// namespace.
func (r *requests[T]) check(key types.NamespacedName) error {
	if r.invalid != nil {
		return r.invalid
	}
	if r.members == nil || hasNamespace(r.members, key.Namespace) {
		return nil
	}
	return outsideError(r.members, r.client.Resource(), key)
}

// checkObject is check for an object that is to be written. It returns an ErrInvalid for nil.
func checkObject[T metav1.Object](r *requests[T], obj T) error {
	switch {
	case r.invalid != nil:
		return r.invalid
	case mistake.IsNil(obj):
		return noObject(r.resource(), obj)
	}
	return r.check(keyOf(obj))
}

// sourcesOf returns the sources of the handle's objects. The sources of namespace come first.
// Sources that fail come last, because a server that does not answer one of them would hold up the
// others.
func sourcesOf[T metav1.Object](r *requests[T], namespace string) []*client.Resource[T] {
	if r.members == nil {
		return []*client.Resource[T]{r.client}
	}
	return clientsOf(r.members, namespace, r.cache.stale())
}

// sourcesWithin returns the sources for some namespaces, nil for all of the handle. It leaves out the
// namespaces in without.
func sourcesWithin[T metav1.Object](r *requests[T], some, without []string) (all []located[T]) {
	if r.members == nil {
		return []located[T]{{r.client, r.namespace}}
	}
	return clientsWithin(r.members, some, without)
}

// versionNow returns a resourceVersion that is not older than any change so far in a namespace or, if it
// is empty, in all. Versions compare across namespaces, so if one cannot answer soon, another one
// can. It is empty if the handle is for none.
func versionNow[T metav1.Object](ctx context.Context, r *requests[T], namespace string) (rv string, err error) {
	all := sourcesOf(r, namespace)
	for n, source := range all {
		last := n == len(all)-1
		if rv, err = nowOf(ctx, source, last); err == nil {
			return rv, nil
		}
	}
	return "", err
}

// askAfter is how long one source may take to tell the version if another one can.
const askAfter = 2 * time.Second

// nowOf returns the version of a list of one object. It does not wait long unless the source is the
// last one to be asked.
func nowOf[T metav1.Object](ctx context.Context, source *client.Resource[T], last bool) (string, error) {
	if !last {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, askAfter)
		defer cancel()
	}
	meta, err := source.List(ctx, metav1.ListOptions{Limit: 1}, func(reflector.Event[T], error) bool { return true })
	return meta.ResourceVersion, err
}

// deleteCollection deletes what each source of the handle selects.
func deleteCollection[T metav1.Object](ctx context.Context, r *requests[T], opts metav1.DeleteOptions, list metav1.ListOptions) error {
	var failed []error
	for _, source := range sourcesOf(r, "") {
		failed = append(failed, source.DeleteCollection(ctx, opts, list))
	}
	if len(failed) == 1 {
		return failed[0] // as it is
	}
	return errors.Join(failed...)
}

// Covers reports whether the cache has all objects of a namespace that the handle selects. If so,
// an object that the cache lacks did not exist at the version that the watch has reached. It is
// false for a namespace that is not in OpenOptions.Namespaces, that is refused, that has failed for
// 10 seconds, that is behind the others since, or whose first list has not come.
//
// Reconciles of keys in such a namespace wait for its first list: see the package documentation. If
// a reconcile reads a namespace other than its key's, it has to call Covers. O(1).
//
//go:noinline
func (h *Projected[T, P]) Covers(namespace string) bool {
	return h.engine.covers(namespace)
}

func (r *requests[T]) covers(namespace string) bool {
	if r.members == nil {
		return r.cache.version() != "" && (r.namespace == "" || r.namespace == namespace)
	}
	return r.cache.covers(namespace)
}

func (r *requests[T]) awaits(namespace string) bool {
	if r.cache.listing(namespace) {
		return true
	}
	blind := r.debt.stillBlind(func(name string) bool { return !hasNamespace(r.members, name) || r.cache.covers(name) })
	return slices.ContainsFunc(blind, func(name string) bool { return overlap(name, namespace) && r.cache.waits(name) })
}
