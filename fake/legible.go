package fake

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// legible looks at metadata that Mutate may have changed: in an unstructured object it can have put a value of any
// type anywhere. As the API server does, it fills in an empty namespace, drops what the server sets itself, and
// refuses all else of a custom resource that has a wrong type with a 422.
func (t *table) legible(obj metav1.Object, old *revision, namespace string, w write) error {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok || !t.res.custom() {
		if obj.GetNamespace() == "" {
			obj.SetNamespace(namespace)
		}
		return nil
	}
	if old != nil {
		if err := t.checkBlind(u.GetResourceVersion(), old.key.Name, w); err != nil {
			return err
		}
	}
	meta, ok := u.Object["metadata"].(map[string]any)
	if !ok {
		return apierrors.NewInternalError(errors.New("system metadata was not initialized"))
	}
	if dropUnread(u, meta); w.upsert { // of another create they are gone already
		for _, name := range []string{"deletionGracePeriodSeconds", "deletionTimestamp", "selfLink"} {
			delete(meta, name)
		}
	}
	if u.GetNamespace() == "" {
		u.SetNamespace(namespace)
	}
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(meta, &metav1.ObjectMeta{})
	if err == nil || w.status() { // a write of the status leaves the metadata as it is
		return nil
	}
	return t.illegible(u, old, w, err)
}

// dropUnread removes the members that the server sets itself, if nothing can be read from them.
func dropUnread(u *unstructured.Unstructured, meta map[string]any) {
	created := u.GetCreationTimestamp()
	for name, unread := range map[string]bool{
		"namespace": u.GetNamespace() == "", "uid": u.GetUID() == "", "generation": u.GetGeneration() == 0, "creationTimestamp": created.IsZero(),
	} {
		if unread {
			delete(meta, name)
		}
	}
}

// illegible is the 422 of metadata that cannot be read. It shows the metadata with what the server has set.
func (t *table) illegible(u *unstructured.Unstructured, old *revision, w write, cause error) error {
	path, shown := field.NewPath("metadata"), u.DeepCopy()
	var errs field.ErrorList
	if old == nil {
		shown.SetUID(t.server.reserveUID())
		shown.SetCreationTimestamp(metav1.NewTime(t.server.now()).Rfc3339Copy())
		shown.SetGeneration(1)
	} else {
		was := old.obj
		if shown.GetUID() == "" {
			shown.SetUID(was.GetUID())
		}
		shown.SetCreationTimestamp(was.GetCreationTimestamp())
		shown.SetGeneration(was.GetGeneration())
		if !t.sameSpec(u, was) {
			shown.SetGeneration(was.GetGeneration() + 1)
		}
		errs = append(validation.ValidateObjectMetaAccessor(shown, !t.res.ClusterScoped, t.res.nameRule(), path),
			validation.ValidateObjectMetaAccessorUpdate(shown, was, path)...)
	}
	errs = append(errs, field.Invalid(path, shown.Object["metadata"], cause.Error()))
	if t.res.Status { // it is not that of the write
		t.setStatus(shown, newObject(t.typ))
	}
	return t.invalid(u, append(errs, t.validate(shown, old.object(), w)...))
}
