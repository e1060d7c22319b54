package fake

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// nameAlphabet has the characters of Kubernetes' generated names, which cannot spell words.
const nameAlphabet = "bcdfghjklmnpqrstvwxz2456789"

// maxGeneratedBase leaves room for the suffix in a name of 63 bytes.
const maxGeneratedBase = 63 - 5

// prepareCreate sets and checks the metadata that does not depend on other objects. It checks a
// generated name with a placeholder for the suffix, which generateName replaces, here if there is a
// strategy. kept is the sum of [Strategy].Prepare or of keptEmpty.
func (t *table) prepareCreate(obj metav1.Object, w write) (kept uint64, err error) {
	if obj.GetResourceVersion() != "" && !w.dryRun { // the API server's storage refuses it
		return 0, apierrors.NewBadRequest("resourceVersion should not be set on objects to be created")
	}
	if err := t.setKind(obj); err != nil {
		return 0, err
	}
	kept = t.keptEmpty(obj, w)
	if err := normalize(obj); err != nil {
		return 0, err
	}
	if t.res.ClusterScoped {
		obj.SetNamespace("")
	}
	obj.SetDeletionTimestamp(nil)
	obj.SetDeletionGracePeriodSeconds(nil)
	obj.SetSelfLink("")
	if t.res.Status && !t.strategic(w) {
		t.setStatus(obj, newObject(t.typ))
	}
	if err := t.completeNew(obj, w); err != nil {
		return 0, err
	}
	if t.generations() && !generationFromZero.hold(&t.res) && !t.strategic(w) {
		obj.SetGeneration(1) // other kinds keep what the client says
	}
	stated := obj.GetName()
	if stated == "" && obj.GetGenerateName() != "" {
		base := obj.GetGenerateName()
		obj.SetName(base[:min(len(base), maxGeneratedBase)] + "xxxxx")
	}
	if t.strategic(w) {
		if obj.GetGenerateName() != "" && stated == "" {
			t.generateName(obj)
		}
		obj.SetUID(t.server.reserveUID())
		obj.SetCreationTimestamp(metav1.NewTime(t.server.now()).Rfc3339Copy())
		if kept, err = t.plan(obj, nil, w); err != nil {
			return 0, err
		}
		return kept, t.invalid(obj, t.validate(obj, nil, w))
	}
	meta := validation.ValidateObjectMetaAccessor(obj, !t.res.ClusterScoped, t.res.nameRule(), field.NewPath("metadata"))
	return kept, t.invalid(obj, append(meta, t.validate(obj, nil, w)...))
}

// validate asks the resource's own checks.
func (t *table) validate(obj, old metav1.Object, w write) field.ErrorList {
	check := t.hooks.validate
	if w.status() && t.hooks.validateStatus != nil {
		check = t.hooks.validateStatus
	}
	if check == nil {
		return nil
	}
	return check(obj, old)
}

// generateName gives a prepared object a name that is free.
func (t *table) generateName(obj metav1.Object) {
	t.server.mu.Lock()
	defer t.server.mu.Unlock()
	obj.SetName(t.freeName(obj.GetNamespace(), obj.GetName()))
}

// freeName puts a suffix into a prepared name, so that no object has the name. The suffix depends
// on the resourceVersion alone, so that dry runs and refusals leave no trace in later names. The
// caller holds Server.mu.
func (t *table) freeName(namespace, prepared string) string {
	name, suffix := []byte(prepared), rand.New(rand.NewPCG(1, t.server.rv+1))
	for {
		for i := len(name) - 5; i < len(name); i++ {
			name[i] = nameAlphabet[suffix.IntN(len(nameAlphabet))]
		}
		if t.live(types.NamespacedName{Namespace: namespace, Name: string(name)}) == nil {
			return string(name)
		}
	}
}

