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

// keepsNamespaces reports whether namespaces have a life of their own.
func (s *Server) keepsNamespaces() bool { return s.upkeep != nil && s.upkeep.namespaces }

// keptByContent reports whether the objects are namespaces that go when they are empty.
func (t *table[T]) keptByContent() bool { return t.res.namespaces() && t.server.keepsNamespaces() }

// admit refuses a new object whose namespace is not there, or is on its way out, as the
// NamespaceLifecycle admission does. Called under Server.mu.
func (t *table[T]) admit(key types.NamespacedName) error {
	if key.Namespace == "" || !t.server.keepsNamespaces() {
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

// liveObject is peek for callers that hold Server.mu.
func (t *table[T]) liveObject(key types.NamespacedName) metav1.Object {
	if v := t.live(key); v != nil {
		return v.obj
	}
	return nil
}

// noteNamespace has a namespace looked at when it is written, or when something of it goes.
// Called under Server.mu.
func (u *upkeep) noteNamespace(at ref, cur metav1.Object) {
	switch {
	case at.in.info().namespaces():
		if cur != nil && cur.GetDeletionTimestamp() != nil {
			u.queue = append(u.queue, at)
		}
	case cur == nil && at.key.Namespace != "":
		if c := u.server.tables[schema.GroupResource{Resource: "namespaces"}]; c != nil {
			u.queue = append(u.queue, ref{c, types.NamespacedName{Name: at.key.Namespace}})
		}
	}
}

// empty deletes what is in a namespace that is being deleted, and then the namespace. What
// finalizers hold keeps the namespace, too.
func (u *upkeep) empty(at ref) {
	space := at.current()
	if space == nil || space.GetDeletionTimestamp() == nil {
		return
	}
	left := 0
	for _, c := range u.server.collections() {
		if c.info().ClusterScoped {
			continue
		}
		for _, key := range c.keysIn(at.key.Name) {
			if obj := c.peek(key); obj != nil && obj.GetDeletionTimestamp() == nil {
				_ = c.discard(key, metav1.DeleteOptions{})
			}
		}
		left += len(c.keysIn(at.key.Name))
	}
	if left == 0 && len(space.GetFinalizers()) == 0 {
		at.in.dissolve(at.key)
	}
}

// dissolve deletes a namespace that is empty.
func (t *table[T]) dissolve(key types.NamespacedName) {
	if old := t.get(key); old != nil && old.obj.GetDeletionTimestamp() != nil && len(old.obj.GetFinalizers()) == 0 {
		t.commit(old, nil) // when it fails somebody wrote, and it is looked at again
	}
}

// keysIn lists a namespace.
func (t *table[T]) keysIn(namespace string) []types.NamespacedName {
	t.server.mu.Lock()
	defer t.server.mu.Unlock()
	found := t.gather(namespace, types.NamespacedName{Namespace: namespace})
	out := make([]types.NamespacedName, len(found))
	for i, v := range found {
		out[i] = v.key
	}
	return out
}

func (s *Server) collections() []collection {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]collection(nil), s.order...)
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

// begin is what a new namespace gets.
func (t *table[T]) begin(obj T) {
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
