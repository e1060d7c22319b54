package fake

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// collect is one step of the garbage collector for one object: it lets go of what hangs on
// the object's deletion, and deletes the object once no owner is left. The rules are those
// of https://kubernetes.io/docs/concepts/architecture/garbage-collection/.
func (u *upkeep) collect(at ref) {
	obj := at.current()
	if obj == nil {
		return
	}
	if obj.GetDeletionTimestamp() != nil {
		switch finalizers := obj.GetFinalizers(); {
		case slices.Contains(finalizers, metav1.FinalizerOrphanDependents):
			u.orphan(at, obj)
			return
		case slices.Contains(finalizers, metav1.FinalizerDeleteDependents):
			u.deleteDependents(at, obj)
			return
		}
	}
	if refs := obj.GetOwnerReferences(); len(refs) > 0 {
		u.judge(at, obj, refs)
	}
}

// orphan takes the owner out of its dependents, and then lets it go.
func (u *upkeep) orphan(at ref, owner metav1.Object) {
	for _, d := range u.dependentsNow(owner.GetUID()) {
		if dependent := d.current(); dependent != nil {
			d.change(dependent.GetUID(), func(obj metav1.Object) bool { return dropOwners(obj, owner.GetUID()) })
		}
	}
	at.change(owner.GetUID(), func(obj metav1.Object) bool { return dropFinalizer(obj, metav1.FinalizerOrphanDependents) })
}

// deleteDependents deletes in the foreground: first the dependents that block their owner,
// then the owner.
func (u *upkeep) deleteDependents(at ref, owner metav1.Object) {
	blocked := false
	for _, d := range u.dependentsNow(owner.GetUID()) {
		dependent := d.current()
		if dependent == nil || !blocks(dependent, owner.GetUID()) {
			continue
		}
		blocked = true
		if !waits(dependent) { // or two that wait for each other would be looked at for ever
			u.enqueue(d)
		}
	}
	if !blocked {
		at.change(owner.GetUID(), func(obj metav1.Object) bool { return dropFinalizer(obj, metav1.FinalizerDeleteDependents) })
	}
}

// judge deletes an object without an owner that stays, and else takes out the owners that
// do not.
func (u *upkeep) judge(at ref, obj metav1.Object, refs []metav1.OwnerReference) {
	var solid, waiting, gone []types.UID
	for _, r := range refs {
		switch owner, known := u.owner(obj, r); {
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
			at.change(obj.GetUID(), func(obj metav1.Object) bool { return dropOwners(obj, going...) })
		}
	case obj.GetDeletionTimestamp() != nil:
	case len(waiting) > 0 && u.hasDependents(at, obj):
		at.delete(metav1.DeletePropagationForeground, obj.GetUID())
	default:
		at.delete(policyOf(obj), obj.GetUID())
	}
}

// hasDependents reports whether obj owns anything. Where that waits for obj itself, obj is
// made not to block it: a circle would never end.
func (u *upkeep) hasDependents(at ref, obj metav1.Object) bool {
	dependents := u.dependentsNow(obj.GetUID())
	for _, d := range dependents {
		if dependent := d.current(); dependent != nil && waits(dependent) {
			at.change(obj.GetUID(), unblock)
			break
		}
	}
	return len(dependents) > 0
}

// owner finds who a reference means, nil when there is nobody. known is false for kinds
// that the server does not serve, whose objects may be anywhere.
func (u *upkeep) owner(obj metav1.Object, r metav1.OwnerReference) (owner metav1.Object, known bool) {
	u.server.mu.Lock()
	at, ok := u.objects[r.UID]
	known = slices.ContainsFunc(u.server.order, func(c collection) bool {
		gv, err := schema.ParseGroupVersion(r.APIVersion)
		return err == nil && c.info().Group == gv.Group && c.info().Kind == r.Kind
	})
	u.server.mu.Unlock()
	if !ok || at.key.Namespace != "" && at.key.Namespace != obj.GetNamespace() {
		return nil, known
	}
	if owner = at.current(); owner == nil || owner.GetUID() != r.UID {
		return nil, known
	}
	return owner, known
}

func (u *upkeep) dependentsNow(uid types.UID) []ref {
	u.server.mu.Lock()
	defer u.server.mu.Unlock()
	return u.dependentsOf(uid)
}

func (u *upkeep) enqueue(r ref) {
	u.server.mu.Lock()
	defer u.server.mu.Unlock()
	u.queue = append(u.queue, r)
}

// waits reports whether an object is being deleted in the foreground.
func waits(obj metav1.Object) bool {
	return obj.GetDeletionTimestamp() != nil && slices.Contains(obj.GetFinalizers(), metav1.FinalizerDeleteDependents)
}

func blocks(obj metav1.Object, owner types.UID) bool {
	return slices.ContainsFunc(obj.GetOwnerReferences(), func(r metav1.OwnerReference) bool {
		return r.UID == owner && r.BlockOwnerDeletion != nil && *r.BlockOwnerDeletion
	})
}

func unblock(obj metav1.Object) bool {
	refs, changed := slices.Clone(obj.GetOwnerReferences()), false
	for i, r := range refs {
		if r.BlockOwnerDeletion != nil && *r.BlockOwnerDeletion {
			refs[i].BlockOwnerDeletion, changed = new(bool), true
		}
	}
	obj.SetOwnerReferences(refs)
	return changed
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

func dropOwners(obj metav1.Object, uids ...types.UID) bool {
	had := obj.GetOwnerReferences()
	left := slices.DeleteFunc(slices.Clone(had), func(r metav1.OwnerReference) bool { return slices.Contains(uids, r.UID) })
	if len(left) == 0 {
		left = nil
	}
	obj.SetOwnerReferences(left)
	return len(left) < len(had)
}

func dropFinalizer(obj metav1.Object, name string) bool {
	had := obj.GetFinalizers()
	left := slices.DeleteFunc(slices.Clone(had), func(f string) bool { return f == name })
	obj.SetFinalizers(left)
	return len(left) < len(had)
}
