package fake

import (
	"errors"
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/fake/internal/refusal"
)

// view returns v as an object of t's definition: v itself if t wrote it, and otherwise a copy that
// is converted and pruned and, in the version of the storage, completed.
func (t *table) view(v *version) (*version, error) {
	if v == nil || v.of == t {
		return v, nil
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
		return nil, apierrors.NewInternalError(err)
	}
	return &version{key: v.key, rv: v.rv, obj: obj, by: v.by, of: t, stored: v.origin()}, nil
}

// views makes views of a list, in place.
func (t *table) views(list []*version) ([]*version, error) {
	if !t.mixed.Load() {
		return list, nil // without a look at each
	}
	for i, v := range list {
		var err error
		if list[i], err = t.view(v); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// stored returns v, of t's version, as it is stored.
func (t *table) stored(v *version) (*version, error) {
	if t.storage == nil {
		return v, nil
	}
	kept, err := t.storage.view(v)
	if err != nil {
		return nil, err
	}
	kept.stored = nil // it is a state of its own
	return kept, nil
}

// converted returns obj, which is of any version of the resource, as a new object of t's version.
func (t *table) converted(obj metav1.Object) (metav1.Object, error) {
	if obj == nil || isNil(obj) {
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
func (t *table) asStored(v *version) (*version, error) {
	kept, err := t.stored(v)
	if err != nil {
		return nil, err
	}
	return t.view(kept)
}

// main returns the table of the version in which objects are stored.
func (t *table) main() *table {
	if t.storage != nil {
		return t.storage
	}
	return t
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
	out, err = t.hooks.convert(obj)
	switch {
	case err != nil:
		return nil, err
	case isNil(out):
		return nil, fmt.Errorf("conversion to %s: Convert returned nil", t.res.GroupVersionKind())
	}
	if k, ok := out.(interface{ GetObjectKind() schema.ObjectKind }); ok {
		k.GetObjectKind().SetGroupVersionKind(t.res.GroupVersionKind())
	}
	return out, nil
}

// complete prunes obj and sets its defaults. It returns the paths of what was removed.
func (t *table) complete(obj metav1.Object) (removed []string, err error) {
	if removed, err = t.prune(obj); err != nil {
		return nil, err
	}
	if t.strategy != nil && t.strategy.Default != nil {
		t.strategy.Default(obj)
	}
	if t.hooks.setDefaults != nil {
		t.hooks.setDefaults(obj)
	}
	return removed, nil
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
