package fake

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kinform/kinform/fake/internal/fieldmanager"
	"github.com/kinform/kinform/fake/internal/refusal"
	"github.com/kinform/kinform/fake/internal/wire"
)

// newFieldManager makes the manager of t's version.
func (t *table) newFieldManager() (*fieldmanager.Manager, error) {
	kind, versions := t.res.GroupVersionKind(), t.main().managedVersions()
	empty, err := t.unowned(nil)
	if err != nil {
		return nil, err
	}
	versions.Empty = empty.Object
	switch {
	case t.res.TypeConverter != nil && (t.untyped() || t.strategy != nil):
		return fieldmanager.NewWith(kind, t.res.TypeConverter, nil, t.res.resets(), versions)
	case t.res.TypeConverter != nil:
		return fieldmanager.NewWith(kind, t.res.TypeConverter, t.typ, t.res.resets(), versions)
	case t.untyped():
		return fieldmanager.New(kind, nil, t.res.resets(), versions)
	}
	return fieldmanager.New(kind, t.typ, t.res.resets(), versions)
}

// managedVersions returns the versions of the resource, if it has several.
func (t *table) managedVersions() (out fieldmanager.Versions) {
	out.Custom = t.res.custom()
	if len(t.versions) == 0 {
		return out
	}
	of := map[schema.GroupVersionKind]*table{}
	for _, v := range t.all() {
		of[v.res.GroupVersionKind()] = v
		out.Kinds = append(out.Kinds, v.res.GroupVersionKind())
	}
	out.Manager = func(kind schema.GroupVersionKind) (*fieldmanager.Manager, error) { return of[kind].fieldManager() }
	out.Convert = func(u *unstructured.Unstructured, to schema.GroupVersionKind) (*unstructured.Unstructured, error) {
		obj, err := of[u.GroupVersionKind()].retype(u)
		if err == nil {
			obj, err = t.convert(obj)
		}
		if err == nil {
			obj, err = of[to].convert(obj)
		}
		if err != nil {
			return nil, err
		}
		return of[to].untype(&revision{obj: obj})
	}
	return out
}

// merge applies want to live. Conflicts are a 409.
func (t *table) merge(live *unstructured.Unstructured, want map[string]any, w write) (obj metav1.Object, err error) {
	defer refusal.Recover(&err)
	m, err := t.fieldManager()
	if err != nil {
		return obj, apierrors.NewInternalError(err)
	}
	merged, err := m.Apply(live, want, w.manager, w.force, w.subresource)
	if err != nil {
		return obj, errApply(err)
	}
	if w.twice != nil {
		return obj, w.twice
	}
	if t.strategy == nil {
		return t.retype(merged)
	}
	// The API server's means take numbers that overflow.
	obj = newObject(t.typ)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(merged.Object, obj); err != nil {
		kind, sent := t.res.GroupVersionKind(), unstructured.Unstructured{Object: want}
		return obj, errApply(fmt.Errorf("failed to convert new object (%s/%s; %v) to proper version: unable to convert unstructured object to %v: %w", sent.GetNamespace(), sent.GetName(), kind, kind, err))
	}
	return obj, nil
}

// errApply is the failure of an apply. An error that is not a refusal becomes a 500 without a
// reason.
func errApply(err error) error {
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		return err
	}
	return refusal.New(http.StatusInternalServerError, metav1.StatusReasonUnknown, err.Error())
}

// tracks reports whether a write of obj in place of old, nil for a create, notes the owners of its
// fields. With [Options].Strategy, all writes do. Otherwise objects have managedFields from their
// first apply on, or from a request that names its manager or states managedFields.
func (t *table) tracks(obj metav1.Object, old *revision, w write) bool {
	stated := len(obj.GetManagedFields()) > 0
	switch {
	case w.whole: // parts of the API server that write by themselves have no field manager
		return false
	case w.applies || w.request == nil && old == nil && stated: // it has its owners already
		return false
	case old == nil:
		return t.server.exact || w.named || stated
	}
	return t.server.exact || stated || len(old.obj.GetManagedFields()) > 0
}

