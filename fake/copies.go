package fake

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/internal/mistake"
)

// own takes a copy of an object that comes from outside.
func (t *table) own(obj metav1.Object) (metav1.Object, error) {
	if mistake.IsNil(obj) {
		return obj, apierrors.NewBadRequest(fmt.Sprintf("nil %T", obj))
	}
	own, err := clone(obj)
	if err != nil {
		return obj, apierrors.NewBadRequest(fmt.Sprintf("%s %q: %v", t.res.Kind, obj.GetName(), err))
	}
	return own, nil
}

// handOut copies the object of a revision for a caller to keep.
func handOut[T metav1.Object](v *revision, err error) (T, error) {
	if err != nil {
		return *new(T), err
	}
	return share[T](v, false)
}

// share returns v's object, or a copy unless the caller has promised to only read it.
func share[T metav1.Object](v *revision, readOnly bool) (T, error) {
	if readOnly {
		return typed[T](v.obj), nil
	}
	obj, err := clone(v.obj)
	if err != nil {
		return *new(T), apierrors.NewInternalError(err)
	}
	return typed[T](obj), nil
}
