package fake

import (
	"fmt"
	"math"
	"reflect"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/managedfields"

	"github.com/kinform/kinform/fake/internal/fieldmanager"
	"github.com/kinform/kinform/fake/internal/refusal"
	"github.com/kinform/kinform/fake/internal/wire"
)

// scaling keeps the owners of an object's replicas through a write of its Scale. As in the API server, the Scale has
// the owners of the replicas while it is written, and gives them back to the object. A nil scaling notes nobody.
type scaling struct {
	of      *table
	form    subresourceHook
	handler *managedfields.ScaleHandler
	old     *revision     // the object before
	was     metav1.Object // its Scale, with its owners
}

// scaling returns the scaling of a write to old, and nil if the form is no Scale or if nobody notes owners.
func (t *table) scaling(old *revision, h subresourceHook, w write) (*scaling, error) {
	if !h.scales() || !w.applies && !t.tracks(old.obj, old, w) {
		return nil, nil
	}
	owned, err := t.owned(old)
	if err != nil {
		return nil, err
	}
	s := &scaling{of: t, form: h, old: old}
	s.handler = fieldmanager.NewScaleHandler(owned.GetManagedFields(), t.res.groupVersion(), t.main().replicas(w.subresource))
	entries, err := s.handler.ToSubresource()
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	if s.was, err = h.start(old.obj); err != nil {
		s.was = h.fresh()
		s.was.SetName(old.key.Name)
	}
	s.was.SetManagedFields(entries)
	return s, nil
}

// start returns the form of obj that a write begins with. The Scale of a custom resource without replicas has a
// number that no object has, so that set can tell whether the client states one.
func (h subresourceHook) start(obj metav1.Object) (metav1.Object, error) {
	form, err := h.get(obj)
	u, ok := obj.(*unstructured.Unstructured)
	if err == nil || !ok || !h.scales() {
		return form, err
	}
	if _, has, wrong := unstructured.NestedFieldNoCopy(u.Object, h.replicas...); has || wrong != nil {
		return nil, err
	}
	u = u.DeepCopy()
	if unstructured.SetNestedField(u.Object, int64(math.MinInt32), h.replicas...) != nil {
		return nil, err
	}
	return h.get(u)
}

// replicas returns where the versions have the field that a Scale shows.
func (t *table) replicas(subresource string) map[schema.GroupVersion][]string {
	out := map[schema.GroupVersion][]string{}
	for _, v := range t.all() {
		out[v.res.groupVersion()] = v.hooks.subresources[subresource].replicas
	}
	return out
}

// apply returns the Scale that want makes, with its owners. Conflicts are a 409.
func (s *scaling) apply(want map[string]any, w write) (_ metav1.Object, err error) {
	defer refusal.Recover(&err)
	m, live, err := s.manager()
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	// For custom resources the API server lacks the conversions of a merged Scale, and of an empty one.
	sent := unstructured.Unstructured{Object: want}
	if s.of.res.custom() && len(s.was.GetManagedFields()) == 0 {
		return nil, errApply(fmt.Errorf("failed to create manager for existing fields: failed to convert live object (/; %v) to proper version: %w",
			sent.GroupVersionKind(), s.errConvert(sent.GroupVersionKind())))
	}
	merged, err := m.Apply(live, want, w.manager, w.force, w.subresource)
	if err == nil && s.of.res.custom() && !sameContents(merged, live) {
		err = fmt.Errorf("failed to convert new object (%s/%s; %v) to proper version: %w", sent.GetNamespace(), sent.GetName(), s.form.kind, s.errConvert(s.form.kind))
	}
	if err != nil {
		return nil, errApply(err)
	}
	b, err := merged.MarshalJSON()
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	return s.of.decodeForm(s.form, wire.JSON, b)
}

// errConvert says that the API server cannot convert an untyped object of a kind to a Scale.
func (s *scaling) errConvert(kind schema.GroupVersionKind) error {
	to := s.form.kind.GroupVersion()
	if kind.Group != to.Group {
		return fmt.Errorf("%v is unstructured and is not suitable for converting to %q", kind, to)
	}
	return fmt.Errorf("request to convert CR to an invalid group/version: %v", to)
}

// sameContents compares two objects without the owners of their fields.
func sameContents(a, b *unstructured.Unstructured) bool {
	a, b = a.DeepCopy(), b.DeepCopy()
	a.SetManagedFields(nil)
	b.SetManagedFields(nil)
	return equality.Semantic.DeepEqual(a.Object, b.Object)
}

// update notes that the manager of w owns what sent changes.
func (s *scaling) update(sent metav1.Object, w write) error {
	m, live, err := s.manager()
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	next, err := s.open(sent)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	sent.SetManagedFields(m.Update(live, next, w.manager, w.subresource).GetManagedFields())
	return nil
}

// finish gives obj the owners of its fields after the write of sent.
func (s *scaling) finish(obj metav1.Object, sent []metav1.ManagedFieldsEntry) error {
	entries, err := s.handler.ToParent(sent)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	obj.SetManagedFields(entries)
	s.of.stamp(obj, s.old.obj.GetManagedFields())
	return nil
}

// manager returns the field manager of Scales, and the Scale before the write as it takes it.
func (s *scaling) manager() (*fieldmanager.Manager, *unstructured.Unstructured, error) {
	fresh := s.form.fresh()
	empty, err := s.open(fresh)
	if err != nil {
		return nil, nil, err
	}
	live, err := s.open(s.was)
	if err != nil {
		return nil, nil, err
	}
	m, err := fieldmanager.New(s.form.kind, reflect.TypeOf(fresh).Elem(), fieldmanager.Resets{}, fieldmanager.Versions{Empty: empty.Object})
	return m, live, err
}

// open returns a Scale as the field managers take it.
func (s *scaling) open(scale metav1.Object) (*unstructured.Unstructured, error) {
	b, err := s.form.encode(scale, false)
	if err != nil {
		return nil, err
	}
	out := &unstructured.Unstructured{}
	return out, utiljson.Unmarshal(b, &out.Object)
}