// prepareUpdate copies the metadata that a client cannot change from old, and checks the rest.
// kept is the sum of [Strategy].Prepare or of keptEmpty.
func (t *table) prepareUpdate(obj metav1.Object, old *revision, w write) (kept uint64, err error) {
	was := old.obj
	if err := t.setKind(obj); err != nil {
		return 0, err
	}
	kept = t.keptEmpty(obj, w)
	if err := normalize(obj); err != nil {
		return 0, err
	}
	if err := t.completeNew(obj, w); err != nil {
		return 0, err
	}
	if t.res.ClusterScoped {
		obj.SetNamespace("")
	}
	if obj.GetUID() == "" {
		obj.SetUID(was.GetUID())
	}
	obj.SetResourceVersion(was.GetResourceVersion())
	obj.SetCreationTimestamp(was.GetCreationTimestamp())
	if was.GetDeletionTimestamp() != nil { // else a client that sets one is refused
		obj.SetDeletionTimestamp(was.GetDeletionTimestamp())
	}
	if obj.GetDeletionGracePeriodSeconds() == nil {
		obj.SetDeletionGracePeriodSeconds(was.GetDeletionGracePeriodSeconds())
	}
	obj.SetGeneration(was.GetGeneration())
	if t.strategic(w) {
		if kept, err = t.plan(obj, old, w); err != nil {
			return 0, err
		}
		return kept, t.invalid(obj, t.validate(obj, was, w))
	}
	if t.generations() && !w.status() && !w.whole {
		stays, err := t.sameStored(obj, old)
		if err != nil {
			return 0, err
		}
		if !stays {
			obj.SetGeneration(was.GetGeneration() + 1)
		}
	}
	path := field.NewPath("metadata")
	if t.res.custom() { // the API server checks the metadata of the update twice, and reports all at once
		errs := validation.ValidateObjectMetaAccessor(obj, !t.res.ClusterScoped, t.res.nameRule(), path)
		for range 2 {
			errs = append(errs, validation.ValidateObjectMetaAccessorUpdate(obj, was, path)...)
		}
		return kept, t.invalid(obj, append(errs, t.validate(obj, was, w)...))
	}
	// The second check repeats a part of the first.
	errs := validation.ValidateObjectMetaAccessorUpdate(obj, was, path)
	if errs = append(errs, t.validate(obj, was, w)...); len(errs) > 0 {
		return 0, t.invalid(obj, errs)
	}
	return 0, t.invalid(obj, validation.ValidateObjectMetaAccessor(obj, !t.res.ClusterScoped, t.res.nameRule(), path))
}

func (t *table) invalid(obj metav1.Object, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(t.res.GroupVersionKind().GroupKind(), obj.GetName(), errs)
}

// normalize makes unstructured metadata an ObjectMeta: unknown members go, and null labels are
// empty. It refuses metadata that is no ObjectMeta, because its accessors would skip the members
// that they cannot read.
func normalize(obj metav1.Object) error {
	err := plainMeta(obj)
	if err == nil {
		return nil
	}
	kind := kindOf(obj)
	return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", kind.Kind, kind.Version, kind.Kind, err))
}

// keptEmpty is a sum of the metadata and the status of a custom resource. An apply stores members that
// are empty, and no reader sees them: such a sum is like no other. All other writes are without them.
func (t *table) keptEmpty(obj metav1.Object, w write) uint64 {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok || !t.res.custom() || w.request == nil {
		return 0
	}
	if w.applies && (hasEmpty(u) || w.status() && hasNull(u.Object, statusField)) {
		return 1 + t.server.serials.Add(1)
	}
	return keptWhole
}

// keptWhole is the sum of all writes whose members are all seen.
const keptWhole = 1

// hasEmpty reports whether the metadata has members that the API server stores and no reader sees as
// they are. A null among labels is read as an empty value.
func hasEmpty(u *unstructured.Unstructured) bool {
	meta, _ := u.Object["metadata"].(map[string]any)
	for _, name := range []string{"annotations", "finalizers", "labels", "ownerReferences"} {
		switch value := meta[name].(type) {
		case nil:
			if _, has := meta[name]; has {
				return true
			}
		case map[string]any:
			if len(value) == 0 {
				return true
			}
		case []any:
			if len(value) == 0 {
				return true
			}
		}
	}
	for _, name := range []string{"annotations", "labels"} {
		values, _ := meta[name].(map[string]any)
		for key := range values {
			if hasNull(values, key) {
				return true
			}
		}
	}
	return hasNull(meta, "deletionTimestamp") || hasNull(meta, "deletionGracePeriodSeconds") || hasNull(meta, "generateName")
}

func hasNull(object map[string]any, name string) bool {
	value, has := object[name]
	return has && value == nil
}

// plainMeta is normalize with the error as it is.
func plainMeta(obj metav1.Object) error {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return nil
	}
	var meta metav1.ObjectMeta
	b, err := json.Marshal(u.Object["metadata"])
	if err == nil {
		err = utiljson.Unmarshal(b, &meta)
	}
	var members map[string]any
	if err == nil {
		members, err = runtime.DefaultUnstructuredConverter.ToUnstructured(&meta)
	}
	if err != nil {
		return err
	}
	if members["creationTimestamp"] == nil {
		delete(members, "creationTimestamp")
	}
	u.Object["metadata"] = members
	return nil
}
