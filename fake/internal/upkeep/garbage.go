package upkeep

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// noteOwners keeps the index of owners, and queues the objects to which a write may matter. The
// caller holds the lock.
func (k *Keeper) noteOwners(at ref, old, cur metav1.Object) {
	if old != nil {
		for _, o := range old.GetOwnerReferences() {
			delete(k.dependents[o.UID], at)
			if owner, ok := k.objects[o.UID]; ok {
				k.queue = append(k.queue, owner) // it may have waited for this one
			}
		}
	}
	if cur == nil {
		delete(k.objects, old.GetUID())
		k.queue = append(k.queue, k.sortedDependents(old.GetUID())...)
		return
	}
	k.objects[cur.GetUID()] = at
	for _, o := range cur.GetOwnerReferences() {
		if k.dependents[o.UID] == nil {
			k.dependents[o.UID] = map[ref]struct{}{}
		}
		k.dependents[o.UID][at] = struct{}{}
	}
	if len(cur.GetOwnerReferences()) > 0 || cur.GetDeletionTimestamp() != nil {
		k.queue = append(k.queue, at)
	}
}

// collect is one step of the garbage collector for one object. It finishes what the object's
// deletion waits for, and deletes an object whose owners are all gone. It follows the rules of
// https://kubernetes.io/docs/concepts/architecture/garbage-collection/.
func (k *Keeper) collect(at ref) {
	obj := at.current()
	if obj == nil {
		return
	}
	if obj.GetDeletionTimestamp() != nil {
		switch finalizers := obj.GetFinalizers(); {
		case slices.Contains(finalizers, metav1.FinalizerOrphanDependents):
			k.orphan(at, obj)
			return
		case slices.Contains(finalizers, metav1.FinalizerDeleteDependents):
			k.deleteDependents(at, obj)
			return
		}
	}
	if refs := obj.GetOwnerReferences(); len(refs) > 0 {
		k.judge(at, obj, refs)
	}
}

// orphan takes the owner out of its dependents, and then lets the owner go.
func (k *Keeper) orphan(at ref, owner metav1.Object) {
	for _, d := range k.dependentsOf(owner.GetUID()) {
		if dependent := d.current(); dependent != nil {
			d.change(dependent.GetUID(), func(obj metav1.Object) { dropOwners(obj, owner.GetUID()) })
		}
	}
	at.change(owner.GetUID(), func(obj metav1.Object) { dropFinalizer(obj, metav1.FinalizerOrphanDependents) })
}

// deleteDependents deletes in the foreground: first the dependents that block their owner,
// then the owner.
func (k *Keeper) deleteDependents(at ref, owner metav1.Object) {
	blocked := false
	for _, d := range k.dependentsOf(owner.GetUID()) {
		dependent := d.current()
		if dependent == nil || !blocks(dependent, owner.GetUID()) {
			continue
		}
		blocked = true
		if !waits(dependent) { // two objects that wait for each other would queue each other for ever
			k.look(d)
		}
	}
	if !blocked {
		at.change(owner.GetUID(), func(obj metav1.Object) { dropFinalizer(obj, metav1.FinalizerDeleteDependents) })
	}
}

// judge deletes an object if none of its owners stays. Otherwise it removes the references to
// the owners that go.
func (k *Keeper) judge(at ref, obj metav1.Object, refs []metav1.OwnerReference) {
	var solid, waiting, gone []types.UID
	for _, r := range refs {
		switch owner, known := k.owner(obj, r); {
		case !known:
			solid = append(solid, r.UID)
		case owner == nil:
			gone = append(gone, r.UID)
		case waits(owner):
			waiting = append(waiting, r.UID)
		default:
			solid = append(solid, r.UID)
		}
	}
	switch {
	case len(solid) > 0:
		if going := append(gone, waiting...); len(going) > 0 {
			at.change(obj.GetUID(), func(obj metav1.Object) { dropOwners(obj, going...) })
		}
	case obj.GetDeletionTimestamp() != nil:
	case len(waiting) > 0 && k.hasDependents(at, obj):
		at.remove(obj.GetUID(), metav1.DeletePropagationForeground)
	default:
		at.remove(obj.GetUID(), policyOf(obj))
	}
}

// hasDependents reports whether obj owns anything. If a dependent already waits for obj, obj
// stops blocking its own owners, because a circle of blocking objects would never end.
func (k *Keeper) hasDependents(at ref, obj metav1.Object) bool {
	dependents := k.dependentsOf(obj.GetUID())
	for _, d := range dependents {
		if dependent := d.current(); dependent != nil && waits(dependent) {
			at.change(obj.GetUID(), unblock)
			break
		}
	}
	return len(dependents) > 0
}

// owner finds the object of a reference, nil if there is none. known is false for a kind that
// was not added: its objects may be anywhere.
func (k *Keeper) owner(obj metav1.Object, r metav1.OwnerReference) (owner metav1.Object, known bool) {
	k.mu.Lock()
	at, ok := k.objects[r.UID]
	known = slices.ContainsFunc(k.collections, func(c *Collection) bool {
		gv, err := schema.ParseGroupVersion(r.APIVersion)
		return err == nil && c.resource.Name.Group == gv.Group && c.resource.Kind == r.Kind
	})
	k.mu.Unlock()
	if !ok || at.key.Namespace != "" && at.key.Namespace != obj.GetNamespace() {
		return nil, known
	}
	if owner = at.current(); owner == nil || owner.GetUID() != r.UID {
		return nil, known
	}
	return owner, known
}

// waits reports whether an object is being deleted in the foreground.
func waits(obj metav1.Object) bool {
	return obj.GetDeletionTimestamp() != nil && slices.Contains(obj.GetFinalizers(), metav1.FinalizerDeleteDependents)
}

// blocks reports whether obj blocks the deletion of its owner.
func blocks(obj metav1.Object, owner types.UID) bool {
	return slices.ContainsFunc(obj.GetOwnerReferences(), func(r metav1.OwnerReference) bool {
		return r.UID == owner && r.BlockOwnerDeletion != nil && *r.BlockOwnerDeletion
	})
}

// unblock makes obj block none of its owners.
func unblock(obj metav1.Object) {
	refs := slices.Clone(obj.GetOwnerReferences())
	for i, r := range refs {
		if r.BlockOwnerDeletion != nil {
			refs[i].BlockOwnerDeletion = new(bool)
		}
	}
	obj.SetOwnerReferences(refs)
}

// policyOf is the policy that an object's finalizers ask for.
func policyOf(obj metav1.Object) metav1.DeletionPropagation {
	for _, f := range obj.GetFinalizers() {
		switch f {
		case metav1.FinalizerOrphanDependents:
			return metav1.DeletePropagationOrphan
		case metav1.FinalizerDeleteDependents:
			return metav1.DeletePropagationForeground
		}
	}
	return metav1.DeletePropagationBackground
}

// dropOwners removes the references to owners.
func dropOwners(obj metav1.Object, owners ...types.UID) {
	left := slices.DeleteFunc(slices.Clone(obj.GetOwnerReferences()), func(r metav1.OwnerReference) bool {
		return slices.Contains(owners, r.UID)
	})
	if len(left) == 0 {
		left = nil
	}
	obj.SetOwnerReferences(left)
}

// dropFinalizer removes a finalizer.
func dropFinalizer(obj metav1.Object, name string) {
	obj.SetFinalizers(slices.DeleteFunc(slices.Clone(obj.GetFinalizers()), func(f string) bool { return f == name }))
}
