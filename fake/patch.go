package fake

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/mergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kinform/kinform/fake/internal/refusal"
	"github.com/kinform/kinform/fake/internal/wire"
)

// maxPatchOperations is the API server's own limit for JSON patches.
const maxPatchOperations = 10_000

// patch is the body of a PATCH.
type patch struct {
	kind  types.PatchType
	data  []byte
	force bool // an apply takes fields over that others own
}

// patch applies p to the object at key; created says that an apply made it.
func (t *table[T]) patch(key types.NamespacedName, p patch, w write) (v *version[T], created bool, err error) {
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
func (t *table[T]) patched(old *version[T], p patch) (obj T, err error) {
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
		b, err = applyJSONPatch(state, p.data)
	case types.StrategicMergePatchType:
		b, err = t.applyStrategic(state, p.data)
	default:
		b, err = applyMergePatch(state, p.data)
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

// applyJSONPatch is RFC 6902.
func applyJSONPatch(state, data []byte) ([]byte, error) {
	ops, err := jsonpatch.DecodePatch(data)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if len(ops) > maxPatchOperations {
		return nil, apierrors.NewRequestEntityTooLargeError(
			fmt.Sprintf("The allowed maximum operations in a JSON patch is %d, got %d", maxPatchOperations, len(ops)))
	}
	b, err := applyOperations(state, ops)
	if err != nil {
		return nil, errUnprocessable(err)
	}
	return b, nil
}

// maxCopied is how much the copies of a JSON patch may add up to in the API server.
const maxCopied = 3 << 20

// applyOperations applies ops in parts. Operations that copy can double an object each, so
// a part ends before they could make more than the limit, and what they did is measured
// after it. The library has a limit of its own, but as a global variable.
func applyOperations(state []byte, ops jsonpatch.Patch) ([]byte, error) {
	copied := 0
	for len(ops) > 0 {
		part, copies, added := 0, 0, 0
		for bound := len(state); part < len(ops); part++ {
			raw, err := json.Marshal(ops[part])
			if err != nil {
				return nil, err
			}
			if ops[part].Kind() == "copy" {
				if copies++; copies > 1 && 2*bound > maxCopied {
					break
				}
				bound *= 2
			}
			bound, added = bound+len(raw), added+len(raw)
		}
		next, err := ops[:part].Apply(state)
		if err != nil {
			return nil, err
		}
		if copies > 0 {
			if copied += max(len(next)-len(state)-added, 0); copied > maxCopied {
				return nil, jsonpatch.NewAccumulatedCopySizeError(maxCopied, int64(copied))
			}
		}
		state, ops = next, ops[part:]
	}
	return state, nil
}

// applyMergePatch is RFC 7386.
func applyMergePatch(state, data []byte) ([]byte, error) {
	var change, object map[string]any
	switch err := exactly(data, &change); {
	case err != nil:
		return nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
	case change == nil:
		return nil, apierrors.NewBadRequest(jsonpatch.ErrBadJSONPatch.Error())
	}
	if err := exactly(state, &object); err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	mergeInto(object, change)
	return json.Marshal(object)
}

// exactly decodes JSON with its numbers as they are written.
func exactly(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return d.Decode(v)
}

// mergeInto changes object as change says, in time that goes with their sizes: the library
// of the API server decodes what is nested n deep n times.
func mergeInto(object, change map[string]any) {
	for name, v := range change {
		was, isObject := object[name].(map[string]any)
		members, merges := v.(map[string]any)
		switch {
		case v == nil:
			delete(object, name)
		case isObject && merges:
			mergeInto(was, members)
		case isObject: // as the library does, without looking into v
			object[name] = v
		default:
			pruneNulls(v)
			object[name] = v
		}
	}
}

// pruneNulls takes the members out that delete what is not there.
func pruneNulls(v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			if member == nil {
				delete(v, name)
			}
			pruneNulls(member)
		}
	case []any:
		for _, item := range v {
			pruneNulls(item)
		}
	}
}

// applyStrategic merges lists as the tags patchStrategy and patchMergeKey of T say.
func (t *table[T]) applyStrategic(state, data []byte) ([]byte, error) {
	var original, change strategicpatch.JSONMap
	if err := utiljson.Unmarshal(state, (*map[string]any)(&original)); err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	if err := utiljson.Unmarshal(data, (*map[string]any)(&change)); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	merged, err := strategicpatch.StrategicMergeMapPatch(original, change, t.newObject())
	switch err {
	case nil:
		return json.Marshal(merged)
	case mergepatch.ErrBadJSONDoc, mergepatch.ErrBadPatchFormatForPrimitiveList, mergepatch.ErrBadPatchFormatForRetainKeys,
		mergepatch.ErrBadPatchFormatForSetElementOrderList, mergepatch.ErrUnsupportedStrategicMergePatchFormat:
		return nil, apierrors.NewBadRequest(err.Error())
	case mergepatch.ErrNoListOfLists, mergepatch.ErrPatchContentNotMatchRetainKeys:
		return nil, errUnprocessable(err)
	}
	return nil, refusal.New(http.StatusInternalServerError, metav1.StatusReasonUnknown, err.Error())
}

// errUnprocessable is the 422 of a patch that does not apply.
func errUnprocessable(err error) error {
	return apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false)
}
