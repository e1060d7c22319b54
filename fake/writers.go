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

// writers are the writers of an object that has no managedFields yet. Its first apply names them as
// owners. The consecutive writes of one writer are one step: a field that it changes and then
// changes back is not its own. A nil writers stands for writes without a manager, which are those
// of the typed functions.
type writers struct {
	manager string
	status  bool          // the writes went to the status subresource
	created bool          // the first of them created the object
	base    metav1.Object // the object before them, unless created
	earlier *writers
	n       int // steps up to this one
}

// creator is the step of a create.
func creator(w write) *writers {
	if w.manager == "" {
		return nil
	}
	return &writers{manager: w.manager, created: true, n: 1}
}

// then adds a write that changed base.
func (by *writers) then(base metav1.Object, w write) *writers {
	next := &writers{manager: w.manager, status: w.status(), base: base, n: 1}
	switch {
	case by == nil && w.manager == "":
		return nil
	case by == nil || by.n >= maxWriters:
		return next
	case by.manager == w.manager && by.status == w.status():
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
func (t *table) owned(v *version) (*unstructured.Unstructured, error) {
	live, err := t.untype(v)
	if err != nil || v.by == nil || len(live.GetManagedFields()) > 0 {
		return live, err
	}
	m, err := t.fieldManager()
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	steps := v.by.steps()
	states := make([]*unstructured.Unstructured, 0, len(steps)+1) // before each step, and after the last
	for _, s := range steps {
		state := &unstructured.Unstructured{Object: map[string]any{}}
		if !s.created {
			if state, err = t.untype(&version{obj: s.base}); err != nil {
				return nil, err
			}
		}
		state.SetGroupVersionKind(t.res.GroupVersionKind())
		states = append(states, state)
	}
	states = append(states, live)
	if !steps[0].created {
		empty := &unstructured.Unstructured{Object: map[string]any{}}
		empty.SetGroupVersionKind(t.res.GroupVersionKind())
		empty.SetManagedFields(m.Update(empty, states[0].DeepCopy(), firstWriter, false).GetManagedFields())
		if t.res.Status {
			empty.SetManagedFields(m.Update(empty, states[0].DeepCopy(), firstWriter, true).GetManagedFields())
		}
		states[0].SetManagedFields(empty.GetManagedFields())
	}
	for i, s := range steps {
		states[i+1].SetManagedFields(m.Update(states[i], states[i+1].DeepCopy(), s.manager, s.status).GetManagedFields())
	}
	return live, nil
}
