package fake

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kinform/kinform/fake/internal/fieldmanager"
	"github.com/kinform/kinform/fake/internal/refusal"
	"github.com/kinform/kinform/fake/internal/wire"
)

// apply is a server-side apply: p is YAML or JSON of the fields that w.manager wants to
// own. An object that is not there is created.
func (t *table[T]) apply(key types.NamespacedName, p patchBody, w write) (v *version[T], created bool, err error) {
	w.applies = true
	want, err := readApplied(p.data)
	if err != nil {
		return nil, false, err
	}
	for {
		if t.get(key) == nil {
			if w.status {
				return nil, false, apierrors.NewNotFound(t.res.groupResource(), key.Name)
			}
			if v, err = t.applyNew(key, want, p.force, w); apierrors.IsAlreadyExists(err) {
				continue // somebody else made it meanwhile
			}
			return v, true, err
		}
		v, err = t.update(key, w, func(old *version[T]) (T, error) { return t.applied(old, want, p.force, w) })
		if w.dryRun || !apierrors.IsNotFound(err) {
			return v, false, err
		}
	}
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
func (t *table[T]) applyNew(key types.NamespacedName, want map[string]any, force bool, w write) (*version[T], error) {
	live := &unstructured.Unstructured{Object: map[string]any{}}
	live.SetGroupVersionKind(t.res.GroupVersionKind())
	obj, err := t.merge(live, want, force, w)
	if err != nil {
		return nil, err
	}
	if uid := obj.GetUID(); uid != "" {
		return nil, conflict(t.res.groupResource(), key.Name, "uid mismatch: the provided object specified uid %s, and no existing object was found", uid)
	}
	if err := t.checkPatched(obj, &version[T]{key: key, obj: obj}); err != nil {
		return nil, err
	}
	t.stamp(obj, nil)
	return t.create(obj, w)
}

// applied returns what an apply makes of old.
func (t *table[T]) applied(old *version[T], want map[string]any, force bool, w write) (obj T, err error) {
	live, err := t.untype(old)
	if err != nil {
		return obj, err
	}
	if obj, err = t.merge(live, want, force, w); err != nil {
		return obj, err
	}
	if err := t.checkPatched(obj, old); err != nil {
		return obj, err
	}
	t.stamp(obj, old.obj.GetManagedFields())
	t.keepTimes(obj, old.obj)
	return obj, nil
}

// merge applies want to live. Conflicts are a 409.
func (t *table[T]) merge(live *unstructured.Unstructured, want map[string]any, force bool, w write) (obj T, err error) {
	defer recoverTo(&err)
	m, err := t.fieldManager()
	if err != nil {
		return obj, apierrors.NewInternalError(err)
	}
	merged, err := m.Apply(live, want, w.manager, force, w.status)
	if err != nil {
		return obj, errApply(err)
	}
	return t.retype(merged)
}

// errApply is the failure of an apply. What is no refusal is a 500 without a reason.
func errApply(err error) error {
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		return err
	}
	return refusal.New(http.StatusInternalServerError, metav1.StatusReasonUnknown, err.Error())
}

// track notes that w.manager owns the fields that obj changes of old. Objects have
// managedFields from their first apply on, or from a create that names its manager.
func (t *table[T]) track(obj T, old *version[T], w write) (T, error) {
	live := &unstructured.Unstructured{Object: map[string]any{}}
	var had []metav1.ManagedFieldsEntry
	if old != nil {
		had = old.obj.GetManagedFields()
		var err error
		if live, err = t.untype(old); err != nil {
			return obj, err
		}
	}
	live.SetGroupVersionKind(t.res.GroupVersionKind())
	next, err := t.untype(&version[T]{obj: obj})
	if err != nil {
		return obj, err
	}
	m, err := t.fieldManager()
	if err != nil {
		return obj, apierrors.NewInternalError(err)
	}
	if obj, err = t.retype(m.Update(live, next, w.manager, w.status)); err != nil {
		return obj, err
	}
	t.stamp(obj, had)
	if old != nil {
		t.keepTimes(obj, old.obj)
	}
	return obj, nil
}

// stamp gives the entries that are new since had the server's own time.
func (t *table[T]) stamp(obj T, had []metav1.ManagedFieldsEntry) {
	obj.SetManagedFields(fieldmanager.Stamp(obj.GetManagedFields(), had, metav1.NewTime(t.server.now()).Rfc3339Copy()))
}

// keepTimes undoes a change of nothing but times, so that nothing is written.
func (t *table[T]) keepTimes(obj, old T) {
	now, had := obj.GetManagedFields(), old.GetManagedFields()
	if fieldmanager.SameButTimes(now, had) {
		obj.SetManagedFields(had)
		if !same(obj, old) {
			obj.SetManagedFields(now)
		}
	}
}

// untype returns an object as the field managers take it.
func (t *table[T]) untype(v *version[T]) (*unstructured.Unstructured, error) {
	b, err := encode(v.obj, &t.res)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	u := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(b, &u.Object); err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	return u, nil
}

func (t *table[T]) retype(u *unstructured.Unstructured) (obj T, err error) {
	b, err := json.Marshal(u.Object)
	if err != nil {
		return obj, apierrors.NewInternalError(err)
	}
	obj = t.newObject()
	if err := wire.UnmarshalJSON(b, obj); err != nil {
		return obj, apierrors.NewBadRequest(fmt.Sprintf("%s cannot be handled as a %s: %v", t.res.Kind, t.res.Kind, err))
	}
	return obj, nil
}
