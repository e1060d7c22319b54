package fake

import (
	"encoding/json"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kinform/kinform/fake/internal/patch"
	"github.com/kinform/kinform/fake/internal/refusal"
	"github.com/kinform/kinform/fake/internal/wire"
)

// patchBody is the body of a PATCH.
type patchBody struct {
	kind  types.PatchType
	data  []byte
	force bool // an apply takes fields over that others own
}

// patch applies p to the object at key; created says that an apply made it.
func (t *table[T]) patch(key types.NamespacedName, p patchBody, w write) (v *version[T], created bool, err error) {
	if err := t.checkPatchType(p.kind); err != nil {
		return nil, false, err
	}
	if w.status && !t.res.Status {
		return nil, false, refusal.NoResource()
	}
	if p.kind == types.ApplyYAMLPatchType {
		return t.apply(key, p, w)
	}
	if !json.Valid(p.data) {
		return nil, false, apierrors.NewBadRequest("invalid JSON patch")
	}
	v, err = t.update(key, w, func(old *version[T]) (T, error) {
		obj, err := t.patched(old, p)
		if err == nil {
			err = t.checkBlind(obj.GetResourceVersion(), key.Name, w)
		}
		return obj, err
	})
	return v, false, err
}

// checkPatchType refuses what the resource does not take: custom resources have no
// strategic merge, whose rules are in the tags of Go types.
func (t *table[T]) checkPatchType(kind types.PatchType) error {
	offered := []types.PatchType{types.JSONPatchType, types.MergePatchType, types.StrategicMergePatchType, types.ApplyYAMLPatchType}
	if t.res.custom() || t.untyped() {
		offered = append(offered[:2], types.ApplyYAMLPatchType)
	}
	names := make([]string, len(offered))
	for i, o := range offered {
		if o == kind {
			return nil
		}
		names[i] = string(o)
	}
	return refusal.UnsupportedMedia(names...)
}

// patched returns what p makes of old. There are patches on which the libraries panic.
func (t *table[T]) patched(old *version[T], p patchBody) (obj T, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = apierrors.NewInternalError(errPanic{v})
		}
	}()
	state, err := old.json(&t.res)
	if err != nil {
		return obj, apierrors.NewInternalError(err)
	}
	var b []byte
	switch p.kind {
	case types.JSONPatchType:
		b, err = patch.JSON(state, p.data)
	case types.StrategicMergePatchType:
		b, err = patch.Strategic(state, p.data, t.newObject())
	default:
		b, err = patch.Merge(state, p.data)
	}
	if err != nil {
		return obj, err
	}
	obj = t.newObject()
	if err := wire.UnmarshalJSON(b, obj); err != nil {
		return obj, apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{field.Invalid(field.NewPath("patch"), string(b), err.Error())})
	}
	return obj, t.checkPatched(obj, old)
}

// checkPatched refuses a result that is another object than old, or was made from another
// version than the newest, by a patch that states one.
func (t *table[T]) checkPatched(obj T, old *version[T]) error {
	if ns := obj.GetNamespace(); !t.res.ClusterScoped && ns != old.key.Namespace {
		if ns != "" {
			return refusal.OtherNamespace()
		}
		obj.SetNamespace(old.key.Namespace)
	}
	if err := checkName(obj, old.key.Name); err != nil {
		return err
	}
	return t.checkRV(obj.GetResourceVersion(), old)
}
