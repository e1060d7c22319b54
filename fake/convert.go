package fake

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/fake/internal/refusal"
	"github.com/kinform/kinform/internal/mistake"
)

// view returns v as an object of t's definition: v itself if t wrote it, and otherwise a copy that
// is converted and pruned and, in the version of the storage, completed.
func (t *table) view(v *revision) (*revision, error) {
	out, err := t.decoded(v)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	return out, nil
}

// decoded is view with the error as it is.
func (t *table) decoded(v *revision) (*revision, error) {
	if v == nil || v.of == t {
		return v, nil
	}
	if t.storage != nil && v.of != t.storage { // it was stored before a change of the definition
		var err error
		if v, err = t.storage.decoded(v); err != nil {
			return nil, err
		}
	}
	obj, err := clone(v.obj)
	if err == nil {
		obj, err = t.convert(obj)
	}
	if err == nil && t.storage == nil {
		_, err = t.complete(obj)
	} else if err == nil {
		_, err = t.prune(obj) // the API server sets the defaults of the stored version alone
	}
	if err != nil {
		return nil, err
	}
	return &revision{key: v.key, rv: v.rv, obj: obj, by: v.by, of: t, kept: v.kept, stored: v.origin()}, nil
}

// stored returns v, of t's version, as it is stored.
func (t *table) stored(v *revision) (*revision, error) {
	if t.storage == nil {
		return v, nil
	}
	kept, err := t.storage.view(v)
	if err != nil {
		return nil, err
	}
	kept.stored = nil // it is a separate state
	return kept, nil
}

// internal reports whether the API server compares the states of an object in an internal form,
// which the stored form stands for here: it does so for its own kinds. It compares custom resources
// in the version of the request.
func (t *table) internal() bool { return t.storage != nil && !t.res.custom() }

// sameStored is sameGeneration for a version that may not be the storage's.
func (t *table) sameStored(obj metav1.Object, old *revision) (bool, error) {
	if !t.internal() {
		return t.sameGeneration(obj, old.obj), nil
	}
	now, was, err := t.pair(&revision{key: old.key, rv: old.rv, obj: obj, of: t}, old)
	if err != nil {
		return false, err
	}
	return t.storage.sameGeneration(now.obj, was.obj), nil
}

// successor returns next, which follows old, as it is stored. A write of the status keeps the rest
// as it is stored.
func (t *table) successor(old, next *revision, w write) (*revision, error) {
	if !t.internal() || !w.status() {
		return t.stored(next)
	}
	now, was, err := t.pair(next, old)
	if err == nil {
		now.obj, err = t.storage.statusOf(now.obj, was.obj)
	}
	return now, err
}

// pair returns next and old in the version of the storage.
func (t *table) pair(next, old *revision) (now, was *revision, err error) {
	if now, err = t.stored(next); err == nil {
		was, err = t.storage.view(old.origin())
	}
	return now, was, err
}

// converted returns obj, which is of any version of the resource, as a new object of t's version.
func (t *table) converted(obj metav1.Object) (metav1.Object, error) {
	if mistake.IsNil(obj) {
		return obj, nil
	}
	obj, err := clone(obj)
	if err == nil && kindOf(obj) != t.res.GroupVersionKind() {
		obj, err = t.main().convert(obj)
	}
	if err != nil {
		return nil, err
	}
	return t.convert(obj)
}

// asStored returns v, of t's version, as it would be read after it was stored.
func (t *table) asStored(v *revision) (*revision, error) {
	kept, err := t.stored(v)
	if err != nil {
		return nil, err
	}
	return t.view(kept)
}

// convert makes obj an object of t's version.
func (t *table) convert(obj metav1.Object) (out metav1.Object, err error) {
	k, ok := obj.(interface{ GetObjectKind() schema.ObjectKind })
	switch {
	case reflect.TypeOf(obj) == t.pointer() && (!ok || k.GetObjectKind().GroupVersionKind() == t.res.GroupVersionKind()):
		return obj, nil
	case t.hooks.convert == nil:
		k.GetObjectKind().SetGroupVersionKind(t.res.GroupVersionKind())
		return obj, nil
	}
	defer refusal.Recover(&err)
	was := identityOf(obj) // the hook may change obj
	out, err = t.hooks.convert(obj)
	switch {
	case err != nil:
		return nil, err
	case mistake.IsNil(out):
		return nil, fmt.Errorf("fake: conversion of %s %q to %s: Hooks.Convert returned nil", t.res.groupResource(), was.key(), t.res.groupVersion())
	case identityOf(out) != was:
		return nil, fmt.Errorf("fake: conversion of %s %q to %s: Hooks.Convert must not change %s", t.res.groupResource(), was.key(), t.res.groupVersion(), identityOf(out).unlike(was))
	}
	if k, ok := out.(interface{ GetObjectKind() schema.ObjectKind }); ok {
		k.GetObjectKind().SetGroupVersionKind(t.res.GroupVersionKind())
	}
	return out, nil
}

// setKind makes obj state its kind, and refuses one that states another.
func (t *table) setKind(obj metav1.Object) error {
	k, ok := obj.(interface{ GetObjectKind() schema.ObjectKind })
	if !ok {
		return nil
	}
	got, want := k.GetObjectKind().GroupVersionKind(), t.res.GroupVersionKind()
	if err := t.res.checkKind(got); err != nil {
		return err
	}
	if got != want {
		k.GetObjectKind().SetGroupVersionKind(want)
	}
	return nil
}

// identity has the fields by which an object is found. A conversion must keep them.
type identity struct {
	namespace, name string
	uid             types.UID
}

func identityOf(obj metav1.Object) identity {
	return identity{obj.GetNamespace(), obj.GetName(), obj.GetUID()}
}

func (i identity) key() string {
	return strings.TrimPrefix(i.namespace+"/"+i.name, "/")
}

// unlike names the first field in which i differs from was, and both values.
func (i identity) unlike(was identity) string {
	field, from, to := "metadata.uid", string(was.uid), string(i.uid)
	switch {
	case i.name != was.name:
		field, from, to = "metadata.name", was.name, i.name
	case i.namespace != was.namespace:
		field, from, to = "metadata.namespace", was.namespace, i.namespace
	}
	return fmt.Sprintf("%s: it was %q and is %q", field, from, to)
}

// complete prunes obj and sets its defaults. It returns the paths of the removed fields.
func (t *table) complete(obj metav1.Object) (removed []string, err error) {
	if removed, err = t.prune(obj); err != nil {
		return nil, err
	}
	t.setDefaults(obj)
	return removed, nil
}

// completeNew completes the new state of a write. Like the API server, it leaves what an apply has
// merged by a schema as it is: an unknown field was refused, and a null is for Validate to refuse.
func (t *table) completeNew(obj metav1.Object, w write) error {
	if w.applies && t.res.TypeConverter != nil {
		t.setDefaults(obj)
		return nil
	}
	_, err := t.complete(obj)
	return err
}

func (t *table) setDefaults(obj metav1.Object) {
	if t.strategy != nil && t.strategy.Default != nil {
		t.strategy.Default(obj)
	}
	if t.hooks.setDefaults != nil {
		t.hooks.setDefaults(obj)
	}
}

func (t *table) prune(obj metav1.Object) ([]string, error) {
	if t.hooks.prune == nil {
		return nil, nil
	}
	removed, err := t.hooks.prune(obj)
	if status := apierrors.APIStatus(nil); err != nil && !errors.As(err, &status) {
		err = apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", t.res.Kind, t.res.Version, t.res.Kind, err))
	}
	return removed, err
}
