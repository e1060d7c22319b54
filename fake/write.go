package fake

import (
	"errors"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The functions of this file own the objects passed to them: callers copy first. Each
// write prepares its result without the lock, from a version that it read, and commits
// only if that version is still the newest; otherwise somebody else made progress and it
// starts again.

// create stores obj under a new name.
func (t *table[T]) create(obj T) (*version[T], error) {
	generated := obj.GetName() == "" && obj.GetGenerateName() != ""
	obj.SetGeneration(0)
	if err := t.prepareCreate(obj); err != nil {
		return nil, err
	}
	s := t.server
	now := metav1.NewTime(s.now()).Rfc3339Copy()
	s.mu.Lock()
	defer s.mu.Unlock()
	if generated {
		obj.SetName(t.freeName(obj.GetNamespace(), obj.GetName()))
	}
	key := types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
	if t.live(key) != nil {
		return nil, apierrors.NewAlreadyExists(t.res.groupResource(), key.Name)
	}
	v := &version[T]{key: key, rv: s.advance(), obj: obj}
	obj.SetUID(uidOf(v.rv))
	obj.SetCreationTimestamp(now)
	obj.SetResourceVersion(formatRV(v.rv))
	t.put(v.rv, nil, v)
	return v, nil
}

// uidOf makes a UID in the form of RFC 9562 that is the same in every run of a test: a
// resourceVersion is given out once.
func uidOf(rv uint64) types.UID {
	return types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012x", rv))
}

// update replaces the object at key by what change makes of the newest version. change
// may run several times and returns an object that the table may keep.
func (t *table[T]) update(key types.NamespacedName, change func(old *version[T]) (T, error)) (*version[T], error) {
	for {
		old := t.get(key)
		if old == nil {
			return nil, apierrors.NewNotFound(t.res.groupResource(), key.Name)
		}
		obj, err := change(old)
		if err != nil {
			return nil, err
		}
		if err := t.prepareUpdate(obj, old); err != nil {
			return nil, err
		}
		if same(obj, old.obj) {
			return old, nil // the API server writes nothing either
		}
		if obj.GetDeletionTimestamp() != nil && len(obj.GetFinalizers()) == 0 {
			// The last finalizer went: so does the object.
			if _, ok := t.commit(old, nil); ok {
				return &version[T]{key: key, rv: old.rv, obj: obj}, nil
			}
			continue
		}
		if v, ok := t.commit(old, &version[T]{key: key, obj: obj}); ok {
			return v, nil
		}
	}
}

// preconditions bind a delete to one state of the object; empty fields bind nothing.
type preconditions struct {
	uid types.UID
	rv  string
}

// remove deletes the object at key, or marks it as being deleted while finalizers hold
// it. The result is its last state; final says that it is gone.
func (t *table[T]) remove(key types.NamespacedName, pre preconditions) (last *version[T], final bool, err error) {
	for {
		old := t.get(key)
		if old == nil {
			return nil, false, apierrors.NewNotFound(t.res.groupResource(), key.Name)
		}
		if err := t.checkPreconditions(old, pre); err != nil {
			return nil, false, err
		}
		if len(old.obj.GetFinalizers()) == 0 {
			if rec, ok := t.commit(old, nil); ok {
				return rec, true, nil
			}
			continue
		}
		if old.obj.GetDeletionTimestamp() != nil {
			return old, false, nil
		}
		obj, err := t.clone(old.obj)
		if err != nil {
			return nil, false, apierrors.NewInternalError(err)
		}
		now, grace := metav1.NewTime(t.server.now()).Rfc3339Copy(), int64(0)
		obj.SetDeletionTimestamp(&now)
		obj.SetDeletionGracePeriodSeconds(&grace)
		if t.generations(obj) {
			obj.SetGeneration(obj.GetGeneration() + 1)
		}
		if v, ok := t.commit(old, &version[T]{key: key, obj: obj}); ok {
			return v, false, nil
		}
	}
}

// commit makes next the successor of old, or deletes old when next is nil, and returns
// next, or old at the resourceVersion of its deletion. It reports false, having done
// nothing, when old is no longer the newest version.
func (t *table[T]) commit(old, next *version[T]) (*version[T], bool) {
	s := t.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.live(old.key) != old {
		return nil, false
	}
	rv := s.advance()
	if next == nil {
		t.put(rv, old, nil)
		return &version[T]{key: old.key, rv: rv, obj: old.obj}, true
	}
	next.rv = rv
	next.obj.SetResourceVersion(formatRV(rv))
	t.put(rv, old, next)
	return next, true
}

func (t *table[T]) checkPreconditions(old *version[T], pre preconditions) error {
	gr := t.res.groupResource()
	if pre.uid != "" && pre.uid != old.obj.GetUID() {
		return conflict(gr, old.key.Name, "Precondition failed: UID in precondition: %v, UID in object meta: %v", pre.uid, old.obj.GetUID())
	}
	if pre.rv != "" && pre.rv != old.obj.GetResourceVersion() {
		return conflict(gr, old.key.Name, "Precondition failed: ResourceVersion in precondition: %v, ResourceVersion in object meta: %v", pre.rv, old.obj.GetResourceVersion())
	}
	return nil
}

// replacement returns the change of a PUT: obj as it is, if it was made from the newest
// version or does not say from which one.
func (t *table[T]) replacement(obj T) func(*version[T]) (T, error) {
	// Preparing obj overwrites both, and it may be offered more than once.
	uid, rv := obj.GetUID(), obj.GetResourceVersion()
	return func(old *version[T]) (T, error) {
		if err := t.checkPreconditions(old, preconditions{uid: uid}); err != nil {
			return obj, err
		}
		if rv != "" && rv != "0" && rv != old.obj.GetResourceVersion() {
			return obj, apierrors.NewConflict(t.res.groupResource(), old.key.Name, errors.New(msgModified))
		}
		return obj, nil
	}
}

// same compares two objects as the API server does before a write, where empty and absent
// lists are one. Types that the semantic comparison cannot read are compared exactly.
func same(a, b any) (equal bool) {
	defer func() {
		if recover() != nil {
			equal = reflect.DeepEqual(a, b)
		}
	}()
	return equality.Semantic.DeepEqual(a, b)
}
