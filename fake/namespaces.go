package fake

import (
	"fmt"
	"net/http"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/fake/internal/refusal"
)

// causeTerminating is the machine-readable part of a refusal to create in a namespace that
// is being deleted (NamespaceTerminatingCause of k8s.io/api/core/v1).
const causeTerminating metav1.CauseType = "NamespaceTerminating"

// nameLabel is given to namespaces, so that they can be selected by name.
const nameLabel = "kubernetes.io/metadata.name"

// keptByContent reports whether the objects are namespaces that go when they are empty.
func (t *table) keptByContent() bool { return t.res.namespaces() && t.server.upkeep.Namespaces() }

// admit refuses a new object whose namespace is not there, or is on its way out, as the
// NamespaceLifecycle admission does. The caller holds Server.mu.
func (t *table) admit(key types.NamespacedName) error {
	if key.Namespace == "" || !t.server.upkeep.Namespaces() {
		return nil
	}
	spaces := schema.GroupResource{Resource: "namespaces"}
	c := t.server.tables[spaces]
	var space metav1.Object
	if c != nil {
		space = c.liveObject(types.NamespacedName{Name: key.Namespace})
	}
	switch {
	case space == nil:
		return apierrors.NewNotFound(spaces, key.Namespace)
	case space.GetDeletionTimestamp() == nil:
		return nil
	}
	err := apierrors.NewForbidden(t.res.groupResource(), key.Name,
		fmt.Errorf("unable to create new content in namespace %s because it is being terminated", key.Namespace))
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{
		Type: causeTerminating, Field: "metadata.namespace", Message: fmt.Sprintf("namespace %s is being terminated", key.Namespace),
	})
	return err
}

// immortal refuses to delete the namespaces that a cluster cannot do without.
func immortal(name string) error {
	switch name {
	case "default", "kube-system", "kube-public":
		err := refusal.New(http.StatusForbidden, metav1.StatusReasonForbidden, fmt.Sprintf("namespaces %q is forbidden: this namespace may not be deleted", name))
		err.ErrStatus.Details = &metav1.StatusDetails{Name: name, Kind: "namespaces"}
		return err
	}
	return nil
}

// setPhase writes status.phase, where obj has it.
func setPhase(obj metav1.Object, phase string) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		_ = unstructured.SetNestedField(u.Object, phase, statusField, "phase") // a status of another form stays
		return
	}
	status := reflect.ValueOf(obj).Elem().FieldByName("Status")
	if !status.IsValid() || status.Kind() != reflect.Struct {
		return
	}
	if f := status.FieldByName("Phase"); f.IsValid() && f.Kind() == reflect.String {
		f.SetString(phase)
	}
}

// begin gives a new namespace its label and its phase.
func (t *table) begin(obj metav1.Object) {
	if !t.keptByContent() {
		return
	}
	labels := obj.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[nameLabel] = obj.GetName()
	obj.SetLabels(labels)
	setPhase(obj, "Active")
}
