package controller

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/internal/keytext"
)

// Get asks the server for an object.
//
//go:noinline
func (r *Requests[T]) Get(ctx context.Context, key types.NamespacedName, opts metav1.GetOptions) (T, error) {
	return r.sender.get(ctx, key, &opts)
}

func (r *requests[T]) get(ctx context.Context, key types.NamespacedName, opts *metav1.GetOptions) (T, error) {
	obj, missed, err := read(ctx, r, key, *opts)
	if missed != nil {
		r.debt.doubt(fullKey(r, key))
	}
	return obj, err
}

// ServerVersion asks the server for the object under the key with this text, and returns its
// resourceVersion. It is for programs that look at handles of any type. Errors: Get's errors, and
// one for a text that is no key.
//
//go:noinline
func (r *Requests[T]) ServerVersion(ctx context.Context, key string) (string, error) {
	return r.engine.serverVersion(ctx, key)
}

func (r *requests[T]) serverVersion(ctx context.Context, key string) (string, error) {
	of, ok := keytext.As[types.NamespacedName](key)
	if !ok {
		return "", fmt.Errorf("%q is no key", key)
	}
	obj, err := r.get(ctx, of, &metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	return obj.GetResourceVersion(), nil
}

// Create writes a new object. A nil object is [ErrInvalid], here and in Update and Apply.
//
//go:noinline
func (r *Requests[T]) Create(ctx context.Context, obj T, opts metav1.CreateOptions) (T, error) {
	return r.sender.create(ctx, obj, &opts)
}

func (r *requests[T]) create(ctx context.Context, obj T, opts *metav1.CreateOptions) (T, error) {
	if err := checkObject(r, obj); err != nil {
		return *new(T), err
	}
	made, err := r.client.Create(ctx, obj, *opts)
	return wrote(ctx, r, write{key: keyOf(obj), dry: opts.DryRun, known: true}, made, err)
}

// Update replaces an object.
//
//go:noinline
func (r *Requests[T]) Update(ctx context.Context, obj T, opts metav1.UpdateOptions) (T, error) {
	return r.sender.update(ctx, obj, &opts, false)
}

// UpdateStatus replaces the status of an object.
//
//go:noinline
func (r *Requests[T]) UpdateStatus(ctx context.Context, obj T, opts metav1.UpdateOptions) (T, error) {
	return r.sender.update(ctx, obj, &opts, true)
}

func (r *requests[T]) update(ctx context.Context, obj T, opts *metav1.UpdateOptions, status bool) (now T, err error) {
	if err := checkObject(r, obj); err != nil {
		return now, err
	}
	base := obj.GetResourceVersion()
	w := write{key: keyOf(obj), seen: lookAt(r, keyOf(obj)), dry: opts.DryRun, base: base, known: base != "", status: status}
	if status {
		now, err = r.client.UpdateStatus(ctx, obj, *opts)
	} else {
		now, err = r.client.Update(ctx, obj, *opts)
	}
	return wrote(ctx, r, w, now, err)
}

// Patch changes an object.
//
//go:noinline
func (r *Requests[T]) Patch(ctx context.Context, key types.NamespacedName, pt types.PatchType, data []byte, opts metav1.PatchOptions) (T, error) {
	return r.sender.patch(ctx, &patchRequest{key, pt, data, opts, false})
}

// PatchStatus changes the status of an object.
//
//go:noinline
func (r *Requests[T]) PatchStatus(ctx context.Context, key types.NamespacedName, pt types.PatchType, data []byte, opts metav1.PatchOptions) (T, error) {
	return r.sender.patch(ctx, &patchRequest{key, pt, data, opts, true})
}

func (r *requests[T]) patch(ctx context.Context, p *patchRequest) (now T, err error) {
	if err := r.check(p.key); err != nil {
		return now, err
	}
	base := statedVersion(p.data)
	w := write{key: p.key, seen: lookAt(r, p.key), dry: p.opts.DryRun, base: base, known: base != "", status: p.status}
	if p.status {
		now, err = r.client.PatchStatus(ctx, p.key, p.pt, p.data, p.opts)
	} else {
		now, err = r.client.Patch(ctx, p.key, p.pt, p.data, p.opts)
	}
	return wrote(ctx, r, w, now, err)
}

// statedVersion returns the version that an object must have for a patch of it, empty if any will
// do.
func statedVersion(data []byte) string {
	if !bytes.Contains(data, []byte("resourceVersion")) && !bytes.Contains(data, []byte(`\`)) {
		return "" // without an escape, the name would be there
	}
	var based struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
	}
	if json.Unmarshal(data, &based) == nil {
		return based.Metadata.ResourceVersion
	}
	var steps []struct {
		Path  string
		Value any
	}
	_ = json.Unmarshal(data, &steps) // otherwise the server refuses it
	for _, s := range steps {
		if version, ok := s.Value.(string); ok && s.Path == "/metadata/resourceVersion" {
			return version
		}
	}
	return ""
}

// Apply is a server-side apply.
//
//go:noinline
func (r *Requests[T]) Apply(ctx context.Context, config any, opts metav1.ApplyOptions) (T, error) {
	return r.sender.apply(ctx, config, &opts)
}

func (r *requests[T]) apply(ctx context.Context, config any, opts *metav1.ApplyOptions) (T, error) {
	key, err := appliedKey(r.resource(), config)
	if err == nil {
		err = r.check(key)
	}
	if err != nil {
		return *new(T), err
	}
	w := write{key: key, seen: lookAt(r, key), dry: opts.DryRun}
	now, err := r.client.Apply(ctx, config, *opts)
	return wrote(ctx, r, w, now, err)
}

// Delete asks the server to delete an object. If the object waits for its finalizers, reads have it
// with a deletionTimestamp. Otherwise they no longer have it.
//
// If reads do not show the object's UID, as in a projection without one, a second request finds out
// at which version it is gone. If that fails, Delete still returns nil, because the object is
// deleted. Reads may then show the object until CatchUp has returned nil. [Controller.Run] waits
// for that before it calls reconcile again.
//
//go:noinline
func (r *Requests[T]) Delete(ctx context.Context, key types.NamespacedName, opts metav1.DeleteOptions) error {
	return r.engine.remove(ctx, key, &opts)
}

// The answer is mostly a Status with the UID and without a version. Then the version that reads had before the
// request belongs to that UID.
func (r *requests[T]) remove(ctx context.Context, key types.NamespacedName, opts *metav1.DeleteOptions) error {
	if err := r.check(key); err != nil {
		return err
	}
	noteWriter(ctx, r)
	seen := lookAt(r, key)
	said, err := r.client.Remove(ctx, key, *opts)
	switch {
	case len(opts.DryRun) > 0:
	case err == nil && said.Answered && said.Object.GetDeletionTimestamp() != nil:
		learnAnswer(ctx, r, said.Object)
	case err == nil && said.Answered:
		if recordEnd(ctx, r, said.Object) != nil {
			r.debt.unknown(fullKey(r, key).Namespace)
		}
	case err == nil:
		if said.UID != seen.uid {
			seen.uid = ""
		}
		noteGone(ctx, r, seen)
	default:
		noteFailed(ctx, r, seen, key, err)
	}
	return err
}

// DeleteCollection asks the server to delete all objects of the handle that match list. If it
// succeeds, it also waits until reads have caught up, as [Requests.CatchUp] does.
//
//go:noinline
func (r *Requests[T]) DeleteCollection(ctx context.Context, opts metav1.DeleteOptions, list metav1.ListOptions) error {
	return r.engine.removeAll(ctx, &opts, &list)
}

func (r *requests[T]) removeAll(ctx context.Context, opts *metav1.DeleteOptions, list *metav1.ListOptions) error {
	if r.invalid != nil {
		return r.invalid
	}
	noteWriter(ctx, r)
	err := deleteCollection(ctx, r, *opts, *list)
	if len(opts.DryRun) > 0 {
		return err
	}
	r.debt.unknown("") // on an error, some may be deleted
	if err != nil {
		return err
	}
	return r.CatchUp(ctx)
}
