package fake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"

	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/fake/internal/patch"
	"github.com/kinform/kinform/fake/internal/refusal"
)

// Admission is a write that [Options].Mutate, [Options].Validate or a [Strategy] is asked about.
// Its objects are the server's: a hook that keeps one copies it.
type Admission struct {
	// Server is the server of the write, so that the hook can read from it. A hook of [Options]
	// cannot know it otherwise.
	Server *Server
	// Verb is create, update or delete; a patch or an apply is one of the first two.
	Verb faults.Verb
	// Resource and Kind are the request's, with its version.
	Resource schema.GroupVersionResource
	Kind     schema.GroupVersionKind
	// Subresource is empty for the object itself.
	Subresource string
	// Key is the object's. Mutate gets no name if the server is to generate one.
	Key types.NamespacedName
	// Object is the new state, of the Go type of the resource. For the subresource of a
	// [SubresourceHook] it is the object that a client sends to that, and Kind is the hook's.
	// Mutate may change it. Nil for a delete.
	Object metav1.Object
	// Old is the state before, read-only. Nil for a create.
	Old metav1.Object
	// Stored is Old as it is stored, which may be in another version of the resource. Read-only.
	// Nil for a create, and where Object is the form of a [SubresourceHook].
	Stored metav1.Object
	// DryRun says that the write will not be stored.
	DryRun bool

	table *table
	warn  func(text string) // nil if there is no answer
}

// Versions returns the versions in which the resource of the write is served, including the
// versions of other groups.
func (a *Admission) Versions() (out []schema.GroupVersionResource) {
	for _, v := range a.table.main().served() {
		out = append(out, v.res.GroupVersionResource())
	}
	return out
}

// In returns the write as one of another of [Admission.Versions], with converted copies of its
// objects. What clients send to a subresource of a [SubresourceHook] is the same in all versions.
// Errors: [ErrNotRegistered] for no such version; the errors of [Hooks].Convert.
func (a *Admission) In(version schema.GroupVersionResource) (*Admission, error) {
	for _, v := range a.table.main().served() {
		if v.res.GroupVersionResource() != version {
			continue
		}
		out := *a
		out.table, out.Resource = v, version
		if a.Kind != a.table.res.GroupVersionKind() {
			return &out, nil
		}
		out.Kind = v.res.GroupVersionKind()
		var err error
		if out.Object, err = v.converted(a.Object); err == nil {
			out.Old, err = v.converted(a.Old)
		}
		return &out, err
	}
	return nil, fmt.Errorf("fake: %s: %w", version, ErrNotRegistered)
}

// Take makes obj, the Object of a write that [Admission.In] returned, the new state of a. Only
// Mutate may call it. Errors: the errors of [Hooks].Convert.
func (a *Admission) Take(obj metav1.Object) error {
	obj, err := a.table.converted(obj)
	if err == nil {
		reflect.ValueOf(a.Object).Elem().Set(reflect.ValueOf(obj).Elem())
	}
	return err
}

// Patch applies a JSON patch (RFC 6902) to Object, and reports whether that changed it. Only Mutate
// may call it, for an Object that is not nil. It returns an error for a patch that does not apply,
// that copies more than 3 MiB, or whose result is no object of the kind; Object is then as before.
func (a *Admission) Patch(data []byte) (changed bool, err error) {
	state, err := clone(a.Object)
	if err != nil {
		return false, err
	}
	if k, ok := state.(interface{ GetObjectKind() schema.ObjectKind }); ok {
		k.GetObjectKind().SetGroupVersionKind(a.Kind)
	}
	text, err := json.Marshal(state)
	if err == nil {
		text, err = patch.Webhook(text, data)
	}
	if err != nil {
		return false, err
	}
	fresh := reflect.New(reflect.TypeOf(a.Object).Elem())
	if err := json.Unmarshal(text, fresh.Interface()); err != nil {
		return false, err
	}
	changed = !same(state, fresh.Interface().(metav1.Object))
	reflect.ValueOf(a.Object).Elem().Set(fresh.Elem())
	return changed, nil
}

// TypeConverter returns the TypeConverter of the resource's [Rules], for the version of the write:
// it says how an apply merges objects. It is nil if there is none, or if Object is the form of a
// [SubresourceHook].
func (a *Admission) TypeConverter() managedfields.TypeConverter {
	if a.Kind != a.table.res.GroupVersionKind() {
		return nil
	}
	return a.table.res.TypeConverter
}

// admission returns the value that the server's hooks get.
func (t *table) admission(verb faults.Verb, key types.NamespacedName, w write) *Admission {
	return &Admission{
		Server: t.server, Verb: verb, Resource: t.res.GroupVersionResource(), Kind: t.res.GroupVersionKind(),
		Subresource: w.subresource, Key: key, DryRun: w.dryRun, table: t, warn: w.warn,
	}
}

