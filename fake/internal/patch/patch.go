// Package patch applies the bodies of PATCH requests to objects in JSON, with the libraries and
// the limits of the API server.
package patch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/mergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	kjson "sigs.k8s.io/json"

	"github.com/kinform/kinform/fake/internal/refusal"
)

// maxPatchOperations is the API server's limit for the operations of a JSON patch.
const maxPatchOperations = 10_000

// Apply applies a patch of any type but an apply to state. sample is for [Strategic]. The libraries
// panic on some patches: Apply turns that into an internal error.
func Apply(kind types.PatchType, state, data []byte, sample any) (b []byte, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = apierrors.NewInternalError(refusal.Panic(v))
		}
	}()
	switch kind {
	case types.JSONPatchType:
		return JSON(state, data)
	case types.StrategicMergePatchType:
		return Strategic(state, data, sample)
	}
	return Merge(state, data)
}

// Faults returns the duplicate members of a patch that [Apply] took, and the unknown ones of the
// operations of a JSON patch.
func Faults(kind types.PatchType, data []byte) []error {
	if kind != types.JSONPatchType {
		return strictly(data, &map[string]any{})
	}
	faults := strictly(data, &[]struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		From  string `json:"from"`
		Value any    `json:"value"`
	}{})
	for i, f := range faults {
		faults[i] = fmt.Errorf("json patch %w", f)
	}
	return faults
}

func strictly(data []byte, v any) []error {
	faults, err := kjson.UnmarshalStrict(data, v)
	if err != nil {
		return []error{err}
	}
	return faults
}

// JSON applies a JSON patch (RFC 6902) to state. Status errors: BadRequest,
// RequestEntityTooLarge; 422 for a patch that does not apply.
func JSON(state, data []byte) ([]byte, error) {
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
		return nil, refusal.Unprocessable(err)
	}
	return b, nil
}

// Webhook applies the JSON patch of a webhook to state. Like the API server, it limits what the
// operations copy, and not their number. The library panics on some patches: these are errors too.
func Webhook(state, data []byte) (b []byte, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the JSON patch cannot be applied: %v", v)
		}
	}()
	ops, err := jsonpatch.DecodePatch(data)
	if err != nil {
		return nil, err
	}
	return applyOperations(state, ops)
}

// maxCopied is the API server's limit for the bytes that a JSON patch copies.
const maxCopied = 3 << 20

// applyOperations applies ops in parts. Each copy operation can double an object, so a part
// ends before its copies could exceed the limit, and their size is measured after it. The
// library has a limit too, but as a global variable.
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

// Merge applies a JSON merge patch (RFC 7386) to state. Status error: BadRequest.
func Merge(state, data []byte) ([]byte, error) {
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

// exactly decodes JSON and keeps the text of numbers.
func exactly(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return d.Decode(v)
}

// mergeInto applies change to object, in time proportional to their sizes. The API server's
// library decodes a value that is nested n deep n times.
func mergeInto(object, change map[string]any) {
	for name, v := range change {
		was, isObject := object[name].(map[string]any)
		members, merges := v.(map[string]any)
		switch {
		case v == nil:
			delete(object, name)
		case isObject && merges:
			mergeInto(was, members)
		case isObject: // like the library, keep null members of v
			object[name] = v
		default:
			pruneNulls(v)
			object[name] = v
		}
	}
}

// pruneNulls removes null members: they delete members that do not exist.
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

// Strategic applies a strategic merge patch to state. It merges lists by the tags patchStrategy
// and patchMergeKey of sample, a pointer to a struct. Status errors: BadRequest, and 422 or 500
// where the API server answers so.
func Strategic(state, data []byte, sample any) ([]byte, error) {
	var original, change strategicpatch.JSONMap
	if err := utiljson.Unmarshal(state, (*map[string]any)(&original)); err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	if err := utiljson.Unmarshal(data, (*map[string]any)(&change)); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	merged, err := strategicpatch.StrategicMergeMapPatch(original, change, sample)
	switch err {
	case nil:
		return json.Marshal(merged)
	case mergepatch.ErrBadJSONDoc, mergepatch.ErrBadPatchFormatForPrimitiveList, mergepatch.ErrBadPatchFormatForRetainKeys,
		mergepatch.ErrBadPatchFormatForSetElementOrderList, mergepatch.ErrUnsupportedStrategicMergePatchFormat:
		return nil, apierrors.NewBadRequest(err.Error())
	case mergepatch.ErrNoListOfLists, mergepatch.ErrPatchContentNotMatchRetainKeys:
		return nil, refusal.Unprocessable(err)
	}
	return nil, refusal.New(http.StatusInternalServerError, metav1.StatusReasonUnknown, err.Error())
}
