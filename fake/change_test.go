package fake_test

import (
	"errors"
	"slices"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/fake"
)

// TestChange: one write changes the spec, the status and the labels, and counts no generation.
func TestChange(t *testing.T) {
	s := statusServer(t, fake.Options{})
	first := must(fake.Create(s, newPod("a", "x")))(t)
	change := func(p *pod) error {
		p.Spec.Node, p.Status.Phase, p.Labels = "n", "Bound", map[string]string{"l": "m"}
		return nil
	}
	now := must(fake.Change(s, key("a", "x"), change))(t)
	if now.Spec.Node != "n" || now.Status.Phase != "Bound" || now.Labels["l"] != "m" || now.Generation != first.Generation {
		t.Errorf("changed to %+v", now)
	}
	if again := must(fake.Change(s, key("a", "x"), change))(t); again.ResourceVersion != now.ResourceVersion {
		t.Errorf("a change of nothing wrote version %s after %s", again.ResourceVersion, now.ResourceVersion)
	}
	refused := errors.New("no")
	if _, err := fake.Change(s, key("a", "x"), func(p *pod) error { p.Spec.Node = "other"; return refused }); err != refused {
		t.Errorf("error %v", err)
	}
	if _, err := fake.Change(s, key("a", "y"), change); !apierrors.IsNotFound(err) {
		t.Errorf("error %v", err)
	}
	if p := must(fake.Get[*pod](s, key("a", "x")))(t); p.Spec.Node != "n" {
		t.Errorf("a change that was refused left the node %q", p.Spec.Node)
	}
}

// TestChangeStatus: a controller's write of the status leaves the rest alone and notes who it was.
func TestChangeStatus(t *testing.T) {
	s, _ := appServer(t, optionsFor(true))
	must(fake.Create(s, &app{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "x"}, Spec: appSpec{Args: []string{"x"}}}))(t)
	change := func(a *app) error {
		a.Spec.On, a.Status.Phase = true, "Ready"
		return nil
	}
	now := must(fake.ChangeStatus(s, key("a", "x"), "controller", change))(t)
	want := []string{`controller Update status {"f:status":{".":{},"f:phase":{}}}`, `unknown Update  {"f:spec":{"f:args":{}}}`}
	if now.Spec.On || now.Status.Phase != "Ready" || !slices.Equal(slices.Sorted(slices.Values(owners(now))), want) {
		t.Errorf("owners %q of %+v", owners(now), now)
	}
	now = must(fake.Change(s, key("a", "x"), change))(t)
	if !now.Spec.On || !slices.Equal(slices.Sorted(slices.Values(owners(now))), want) {
		t.Errorf("owners %q of %+v", owners(now), now)
	}
	if _, err := fake.ChangeStatus(newServer(t, fake.Options{}), key("a", "x"), "controller", func(*pod) error { return nil }); !apierrors.IsNotFound(err) {
		t.Errorf("without the subresource: %v", err)
	}
}

// TestChangesAtOnce: no change gets lost.
func TestChangesAtOnce(t *testing.T) {
	s := statusServer(t, fake.Options{})
	must(fake.Create(s, newPod("a", "x")))(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 20 {
				if _, err := fake.Change(s, key("a", "x"), func(p *pod) error { p.Spec.Ports = append(p.Spec.Ports, 1); return nil }); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if p := must(fake.Get[*pod](s, key("a", "x")))(t); len(p.Spec.Ports) != 160 {
		t.Errorf("%d changes of 160", len(p.Spec.Ports))
	}
}