// mutate asks [Options].Mutate about obj, which it may change; old is nil for a create.
func (t *table) mutate(obj metav1.Object, old *revision, w write) error {
	if t.server.mutate == nil || w.request == nil || w.view() {
		return nil
	}
	// As in the API server, it gets an object with its defaults.
	if err := t.setKind(obj); err != nil {
		return err
	}
	if err := t.completeNew(obj, w); err != nil {
		return err
	}
	name, namespace := obj.GetName(), obj.GetNamespace()
	if err := t.ask(t.server.mutate, obj, old, w); err != nil {
		return err
	}
	if err := t.legible(obj, old, namespace, w); err != nil {
		return err
	}
	switch {
	case !t.res.ClusterScoped && obj.GetNamespace() != namespace:
		return refusal.OtherNamespace()
	case old == nil && w.upsert && obj.GetName() != name: // an API server stores it at a path that is not its name's
		return refusal.Renamed(t.res.groupResource().String(), name, obj.GetName())
	}
	return nil
}

// unmutated returns obj for one attempt to write it: a copy if Mutate or a strategy may change it.
func (t *table) unmutated(obj metav1.Object, w write) (metav1.Object, error) {
	if w.request == nil || t.server.mutate == nil && !t.strategic(w) {
		return obj, nil
	}
	own, err := clone(obj)
	if err != nil {
		return obj, apierrors.NewInternalError(err)
	}
	return own, nil
}

// admitted asks [Options].Validate, and the strategy for the last time.
func (t *table) admitted(obj metav1.Object, old *revision, w write) error {
	if !w.view() { // else the hook was asked about the form
		if err := t.ask(t.server.validate, obj, old, w); err != nil {
			return err
		}
	}
	return t.conclude(obj, old, w)
}

func (t *table) ask(hook func(context.Context, *Admission) error, obj metav1.Object, old *revision, w write) error {
	if hook == nil || w.request == nil {
		return nil
	}
	a := t.admission(faults.VerbCreate, types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}, w)
	a.Object = obj
	if old != nil {
		a.Verb, a.Key, a.Old, a.Stored = faults.VerbUpdate, old.key, old.obj, old.origin().obj
	}
	return t.refused(a, hook(w.request, a))
}

// admitDeletion asks both hooks about a deletion.
func (t *table) admitDeletion(old *revision, w write, dryRun bool) error {
	return t.askBoth(w, func() *Admission {
		a := t.admission(faults.VerbDelete, old.key, w)
		a.Old, a.Stored, a.DryRun = old.obj, old.origin().obj, dryRun
		return a
	})
}

// admitAction asks both hooks about what a client posts to a subresource.
func (t *table) admitAction(key types.NamespacedName, kind schema.GroupVersionKind, sent metav1.Object, w write) error {
	return t.askBoth(w, func() *Admission {
		a := t.admission(faults.VerbCreate, key, w)
		a.Kind, a.Object = kind, sent
		return a
	})
}

func (t *table) askBoth(w write, about func() *Admission) error {
	for _, hook := range []func(context.Context, *Admission) error{t.server.mutate, t.server.validate} {
		if hook == nil || w.request == nil {
			continue
		}
		a := about()
		if err := t.refused(a, hook(w.request, a)); err != nil {
			return err
		}
	}
	return nil
}

// refused makes a hook's error a refusal.
func (t *table) refused(a *Admission, err error) error {
	if status := apierrors.APIStatus(nil); err == nil || errors.As(err, &status) {
		return err
	}
	return apierrors.NewForbidden(t.res.groupResource(), a.Key.Name, err)
}

// strategic reports whether a strategy prepares a write.
func (t *table) strategic(w write) bool {
	return t.strategy != nil && t.strategy.Prepare != nil && w.request != nil
}

// plan asks the strategy about a new state; old is nil for a create.
func (t *table) plan(obj metav1.Object, old *revision, w write) (stored uint64, err error) {
	return t.strategy.Prepare(w.request, t.planned(obj, old, w))
}

// conclude asks the strategy for the last time.
func (t *table) conclude(obj metav1.Object, old *revision, w write) error {
	if !t.strategic(w) || t.strategy.Admitted == nil {
		return nil
	}
	return t.strategy.Admitted(w.request, t.planned(obj, old, w))
}

func (t *table) planned(obj metav1.Object, old *revision, w write) *Admission {
	a := t.admission(faults.VerbCreate, types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}, w)
	a.Object = obj
	if old != nil {
		a.Verb, a.Old = faults.VerbUpdate, old.obj
		a.Stored = old.origin().obj
	}
	return a
}