// track notes that w.manager owns the fields that obj changes of old, which is nil for a create, unless the form of a
// subresource has noted that already.
func (t *table) track(obj metav1.Object, old *revision, w write) (metav1.Object, error) {
	if !t.tracks(obj, old, w) || t.ownedByForm(w) {
		return obj, nil
	}
	return t.note(obj, old, w)
}

// ownedByForm reports whether w goes to a subresource whose form says what w.manager owns: a Scale, or the object
// itself, of which the hook may take less than was sent.
func (t *table) ownedByForm(w write) bool {
	h, ok := t.hooks.subresources[w.subresource]
	return ok && (h.scales() || h.kind == t.res.GroupVersionKind())
}

// note does the work of track. It completes obj first, because a manager owns defaults, too. As in the API server, it
// does so before hooks and strategies change obj: nobody owns what these add.
func (t *table) note(obj metav1.Object, old *revision, w write) (metav1.Object, error) {
	if err := t.setKind(obj); err != nil {
		return obj, err
	}
	if err := normalize(obj); err != nil {
		return obj, err
	}
	if _, err := t.complete(obj); err != nil {
		return obj, err
	}
	var had []metav1.ManagedFieldsEntry
	if old != nil {
		had = old.obj.GetManagedFields()
	}
	live, err := t.unowned(old)
	if err != nil {
		return obj, err
	}
	live.SetGroupVersionKind(t.res.GroupVersionKind())
	next, err := t.untype(&revision{obj: obj})
	if err != nil {
		return obj, err
	}
	m, err := t.fieldManager()
	if err != nil {
		return obj, apierrors.NewInternalError(err)
	}
	// Only the managedFields go back: JSON would lose what is empty.
	obj.SetManagedFields(m.Update(live, next, w.manager, w.subresource).GetManagedFields())
	t.stamp(obj, had)
	return obj, nil
}

// unowned returns v, or an empty object for nil, as the field managers take it. Of Kubernetes' own
// resources an empty object has the members that are structs, and so nobody owns these.
func (t *table) unowned(v *revision) (*unstructured.Unstructured, error) {
	switch {
	case v != nil:
		return t.untype(v)
	case t.res.custom() || t.untyped():
		return &unstructured.Unstructured{Object: map[string]any{}}, nil
	}
	return t.untype(&revision{obj: newObject(t.typ)})
}

// disowns reports whether a write of obj asks the server to forget all owners of its fields, by a
// list of managedFields that is empty or has one empty entry. As in the API server, an object without
// a Go type loses an empty list when it is read. Only a write of the object itself can ask.
func disowns(obj metav1.Object, w write) bool {
	if w.applies || w.subresource != "" {
		return false
	}
	entries := obj.GetManagedFields()
	if len(entries) == 0 {
		_, untyped := obj.(*unstructured.Unstructured)
		return entries != nil && !untyped
	}
	return len(entries) == 1 && reflect.ValueOf(entries[0]).IsZero()
}

// stamp gives the server's own time to entries that are not in had.
func (t *table) stamp(obj metav1.Object, had []metav1.ManagedFieldsEntry) {
	obj.SetManagedFields(fieldmanager.Stamp(obj.GetManagedFields(), had, metav1.NewTime(t.server.now()).Rfc3339Copy()))
}

// keepTimes undoes a change of nothing but times, so that nothing is written.
func (t *table) keepTimes(obj, old metav1.Object) {
	now, had := obj.GetManagedFields(), old.GetManagedFields()
	if len(now) > 0 && fieldmanager.SameButTimes(now, had) {
		obj.SetManagedFields(had)
		if !unchanged(obj, old) {
			obj.SetManagedFields(now)
		}
	}
}

// untype returns an object as the field managers take it.
func (t *table) untype(v *revision) (*unstructured.Unstructured, error) {
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

func (t *table) retype(u *unstructured.Unstructured) (obj metav1.Object, err error) {
	b, err := json.Marshal(u.Object)
	if err != nil {
		return obj, apierrors.NewInternalError(err)
	}
	obj = newObject(t.typ)
	if err := wire.UnmarshalJSON(b, obj); err != nil {
		return obj, apierrors.NewBadRequest(fmt.Sprintf("%s cannot be handled as a %s: %v", t.res.Kind, t.res.Kind, err))
	}
	return obj, nil
}
