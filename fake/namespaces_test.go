package fake_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/kind"
)

type namespace struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Status            podStatus `json:"status,omitzero"`
}

func (n *namespace) DeepCopyObject() runtime.Object {
	c := *n
	n.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	return &c
}

func namespaceServer(t testing.TB) *fake.Server {
	t.Helper()
	s := newServer(t, fake.Options{KeepNamespaces: true})
	check(t, fake.Register(s, kind.Of[*namespace](v1, "namespaces").Cluster(), fake.Rules{}))
	return s
}

func TestNamespaces(t *testing.T) {
	s := namespaceServer(t)
	if st := wantStatus(t, second(fake.Create(s, newPod("a", "p"))), 404, metav1.StatusReasonNotFound); st.Message != `namespaces "a" not found` {
		t.Errorf("message %q", st.Message)
	}
	for _, n := range []string{"a", "b"} {
		made := must(fake.Create(s, &namespace{ObjectMeta: metav1.ObjectMeta{Name: n}}))(t)
		if made.Status.Phase != "Active" || made.Labels["kubernetes.io/metadata.name"] != n {
			t.Errorf("created %+v", made)
		}
		must(fake.Create(s, newPod(n, "p")))(t)
	}
	must(fake.Create(s, &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "node"}}))(t)
	held := newPod("a", "held")
	held.Finalizers = []string{"a/b"}
	must(fake.Create(s, held))(t)

	gone := must(fake.Delete[*namespace](s, key("", "a")))(t)
	if gone.Status.Phase != "Terminating" || gone.DeletionTimestamp == nil {
		t.Errorf("deleted %+v", gone)
	}
	wantState(t, s, "held deleting a/b", "p") // b's
	st := wantStatus(t, second(fake.Create(s, newPod("a", "q"))), 403, metav1.StatusReasonForbidden)
	if st.Message != `pods "q" is forbidden: unable to create new content in namespace a because it is being terminated` ||
		len(st.Details.Causes) != 1 || st.Details.Causes[0].Type != "NamespaceTerminating" {
		t.Errorf("status %+v", st)
	}
	must(fake.Patch[*namespace](s, key("", "a"), []byte(`{"metadata":{"labels":{"x":"y"}}}`)))(t) // does not end it
	must(fake.Get[*namespace](s, key("", "a")))(t)
	must(fake.Patch[*pod](s, key("a", "held"), []byte(`{"metadata":{"finalizers":null}}`)))(t)
	wantStatus(t, second(fake.Get[*namespace](s, key("", "a"))), 404, metav1.StatusReasonNotFound)
	must(fake.Delete[*namespace](s, key("", "b")))(t)
	wantStatus(t, second(fake.Get[*namespace](s, key("", "b"))), 404, metav1.StatusReasonNotFound)
	wantState(t, s)
}

func TestNamespaceWithFinalizer(t *testing.T) {
	s := namespaceServer(t)
	must(fake.Create(s, &namespace{ObjectMeta: metav1.ObjectMeta{Name: "a", Finalizers: []string{"a/b"}}}))(t)
	must(fake.Create(s, newPod("a", "p")))(t)
	must(fake.Delete[*namespace](s, key("", "a")))(t)
	wantState(t, s)
	must(fake.Patch[*namespace](s, key("", "a"), []byte(`{"metadata":{"finalizers":null}}`)))(t)
	wantStatus(t, second(fake.Get[*namespace](s, key("", "a"))), 404, metav1.StatusReasonNotFound)
}

func TestImmortalNamespaces(t *testing.T) {
	s := namespaceServer(t)
	must(fake.Create(s, &namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}}))(t)
	st := wantStatus(t, second(fake.Delete[*namespace](s, key("", "default"))), 403, metav1.StatusReasonForbidden)
	if st.Message != `namespaces "default" is forbidden: this namespace may not be deleted` {
		t.Errorf("message %q", st.Message)
	}
}

func TestNamespacesUntyped(t *testing.T) {
	s := newServer(t, fake.Options{KeepNamespaces: true})
	wantStatus(t, second(fake.Create(s, newPod("a", "p"))), 404, metav1.StatusReasonNotFound) // none are served
	check(t, fake.Register(s, kind.Of[*unstructured.Unstructured](v1, "namespaces").Named("Namespace").Cluster(), fake.Rules{}))
	n := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "a"}}}
	made := must(fake.Create(s, n))(t)
	if phase, _, _ := unstructured.NestedString(made.Object, "status", "phase"); phase != "Active" {
		t.Errorf("phase %q", phase)
	}
	must(fake.Create(s, newPod("a", "p")))(t)
	must(fake.Delete[*unstructured.Unstructured](s.Resource(schema.GroupResource{Resource: "namespaces"}), key("", "a")))(t)
	wantState(t, s)
}
