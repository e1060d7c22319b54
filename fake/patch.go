package fake

import (
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kinform/kinform/fake/internal/patch"
	"github.com/kinform/kinform/fake/internal/refusal"
	"github.com/kinform/kinform/fake/internal/wire"
)

// patch applies a patch to the object at key. created says that an apply made the object.
func (t *table) patch(key types.NamespacedName, kind types.PatchType, data []byte, w write) (v *revision, created bool, err error) {
	if err := t.checkPatchType(kind); err != nil {
		return nil, false, err
	}
	if w.status() && !t.res.Status {
		return nil, false, refusal.NoResource()
	}
	if kind == types.ApplyYAMLPatchType {
		return t.apply(key, data, w)
	}
	if !json.Valid(data) {
		return nil, false, apierrors.NewBadRequest("invalid JSON patch")
	}
	v, err = t.update(key, w, func(old *revision) (metav1.Object, error) { return t.patched(old, kind, data, w) })
	return v, false, err
}

// patches are the types of patches that the resource takes. Custom resources have no strategic
// merge, because its rules are in the tags of Go types.
func (t *table) patches() []types.PatchType {
	if t.res.custom() || t.untyped() {
		return []types.PatchType{types.JSONPatchType, types.MergePatchType, types.ApplyYAMLPatchType}
	}
	return []types.PatchType{types.JSONPatchType, types.MergePatchType, types.StrategicMergePatchType, types.ApplyYAMLPatchType}
}

// checkPatchType refuses the types of patches that the resource does not take.
func (t *table) checkPatchType(kind types.PatchType) error {
	offered := t.patches()
	names := make([]string, len(offered))
	for i, o := range offered {
		if o == kind {
			return nil
		}
		names[i] = string(o)
	}
	if !t.res.custom() {
		return refusal.UnsupportedPatch()
	}
	return refusal.UnsupportedMedia(names...)
}

// patched returns old as the patch changes it.
func (t *table) patched(old *revision, kind types.PatchType, data []byte, w write) (obj metav1.Object, err error) {
	state, err := old.json(&t.res)
	if err != nil {
		return obj, apierrors.NewInternalError(err)
	}
	b, err := patch.Apply(kind, state, data, newObject(t.typ))
	if err != nil {
		return obj, err
	}
	obj = newObject(t.typ)
	if err = wire.UnmarshalJSON(b, obj); err == nil {
		err = plainMeta(obj)
	}
	if err != nil {
		return obj, errPatch(kind, data, b, newObject(t.typ), err)
	}
	if err := checkStrictPatch(kind, data, b, w, t.strictFaults, func(err error) error { return badBody(&t.res, err) }); err != nil {
		return obj, err
	}
	return obj, t.checkPatched(obj, old)
}

// errPatch is the 422 of a patch whose result cannot be decoded into fresh. A strategic merge shows the patch, and
// others the result. The API server has the result of a strategic merge as a map, and converts that.
func errPatch(kind types.PatchType, data, result []byte, fresh metav1.Object, err error) error {
	value := string(result)
	if merge := (map[string]any{}); kind == types.StrategicMergePatchType && json.Unmarshal(data, &merge) == nil {
		value = fmt.Sprintf("%+v", merge)
		merged := map[string]any{}
		if utiljson.Unmarshal(result, &merged) == nil {
			if other := runtime.DefaultUnstructuredConverter.FromUnstructured(merged, fresh); other != nil {
				err = other
			}
		}
	}
	return apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{field.Invalid(field.NewPath("patch"), value, err.Error())})
}
