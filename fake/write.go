package fake

import (
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The functions of this file own the objects passed to them: callers copy first. Each
// write prepares its result without the lock, from a version that it read, and commits
// only if that version is still the newest; otherwise somebody else made progress and it
// starts again.

// write is what a request says beside its object.
type write struct {
	status  bool   // it is for the status subresource, and changes nothing else
	dryRun  bool   // it is checked and answered as any other, and not stored
	manager string // who writes, as far as is known
	named   bool   // the request itself names the manager
	applies bool   // it is an apply, which keeps managedFields by itself
	request bool   // it comes from code under test, not from a test that sets the stage
}

// create stores obj under a new name.
func (t *table[T]) create(obj T, w write) (*version[T], error) {
	generated := obj.GetName() == "" && obj.GetGenerateName() != ""
	obj.SetGeneration(0)
	if err := t.prepareCreate(obj); err != nil {
		return nil, err
	}
	if w.named && len(obj.GetManagedFields()) == 0 {
		tracked, err := t.track(obj, nil, w)
		if err != nil {
			return nil, err
		}
		obj = tracked
	}
	v, err := t.insert(obj, generated, w)
	t.server.upkeep.run()
	return v, err
}

// insert names a prepared object and stores it.
func (t *table[T]) insert(obj T, generated bool, w write) (*version[T], error) {
	now := metav1.NewTime(t.server.now()).Rfc3339Copy()
	s := t.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if generated {
		obj.SetName(t.freeName(obj.GetNamespace(), obj.GetName()))
	}
	key := types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
	if err := t.admit(key); err != nil {
		return nil, err
	}
	if t.live(key) != nil {
		return nil, apierrors.NewAlreadyExists(t.res.groupResource(), key.Name)
	}
	t.begin(obj)
	obj.SetUID(uidOf(s.restores<<48 | (s.rv + 1)))
	obj.SetCreationTimestamp(now)
	v := &version[T]{key: key, obj: obj}
	if w.dryRun {
		return v, nil
	}
	v.rv = s.advance(1)
	obj.SetResourceVersion(formatRV(v.rv))
	t.put(v.rv, nil, v)
	return v, nil
}

// update replaces the object at key by what change makes of the newest version. change
// may run several times and returns an object that the table may keep.
func (t *table[T]) update(key types.NamespacedName, w write, change func(old *version[T]) (T, error)) (*version[T], error) {
	for {
		old := t.get(key)
		if old == nil {
			return nil, apierrors.NewNotFound(t.res.groupResource(), key.Name)
		}
		obj, err := change(old)
		if err != nil {
			return nil, err
		}
		if obj, err = t.confine(obj, old, w); err != nil {
			return nil, err
		}
		if err := t.prepareUpdate(obj, old); err != nil {
			return nil, err
		}
		if !w.applies && len(old.obj.GetManagedFields()) > 0 {
			if obj, err = t.track(obj, old, w); err != nil {
				return nil, err
			}
		}
		if same(obj, old.obj) {
			return old, nil // the API server writes nothing either
		}
		next := &version[T]{key: key, rv: old.rv, obj: obj}
		if w.dryRun {
			return next, nil
		}
		if obj.GetDeletionTimestamp() != nil && len(obj.GetFinalizers()) == 0 && !t.keptByContent() {
			// The last finalizer went: so does the object.
			if _, ok := t.commit(old, nil); ok {
				return next, nil
			}
			continue
		}
		if v, ok := t.commit(old, next); ok {
			return v, nil
		}
	}
}

// confine keeps an update to its half of the object: status or all the rest.
func (t *table[T]) confine(obj T, old *version[T], w write) (T, error) {
	if !t.res.Status {
		return obj, nil
	}
	if !w.status {
		// What is left of the old version is shared: neither changes any more.
		t.setStatus(obj, old.obj)
		return obj, nil
	}
	whole, err := t.clone(old.obj)
	if err != nil {
		return obj, apierrors.NewInternalError(err)
	}
	t.setStatus(whole, obj)
	whole.SetManagedFields(obj.GetManagedFields())
	return whole, nil
}

// commit makes next the successor of old, or deletes old when next is nil, and returns
// next, or old at the resourceVersion of its deletion. It reports false, having done
// nothing, when old is no longer the newest version.
func (t *table[T]) commit(old, next *version[T]) (*version[T], bool) {
	v, ok := t.swap(old, next)
	if ok {
		t.server.upkeep.run()
	}
	return v, ok
}

func (t *table[T]) swap(old, next *version[T]) (*version[T], bool) {
	s := t.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.live(old.key) != old {
		return nil, false
	}
	rv := s.advance(1)
	if next == nil {
		t.put(rv, old, nil)
		return &version[T]{key: old.key, rv: rv, obj: old.obj}, true
	}
	next.rv = rv
	next.obj.SetResourceVersion(formatRV(rv))
	t.put(rv, old, next)
	return next, true
}

// replacement returns the change of a PUT: obj as it is, if it was made from the newest
// version or does not say from which one.
func (t *table[T]) replacement(obj T, w write) func(*version[T]) (T, error) {
	// Preparing obj overwrites both, and it may be offered more than once.
	uid, rv := obj.GetUID(), obj.GetResourceVersion()
	return func(old *version[T]) (T, error) {
		if uid != "" && uid != old.obj.GetUID() {
			return obj, t.errOtherUID(old, uid)
		}
		if err := t.checkBlind(rv, old.key.Name, w); err != nil {
			return obj, err
		}
		obj.SetUID(uid) // that of an object which is gone by now would be refused
		return obj, t.checkRV(rv, old)
	}
}

// checkRV refuses an object that was made from an older version than old.
func (t *table[T]) checkRV(rv string, old *version[T]) error {
	if rv != "" && rv != "0" && rv != old.obj.GetResourceVersion() {
		return apierrors.NewConflict(t.res.groupResource(), old.key.Name, errors.New(msgModified))
	}
	return nil
}

// errOtherUID is the 409 of an update of another object of the same name. Like the API
// server's, it names the object's key in the storage.
func (t *table[T]) errOtherUID(old *version[T], uid types.UID) error {
	path := "/registry/"
	if t.res.custom() {
		path += t.res.Group + "/"
	}
	path += t.res.Name + "/"
	if old.key.Namespace != "" {
		path += old.key.Namespace + "/"
	}
	return conflict(t.res.groupResource(), old.key.Name,
		"StorageError: invalid object, Code: 4, Key: %s, ResourceVersion: 0, AdditionalErrorMsg: %s",
		path+old.key.Name, fmt.Sprintf("Precondition failed: UID in precondition: %v, UID in object meta: %v", uid, old.obj.GetUID()))
}

// checkBlind refuses a request to overwrite any version of an object. rv is the version that
// the object states.
func (t *table[T]) checkBlind(rv, name string, w write) error {
	if !w.request || rv != "" && rv != "0" || !t.res.refusesBlind() {
		return nil
	}
	// The API server has the resource where the kind should be.
	return apierrors.NewInvalid(schema.GroupKind{Group: t.res.Group, Kind: t.res.Name}, name, field.ErrorList{
		field.Invalid(field.NewPath("metadata", "resourceVersion"), uint64(0), "must be specified for an update"),
	})
}

// writeOptions checks the options of a create or an update. kind names them in a refusal.
func writeOptions(kind string, dryRun []string, manager, fieldValidation string) (write, error) {
	// The options of creates and updates have the same members and the same rules.
	errs := metavalidation.ValidateUpdateOptions(&metav1.UpdateOptions{DryRun: dryRun, FieldManager: manager, FieldValidation: fieldValidation})
	return write{dryRun: isDryRun(dryRun), manager: manager, named: manager != "", request: true}, invalidOptions(kind, errs)
}

func patchOptions(pt types.PatchType, opts metav1.PatchOptions) (write, error) {
	errs := metavalidation.ValidatePatchOptions(&opts, pt)
	return write{dryRun: isDryRun(opts.DryRun), manager: opts.FieldManager, request: true}, invalidOptions("PatchOptions", errs)
}

func invalidOptions(kind string, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: kind}, "", errs)
}

func isDryRun(values []string) bool { return slices.Contains(values, metav1.DryRunAll) }
