package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// change is one change of an object, and how to carry it out.
type change[T Object[T]] struct {
	client Client[T]
	// edit changes a copy of the object. It is called again for each state that is found.
	edit func(T) error
	// status says that edit only changes the status.
	status bool
}

// to carries the change out, if it changes anything, and returns obj as stored. On an error it
// returns the newest state that it knows; the error is errGone if the object is gone.
//
// The patch has only the fields that changed, so fields that T does not have survive. It states
// the resourceVersion, so it never undoes a change of another writer that edit has not seen.
func (c change[T]) to(ctx context.Context, obj T) (_ T, changed bool, err error) {
	for range tries {
		var patch []byte
		if patch, err = c.patch(obj); err != nil || patch == nil {
			return obj, false, err
		}
		var now T
		if now, err = c.send(ctx, keyOf(obj), patch); err == nil {
			return now, true, nil
		}
		if c.status && apierrors.IsNotFound(err) {
			return obj, false, c.withoutStatus(ctx, obj, err)
		}
		if !apierrors.IsConflict(err) {
			if apierrors.IsNotFound(err) {
				err = errGone
			}
			return obj, false, err
		}
		now, failed := newest(ctx, c.client, obj)
		if failed != nil {
			return obj, false, failed
		}
		obj = now
	}
	return obj, false, err
}

