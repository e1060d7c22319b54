package fake

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// own takes a copy of an object that comes from outside.
func (t *table[T]) own(obj T) (T, error) {
	if isNil(obj) {
		return obj, apierrors.NewBadRequest(fmt.Sprintf("nil %T", obj))
	}
	own, err := clone(obj)
	if err != nil {
		return obj, apierrors.NewBadRequest(fmt.Sprintf("%s %q: %v", t.res.Kind, obj.GetName(), err))
	}
	return own, nil
}

// handOut copies the object of a version for a caller to keep.
func (t *table[T]) handOut(v *version[T], err error) (T, error) {
	if err != nil {
		return *new(T), err
	}
	return t.share(v, false)
}

// share returns v's object, or a copy unless the caller has promised to only read it.
func (t *table[T]) share(v *version[T], readOnly bool) (T, error) {
	if readOnly {
		return v.obj, nil
	}
	obj, err := clone(v.obj)
	if err != nil {
		return obj, apierrors.NewInternalError(err)
	}
	return obj, nil
}
