package fake_test

import (
	"context"
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/fake"
)

// TestAdmissionInAnotherVersion: a hook sees a write in another version, and changes it there.
func TestAdmissionInAnotherVersion(t *testing.T) {
	s := fake.New(fake.Options{Mutate: func(_ context.Context, a *fake.Admission) error {
		if all := a.Versions(); len(all) != 2 || all[0].Version != "v1" || all[1] != exampleV1.WithResource("pods") {
			t.Errorf("versions %v", all)
		}
		if _, err := a.In(schema.GroupVersionResource{Version: "v2", Resource: "pods"}); !errors.Is(err, fake.ErrNotRegistered) {
			t.Errorf("a version that does not exist: %v", err)
		}
		sent, err := a.In(exampleV1.WithResource("pods"))
		if err != nil {
			return err
		}
		if sent.Kind.Group != "example.com" || sent.Old != nil && sent.Old.(*host).Spec.Place != "o" {
			t.Errorf("in the other version: %+v", sent)
		}
		if sent.Object == nil {
			return nil // a deletion
		}
		sent.Object.(*host).Spec.Words = []string{"changed"}
		if p, ok := a.Object.(*pod); ok && len(p.Spec.Args) > 0 {
			t.Error("the object is no copy")
		}
		return a.Take(sent.Object)
	}})
	check(t, fake.Define(s, sharedPod, sharedHost(exampleV1)))
	hosts := clientOf(t, s, hostKind, "")
	pods := clientOf(t, s, podKind, "")
	h := must(hosts.Create(t.Context(), placed("h", "o"), metav1.CreateOptions{}))(t)
	p := newPod("a", "p")
	p.Spec.Node = "o"
	p = must(pods.Create(t.Context(), p, metav1.CreateOptions{}))(t)
	if len(h.Spec.Words) != 1 || len(p.Spec.Args) != 1 || p.Spec.Args[0] != "changed" || p.Spec.Node != "o" {
		t.Errorf("stored %+v and %+v", h.Spec, p.Spec)
	}
	p.Spec.Args = nil
	if p = must(pods.Update(t.Context(), p, metav1.UpdateOptions{}))(t); len(p.Spec.Args) != 1 {
		t.Errorf("updated %+v", p.Spec)
	}
	check(t, pods.Delete(t.Context(), key("a", "p"), metav1.DeleteOptions{}))
	p = newPod("a", "q")
	p.Spec.Node = "nowhere"
	wantStatus(t, errorOf(pods.Create(t.Context(), p, metav1.CreateOptions{})), 403, metav1.StatusReasonForbidden)
}
