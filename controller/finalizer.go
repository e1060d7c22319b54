package controller

import (
	"context"
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/internal/mistake"
)

// Finalize keeps a finalizer on obj while obj lives, and cleans up once obj is deleted
// (https://kubernetes.io/docs/concepts/overview/working-with-objects/finalizers/). Call it first in
// reconcile, before you create anything for obj outside the API server:
//
//	site, done, err := controller.Finalize(ctx, websites, site, "example.com/dns", removeDNS)
//	if done || err != nil {
//		return err
//	}
//
// If obj is not being deleted, Finalize adds the finalizer if it is missing, and returns the object
// as stored and done == false. When it returns, the server has the finalizer.
//
// If obj is being deleted, done is true: reconcile has nothing more to do. Finalize reads the
// object from the server, because a stale cache would lead to a second cleanup. If the object still
// has the finalizer, Finalize calls cleanup, and removes the finalizer once cleanup returns nil. It
// returns an error of cleanup, such as [Again], unchanged, and the finalizer stays.
//
// A process may end between cleanup and the removal. So cleanup may run again for the same UID, and
// must then succeed. Name what it removes by the UID, because another object may have the name by
// then.
//
// If the object is gone, or another one has its name, done is true and err is nil. Errors:
// [ErrInvalid], also for a nil object, and the errors of c, a Conflict
// only after five in a row.
func Finalize[T Object[T]](ctx context.Context, c Client[T], obj T, finalizer string, cleanup func(context.Context, T) error) (_ T, done bool, err error) {
	if mistake.IsNil(obj) {
		return obj, true, noObject("Finalize", obj)
	}
	if cleanup == nil {
		return obj, true, about(obj, errNoCleanup)
	}
	if finalizer == "" {
		return obj, true, about(obj, errNoFinalizer)
	}
	if obj.GetDeletionTimestamp() == nil {
		obj, _, err = change[T]{client: c, edit: func(o T) error { addFinalizer(o, finalizer); return nil }}.to(ctx, obj)
		if errors.Is(err, errGone) {
			return obj, true, nil
		}
		if err != nil || obj.GetDeletionTimestamp() == nil {
			return obj, err != nil, err
		}
	}
	if !hasFinalizer(obj, finalizer) {
		return obj, true, nil
	}
	obj, err = finishCleanup(ctx, c, obj, finalizer, cleanup)
	return obj, true, err
}

// finishCleanup cleans up after an object that is being deleted, and lets go of it.
func finishCleanup[T Object[T]](ctx context.Context, c Client[T], obj T, finalizer string, cleanup func(context.Context, T) error) (T, error) {
	now, err := c.Get(ctx, keyOf(obj), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return obj, nil
	}
	if err != nil || now.GetUID() != obj.GetUID() || !hasFinalizer(now, finalizer) {
		return obj, err
	}
	if err := cleanup(ctx, now); err != nil {
		return now, err
	}
	now, _, err = change[T]{client: c, edit: func(o T) error { removeFinalizer(o, finalizer); return nil }}.to(ctx, now)
	if errors.Is(err, errGone) {
		err = nil
	}
	return now, err
}

func hasFinalizer(obj metav1.Object, finalizer string) bool {
	return slices.Contains(obj.GetFinalizers(), finalizer)
}

// addFinalizer adds a finalizer to an object that is not being deleted: the server refuses to add
// one to others.
func addFinalizer(obj metav1.Object, finalizer string) {
	if obj.GetDeletionTimestamp() == nil && !hasFinalizer(obj, finalizer) {
		obj.SetFinalizers(append(slices.Clip(obj.GetFinalizers()), finalizer))
	}
}

func removeFinalizer(obj metav1.Object, finalizer string) {
	rest := slices.DeleteFunc(slices.Clone(obj.GetFinalizers()), func(f string) bool { return f == finalizer })
	obj.SetFinalizers(rest)
}
