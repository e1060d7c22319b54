package fake_test

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/fake"
)

func TestBuilders(t *testing.T) {
	s := newServer(t, fake.Options{})
	shared := map[string]string{"app": "web"}
	owner := must(fake.Create(s, fake.Object(&pod{}, "a", "owner")))(t)
	p := fake.Object(&pod{ObjectMeta: metav1.ObjectMeta{Labels: shared}}, "a", "p",
		fake.Labels("tier", "1", "odd"), fake.Annotations("note", "x"), fake.Finalizers("example.com/f"), fake.Finalizers("example.com/g"), fake.OwnedBy(owner))
	p = must(fake.Create(s, p))(t)
	if fmt.Sprint(p.Labels, p.Annotations, p.Finalizers) != "map[app:web odd: tier:1] map[note:x] [example.com/f example.com/g]" || len(shared) != 1 {
		t.Errorf("built %v %v %v from %v", p.Labels, p.Annotations, p.Finalizers, shared)
	}
	if ref := metav1.GetControllerOf(p); ref == nil || ref.Kind != "Pod" || ref.APIVersion != "v1" || ref.UID != owner.UID || !*ref.BlockOwnerDeletion {
		t.Errorf("owner %+v", ref)
	}
	many := must(fake.CreateMany(s, 3, func(i int) *pod { return fake.Object(&pod{Spec: podSpec{Node: fmt.Sprint(i)}}, "b", "") }))(t)
	if len(many) != 3 || many[2].Name != "0002" || many[2].Spec.Node != "2" || many[2].UID == "" {
		t.Errorf("many: %+v", many)
	}
	if some, err := fake.CreateMany(s, 3, func(i int) *pod { return fake.Object(&pod{}, "b", fmt.Sprintf("000%d", 3-i)) }); err == nil || len(some) != 1 {
		t.Errorf("%d created, %v", len(some), err)
	}
	if _, err := fake.CreateMany(s, 1, func(int) *pod { return nil }); err == nil {
		t.Error("nil is created")
	}
}
