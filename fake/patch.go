package fake

import (
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// merging returns the change of a merge patch (RFC 7386).
func (t *table[T]) merging(patch []byte) (func(*version[T]) (T, error), error) {
	var want map[string]any
	if err := utiljson.Unmarshal(patch, &want); err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
	}
	return func(old *version[T]) (obj T, err error) {
		b, err := old.json(&t.res)
		if err != nil {
			return obj, apierrors.NewInternalError(err)
		}
		var state map[string]any
		if err := utiljson.Unmarshal(b, &state); err != nil {
			return obj, apierrors.NewInternalError(err)
		}
		if b, err = json.Marshal(mergeInto(state, want)); err != nil {
			return obj, apierrors.NewInternalError(err)
		}
		obj = t.newObject()
		if err := decode(b, obj); err != nil {
			return obj, apierrors.NewBadRequest(fmt.Sprintf("%s %q cannot be handled as a %s: %v", t.res.Kind, old.key.Name, t.res.Kind, err))
		}
		// A patch that states a resourceVersion is bound to it.
		if rv := obj.GetResourceVersion(); rv != "" && rv != old.obj.GetResourceVersion() {
			return obj, apierrors.NewConflict(t.res.groupResource(), old.key.Name, errors.New(msgModified))
		}
		return obj, nil
	}, nil
}

// mergeInto applies patch to target, which it may change, and returns the result.
func mergeInto(target map[string]any, patch map[string]any) map[string]any {
	if target == nil {
		target = map[string]any{}
	}
	for k, v := range patch {
		switch v := v.(type) {
		case nil:
			delete(target, k)
		case map[string]any:
			inner, _ := target[k].(map[string]any)
			target[k] = mergeInto(inner, v)
		default:
			target[k] = v
		}
	}
	return target
}
