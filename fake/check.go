package fake

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kinform/kinform/fake/internal/refusal"
	"github.com/kinform/kinform/internal/storageerror"
)

// checkName refuses an object that is not the one of the URL.
func checkName(obj metav1.Object, name string) error {
	switch obj.GetName() {
	case name:
		return nil
	case "":
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s based on URL) was undeterminable: name must be provided", name))
	}
	return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", obj.GetName(), name))
}

// checkScope refuses a namespace of a cluster-scoped resource.
func (t *table) checkScope(namespace string) error {
	if namespace == "" || !t.res.ClusterScoped {
		return nil
	}
	return fmt.Errorf("fake: %s: %w: namespace %q, but the resource is cluster-scoped", t.res.groupResource(), errScope, namespace)
}

// checkRV refuses an object that was made from an older revision than old.
func (t *table) checkRV(rv string, old *revision) error {
	if rv != "" && rv != "0" && rv != old.obj.GetResourceVersion() {
		return apierrors.NewConflict(t.res.groupResource(), old.key.Name, errors.New(msgModified))
	}
	return nil
}

// errOtherUID is the 409 of an update with another uid than the object's. found is the uid of
// the object at key, empty if there is none. Like the API server's, it names the object's key
// in the storage.
func (t *table) errOtherUID(key types.NamespacedName, uid, found types.UID, dryRun bool) error {
	return t.errStorage(key, dryRun, storageerror.Unmet("UID", string(uid), string(found)))
}

// errStorage is a 409 of the API server's storage.
func (t *table) errStorage(key types.NamespacedName, dryRun bool, text string) error {
	return conflict(t.res.groupResource(), key.Name, "%s", storageerror.Invalid(t.storageKey(key), dryRun, text))
}

// storageKey is the key of an object in the API server's storage, below the prefix.
func (t *table) storageKey(key types.NamespacedName) string {
	path := "/"
	if t.res.custom() {
		path += t.res.Group + "/"
	}
	path += t.res.storageName() + "/"
	if key.Namespace != "" {
		path += key.Namespace + "/"
	}
	return path + key.Name
}

// storageName is the name of the resource in the API server's storage, which is older than some
// resources.
func (r *definedResource) storageName() string {
	switch name := r.Name; {
	case r.Group == "" && name == "replicationcontrollers":
		return "controllers"
	case r.Group == "" && name == "endpoints":
		return "services/endpoints"
	case r.Group == "" && name == "services":
		return "services/specs"
	case r.Group == "" && name == "nodes":
		return "minions"
	case r.Group == "networking.k8s.io" && name == "ingresses":
		return "ingress"
	}
	return r.Name
}

// checkBlind refuses a request to overwrite any revision of an object. rv is the version that
// the object states.
func (t *table) checkBlind(rv, name string, w write) error {
	if w.request == nil || rv != "" && rv != "0" || !t.res.refusesBlind() {
		return nil
	}
	// The API server has the resource where the kind should be.
	return apierrors.NewInvalid(schema.GroupKind{Group: t.res.Group, Kind: t.res.Name}, name, field.ErrorList{
		field.Invalid(field.NewPath("metadata", "resourceVersion"), uint64(0), "must be specified for an update"),
	})
}

// checkPatched refuses the result of a patch that changes the uid, or that states a
// resourceVersion other than the newest.
func (t *table) checkPatched(obj metav1.Object, old *revision) error {
	if ns := obj.GetNamespace(); !t.res.ClusterScoped && ns != old.key.Namespace {
		if ns != "" {
			return refusal.OtherNamespace()
		}
		obj.SetNamespace(old.key.Namespace)
	}
	if err := checkName(obj, old.key.Name); err != nil {
		return err
	}
	return t.checkRV(obj.GetResourceVersion(), old)
}

// checkPreconditions binds a deletion to one state of the object.
func (t *table) checkPreconditions(old *revision, pre *metav1.Preconditions) error {
	if pre == nil {
		return nil
	}
	kind := t.res.groupResource()
	kind.Resource = t.res.Kind // the API server states the kind here
	if uid := old.obj.GetUID(); pre.UID != nil && *pre.UID != uid {
		return conflict(kind, old.key.Name, "the UID in the precondition (%s) does not match the UID in record (%s). "+
			"The object might have been deleted and then recreated", *pre.UID, uid)
	}
	if rv := old.obj.GetResourceVersion(); pre.ResourceVersion != nil && *pre.ResourceVersion != rv {
		return conflict(kind, old.key.Name, "the ResourceVersion in the precondition (%s) does not match the ResourceVersion in record (%s). "+
			"The object might have been modified", *pre.ResourceVersion, rv)
	}
	return nil
}
