package fake

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kinform/kinform/fake/internal/wire"
)

// apply is a server-side apply: data is YAML or JSON of the fields that w.manager wants to own.
// If there is no object, apply creates it. Of the status it does so only where an update would.
func (t *table) apply(key types.NamespacedName, data []byte, w write) (v *revision, created bool, err error) {
	w.applies = true
	want, err := readApplied(data)
	if err != nil {
		return nil, false, err
	}
	if w.strict {
		if twice := wire.YAMLTwice(data); twice != nil {
			w.twice = apierrors.NewBadRequest(fmt.Sprintf("error strict decoding patch: %v", twice))
		}
	}
	for w.mayContinue() {
		old, err := t.toWrite(key, w)
		if err != nil {
			return nil, false, err
		}
		if old == nil {
			if w.status() && !createdByUpdate.hold(&t.res) {
				return nil, false, apierrors.NewNotFound(t.res.groupResource(), key.Name)
			}
			v, taken, err := t.applyNew(key, want, w)
			if taken {
				continue // another write created it meanwhile
			}
			return v, true, err
		}
		v, absent, err := t.tryUpdate(key, w, func(old *revision) (metav1.Object, error) { return t.applied(old, want, w) })
		if w.dryRun || !absent {
			return v, false, err
		}
	}
	return nil, false, context.Cause(w.request)
}

func readApplied(data []byte) (map[string]any, error) {
	b, err := wire.YAMLToJSON(data)
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("error encoding patch: %v", err))
	}
	var want map[string]any
	if err := utiljson.Unmarshal(b, &want); err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
	}
	if want == nil {
		want = map[string]any{}
	}
	return want, nil
}

// applyNew creates the object.
func (t *table) applyNew(key types.NamespacedName, want map[string]any, w write) (v *revision, taken bool, err error) {
	live := &unstructured.Unstructured{Object: map[string]any{}}
	live.SetGroupVersionKind(t.res.GroupVersionKind())
	obj, err := t.merge(live, want, w)
	if err != nil {
		return nil, false, err
	}
	if uid := obj.GetUID(); uid != "" {
		return nil, false, conflict(t.res.groupResource(), key.Name, "uid mismatch: the provided object specified uid %s, and no existing object was found", uid)
	}
	if err := t.checkPatched(obj, &revision{key: key, obj: obj}); err != nil {
		return nil, false, err
	}
	t.stamp(obj, nil)
	w.upsert = true
	return t.tryCreate(obj, w)
}

// applied returns old as the apply changes it.
func (t *table) applied(old *revision, want map[string]any, w write) (obj metav1.Object, err error) {
	live, err := t.owned(old)
	if err != nil {
		return obj, err
	}
	if obj, err = t.merge(live, want, w); err != nil {
		return obj, err
	}
	if err := t.checkPatched(obj, old); err != nil {
		return obj, err
	}
	t.stamp(obj, old.obj.GetManagedFields())
	return obj, nil
}
