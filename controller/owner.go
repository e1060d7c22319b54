package controller

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/internal/keytext"
	"github.com/kinform/kinform/internal/mistake"
	"github.com/kinform/kinform/kind"
)

// SetController makes owner the controller of obj, by an owner reference
// (https://kubernetes.io/docs/concepts/overview/working-with-objects/owners-dependents/): the
// garbage collector deletes obj after owner, and [Owns] queues owner for events of obj. Of is the
// kind of owner. If it has no name, as with kind.OfResource, owner's TypeMeta must name the kind.
//
// Call SetController first in the edit of [CreateOrUpdate] and return its error, so that the edit
// ends for somebody else's object: SetController refuses an object that exists (it has a UID) and
// does not have owner as its controller. To take over an object that has no controller, call
// [Adopt] instead. If owner is the controller already, at most the version in the reference
// changes. If obj has several references to owner, one stays, in the place of the first.
//
// It returns an error, and does not change obj, if the reference would be wrong:
//
//   - a [*OwnedError] if obj belongs to somebody else
//   - [ErrInvalid] if owner has no name or UID, as before its creation, if its TypeMeta names another
//     kind, or if it lives in a namespace and obj lives elsewhere, because the garbage collector
//     would delete such an obj
//   - [ErrInvalid] if obj or owner is nil
func SetController[O metav1.Object](obj metav1.Object, owner O, of *kind.Kind[O]) error {
	if of == nil {
		return of.Check()
	}
	return setController(obj, owner, of.GroupVersionKind, false)
}

// Adopt is [SetController], but also takes over an object that exists and has no controller,
// because a user made it or it lost its controller. The garbage collector then deletes it after
// owner. Adopt still refuses an object with another controller with an [*OwnedError].
func Adopt[O metav1.Object](obj metav1.Object, owner O, of *kind.Kind[O]) error {
	if of == nil {
		return of.Check()
	}
	return setController(obj, owner, of.GroupVersionKind, true)
}

func setController(obj, owner metav1.Object, kind schema.GroupVersionKind, adopt bool) error {
	for _, o := range []metav1.Object{obj, owner} {
		if mistake.IsNil(o) {
			return noObject("owner reference to a "+kind.Kind, o)
		}
	}
	own := ownKind(owner)
	if kind.Kind == "" && own.Group == kind.Group {
		kind.Kind = own.Kind
	}
	if err := mayOwn(owner, obj, kind); err != nil {
		return about(obj, err)
	}
	refs := slices.Clone(obj.GetOwnerReferences())
	switch old := metav1.GetControllerOfNoCopy(obj); {
	case old != nil && old.UID != owner.GetUID():
		return &OwnedError{Object: keytext.Of(keyOf(obj)), Controller: *old, name: nameOf(obj), key: keyOf(obj)}
	case old == nil && obj.GetUID() != "" && !adopt:
		return &OwnedError{Object: keytext.Of(keyOf(obj)), name: nameOf(obj), key: keyOf(obj)}
	}
	ref := *metav1.NewControllerRef(owner, kind)
	isSame := func(r metav1.OwnerReference) bool { return r.UID == ref.UID }
	n := slices.IndexFunc(refs, isSame)
	refs = slices.DeleteFunc(refs, isSame)
	if n < 0 {
		n = len(refs)
	}
	obj.SetOwnerReferences(slices.Insert(refs, n, ref))
	return nil
}

// mayOwn returns the reason why owner cannot own obj, nil if it can.
func mayOwn(owner, obj metav1.Object, kind schema.GroupVersionKind) error {
	key := keytext.Of(keyOf(owner))
	name := fmt.Sprintf("%s %q", kind.Kind, key)
	switch {
	case kind.Kind == "" || kind.Version == "":
		return fmt.Errorf("%w: the kind of %q has no name or version, and the object does not have it either: use Kind.Named", errOwner, key)
	case owner.GetName() == "" || owner.GetUID() == "":
		return fmt.Errorf("%w: %s has no name or UID: take it from the server or a cache", errOwner, name)
	case owner.GetNamespace() != "" && obj.GetNamespace() == "":
		return fmt.Errorf("%w: %s lives in a namespace, and the object in none", errOwner, name)
	case owner.GetNamespace() != "" && owner.GetNamespace() != obj.GetNamespace():
		return fmt.Errorf("%w: %s lives in another namespace", errOwner, name)
	}
	if own := ownKind(owner); own.Kind != "" && own.GroupKind() != kind.GroupKind() {
		return fmt.Errorf("%w: %s is of kind %s", errOwner, name, own.GroupKind())
	}
	return nil
}