// newest asks the server for obj. The error is errGone if obj is gone, also if another object has
// its name now.
func newest[T Object[T]](ctx context.Context, c Client[T], obj T) (T, error) {
	now, err := c.Get(ctx, keyOf(obj), metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && now.GetUID() != obj.GetUID() {
		return obj, errGone
	}
	return now, err
}

// withoutStatus returns the error of a status that was not found. API servers give the same answer
// for an object that is gone and for a kind that has no status subresource.
func (c change[T]) withoutStatus(ctx context.Context, obj T, err error) error {
	if _, failed := newest(ctx, c.client, obj); failed != nil {
		return failed
	}
	return about(obj, fmt.Errorf("%w: %w", ErrNoStatus, err))
}

func (c change[T]) send(ctx context.Context, key types.NamespacedName, patch []byte) (T, error) {
	if c.status {
		return c.client.PatchStatus(ctx, key, types.MergePatchType, patch, metav1.PatchOptions{})
	}
	return c.client.Patch(ctx, key, types.MergePatchType, patch, metav1.PatchOptions{})
}

// patch returns a merge patch with the changes that edit makes to a copy of obj, or nil if it makes
// none.
func (c change[T]) patch(obj T) ([]byte, error) {
	version := obj.GetResourceVersion()
	if version == "" {
		return nil, about(obj, ErrNoVersion)
	}
	next := obj.DeepCopy()
	if err := c.edit(next); err != nil {
		return nil, err
	}
	if keyOf(next) != keyOf(obj) || next.GetUID() != obj.GetUID() {
		return nil, about(obj, ErrRenamed)
	}
	next.SetResourceVersion(version)
	before, err := treeOf(obj)
	if err != nil {
		return nil, err
	}
	after, err := treeOf(next)
	if err != nil {
		return nil, err
	}
	patch := mergePatch(before, after)
	if len(patch) == 0 {
		return nil, nil
	}
	if c.status {
		for field := range patch {
			if field != "status" {
				return nil, about(obj, fmt.Errorf("%w: %s", ErrNotStatus, field))
			}
		}
	}
	meta, _ := patch["metadata"].(tree)
	if meta == nil {
		meta = tree{}
		patch["metadata"] = meta
	}
	meta["resourceVersion"] = version
	return json.Marshal(patch)
}

// PatchStatus calls edit for a copy of obj, and writes the status if edit changed it. It sends
// nothing if edit changed nothing. It returns the object as stored, or obj if nothing was sent.
// With an error, it returns the newest state that it knows, which is never nil unless obj is. obj
// must come from the server or a cache; it is not changed.
//
// If the object was changed meanwhile, PatchStatus reads it from c and calls edit again for the
// new state, so edit may be called several times. It should only set what reconcile found out:
// take the generation that a condition was observed at from reconcile's own object, see
// [SetCondition].
//
// If the object is gone, there is no status to write: the error is nil. Other errors: [ErrNoEdit],
// [ErrNoObject], [ErrNoVersion], [ErrRenamed], [ErrNoStatus]; [ErrNotStatus] if edit changes
// anything else, and those of c, a Conflict only after five in a row.
func PatchStatus[T Object[T]](ctx context.Context, c Client[T], obj T, edit func(T)) (T, error) {
	if isNil(obj) {
		return obj, noObject("PatchStatus", obj)
	}
	if edit == nil {
		return obj, about(obj, ErrNoEdit)
	}
	now, _, err := change[T]{client: c, status: true, edit: func(o T) error { edit(o); return nil }}.to(ctx, obj)
	if errors.Is(err, errGone) {
		err = nil
	}
	return now, err
}

// Outcome says what CreateOrUpdate did.
type Outcome uint8

// The outcomes of [CreateOrUpdate].
const (
	// Unchanged means that nothing was written.
	Unchanged Outcome = iota
	// Created means that the object was created.
	Created
	// Updated means that the object was changed.
	Updated
)

// String returns the name in lower case.
func (o Outcome) String() string {
	switch o {
	case Created:
		return "created"
	case Updated:
		return "updated"
	}
	return "unchanged"
}

// CreateOrUpdate makes sure that an object is as edit wants it. It reads the object with the
// namespace and name of obj, calls edit for a copy, and writes the fields that edit changed. If
// there is no such object, edit is called for a copy of obj, which is then created. It returns the
// object as stored; with an error, the newest state that it knows, or obj. Treat it as read-only:
// it may be that of a cache.
//
// If c is a [Handle], the object is read from its cache, which has the handle's own writes. So
// nothing is sent if nothing changes. The cache may be behind other writers. Their events queue the
// key again if the controller watches the handle ([Owns]). An object that the cache does not have
// is asked for first if the handle has a label or field selector, which may hide it, or has not
// listed yet. Any other c is asked for the object in each call.
//
// It sends no write if edit changes nothing, which is decided by JSON. So edit should set single
// fields. A whole struct such as a PodSpec overwrites the defaults that the server has set, and
// is written in every call: where that happens, use [Apply]. The same is true of a list: edit the
// element in it, see the package documentation. Edit must not set the status.
//
// If the object was changed, created or deleted meanwhile, CreateOrUpdate reads it from the server
// and calls edit for the new state, so edit may be called several times. An error of edit ends it,
// without a write; [SetController] returns one if somebody else has made the object. Other errors:
// [ErrNoEdit], [ErrNoObject], [ErrNoName], [ErrRenamed], and those of c, a Conflict or
// AlreadyExists only after five in a row.
func CreateOrUpdate[T Object[T]](ctx context.Context, c Client[T], obj T, edit func(T) error) (T, Outcome, error) {
	if isNil(obj) {
		return obj, Unchanged, noObject("CreateOrUpdate", obj)
	}
	if edit == nil {
		return obj, Unchanged, about(obj, ErrNoEdit)
	}
	if obj.GetName() == "" {
		return obj, Unchanged, about(obj, ErrNoName)
	}
	now, found, err := first(ctx, c, keyOf(obj))
	for try := range tries {
		if try > 0 {
			now, found, err = ask(ctx, c, keyOf(obj))
		}
		if err == nil && !found {
			if now, err = create(ctx, c, obj, edit); err == nil {
				return now, Created, nil
			}
			if !apierrors.IsAlreadyExists(err) {
				return obj, Unchanged, err
			}
			continue
		}
		if err != nil {
			return obj, Unchanged, err
		}
		now, changed, failed := change[T]{client: c, edit: edit}.to(ctx, now)
		switch {
		case failed == nil && changed:
			return now, Updated, nil
		case !errors.Is(failed, errGone):
			return now, Unchanged, failed
		}
		err = failed
	}
	return obj, Unchanged, err
}

// first reads an object where that is cheapest. It may be older than the server's.
func first[T Object[T]](ctx context.Context, c Client[T], key types.NamespacedName) (obj T, found bool, err error) {
	if h, ok := c.(interface {
		current(key types.NamespacedName) (obj T, found, sure bool)
	}); ok {
		if obj, found, sure := h.current(key); found || sure {
			return obj, found, nil
		}
	}
	return ask(ctx, c, key)
}

// ask reads an object from the server.
func ask[T Object[T]](ctx context.Context, c Client[T], key types.NamespacedName) (obj T, found bool, err error) {
	obj, err = c.Get(ctx, key, metav1.GetOptions{})
	return obj, err == nil, IgnoreNotFound(err)
}

// create creates the object that edit makes from obj.
func create[T Object[T]](ctx context.Context, c Client[T], obj T, edit func(T) error) (T, error) {
	next := obj.DeepCopy()
	if err := edit(next); err != nil {
		return obj, err
	}
	if keyOf(next) != keyOf(obj) {
		return obj, about(obj, ErrRenamed)
	}
	return c.Create(ctx, next, metav1.CreateOptions{})
}
