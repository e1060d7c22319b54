package fake

import (
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// maxWriters limits the changes of writer that an object without managedFields remembers. Earlier
// writes belong to firstWriter.
const maxWriters = 32

// firstWriter is the API server's name for the owner of fields whose writers are not known.
const firstWriter = "before-first-apply"

// creator is the step of a create.
func creator(of *table, w write) *writers {
	if w.manager == "" {
		return nil
	}
	return &writers{manager: w.manager, created: true, of: of, n: 1}
}

// then adds a write that changed base, in base's version.
func (by *writers) then(base *revision, w write) *writers {
	next := &writers{manager: w.manager, through: w.subresource, of: base.of, base: base, n: 1}
	switch {
	case by.forgets():
		return by
	case by == nil && w.manager == "":
		return nil
	case by == nil || by.n >= maxWriters:
		return next
	case by.manager == w.manager && by.through == w.subresource && by.of == base.of:
		return by
	}
	next.earlier, next.n = by, by.n+1
	return next
}

// steps returns the steps, oldest first.
func (by *writers) steps() (out []*writers) {
	for ; by != nil; by = by.earlier {
		out = append(out, by)
	}
	slices.Reverse(out)
	return out
}

// owned returns an object as the field managers take it. If it has no managedFields, it gets those
// that its writers would have left.
func (t *table) owned(v *revision) (*unstructured.Unstructured, error) {
	live, err := t.untype(v)
	if err != nil || v.by == nil || v.by.forgotten || len(live.GetManagedFields()) > 0 {
		return live, err
	}
	steps := v.by.steps()
	owners, err := steps[0].unknown()
	for i, s := range steps {
		after := v
		if i+1 < len(steps) {
			after = steps[i+1].base
		}
		if err == nil {
			owners, err = s.owners(owners, after)
		}
	}
	live.SetManagedFields(owners)
	return live, err
}

// unknown returns the owners of the fields that the object had before the first known step.
func (by *writers) unknown() ([]metav1.ManagedFieldsEntry, error) {
	if by.created {
		return nil, nil
	}
	m, err := by.of.fieldManager()
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	empty, err := by.of.managedState(nil, nil)
	if err != nil {
		return nil, err
	}
	base, err := by.of.managedState(by.base, nil)
	if err != nil {
		return nil, err
	}
	empty.SetManagedFields(m.Update(empty, base.DeepCopy(), firstWriter, "").GetManagedFields())
	if by.of.res.Status {
		empty.SetManagedFields(m.Update(empty, base.DeepCopy(), firstWriter, statusField).GetManagedFields())
	}
	return empty.GetManagedFields(), nil
}

// owners returns the owners of after, the object after the step, given the owners of the object before it.
func (by *writers) owners(before []metav1.ManagedFieldsEntry, after *revision) ([]metav1.ManagedFieldsEntry, error) {
	m, err := by.of.fieldManager()
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	base, err := by.of.managedState(by.base, before)
	if err != nil {
		return nil, err
	}
	next, err := by.of.managedState(after, nil)
	if err != nil {
		return nil, err
	}
	return m.Update(base, next, by.manager, by.through).GetManagedFields(), nil
}

// managedState returns v in t's version, as the field managers take it and with owners; nil is an
// empty object.
func (t *table) managedState(v *revision, owners []metav1.ManagedFieldsEntry) (*unstructured.Unstructured, error) {
	if v != nil {
		v = v.origin() // conversions are from and to the version of the storage
	}
	v, err := t.view(v)
	if err != nil {
		return nil, err
	}
	state, err := t.unowned(v)
	if err != nil {
		return nil, err
	}
	state.SetGroupVersionKind(t.res.GroupVersionKind())
	state.SetManagedFields(owners)
	return state, nil
}
