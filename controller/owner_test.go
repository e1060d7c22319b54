package controller_test

import (
	"errors"
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/controller"
)

func TestSetController(t *testing.T) {
	owner := newSite("one")
	owner.UID = "1"
	obj := newGadget("two", "")
	other := metav1.OwnerReference{APIVersion: "v1", Kind: "Node", Name: "n", UID: "2"}
	obj.OwnerReferences = []metav1.OwnerReference{other}
	shared := obj.OwnerReferences[:1:1]
	for range 2 {
		if err := controller.SetController(obj, owner, siteKind); err != nil {
			t.Fatal(err)
		}
		yes := true
		want := metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Site", Name: "one", UID: "1", Controller: &yes, BlockOwnerDeletion: &yes}
		if refs := obj.OwnerReferences; len(refs) != 2 || refs[0] != other || !reflect.DeepEqual(refs[1], want) {
			t.Errorf("references: %v", refs)
		}
	}
	if err := controller.SetController(obj, owner, siteKind.GroupKind().WithVersion("v2")); err != nil || obj.OwnerReferences[1].APIVersion != "example.com/v2" {
		t.Errorf("%v: %v", err, obj.OwnerReferences)
	}
	// An owner that is not the controller becomes it.
	obj.OwnerReferences[1].Controller = nil
	if err := controller.SetController(obj, owner, siteKind); err != nil || len(obj.OwnerReferences) != 2 || !metav1.IsControlledBy(obj, owner) {
		t.Errorf("%v: %v", err, obj.OwnerReferences)
	}
	if !reflect.DeepEqual(shared[0], other) {
		t.Errorf("the list of references was changed in place: %v", shared)
	}
}

func TestSetControllerErrors(t *testing.T) {
	owner := newSite("one")
	owner.UID = "1"
	without := func(change func(*site)) *site {
		o := owner.DeepCopy()
		change(o)
		return o
	}
	in := func(namespace string) *gadget {
		g := newGadget("two", "")
		g.Namespace = namespace
		return g
	}
	for name, test := range map[string]struct {
		obj   *gadget
		owner *site
		kind  schema.GroupVersionKind
	}{
		"no kind":                {in("a"), owner, schema.GroupVersionKind{Version: "v1"}},
		"no version":             {in("a"), owner, schema.GroupVersionKind{Kind: "Site"}},
		"no UID":                 {in("a"), without(func(o *site) { o.UID = "" }), siteKind},
		"no name":                {in("a"), without(func(o *site) { o.Name = "" }), siteKind},
		"another namespace":      {in("b"), owner, siteKind},
		"a cluster-scoped child": {in(""), owner, siteKind},
		"another kind":           {in("a"), without(func(o *site) { o.TypeMeta = metav1.TypeMeta{APIVersion: "example.com/v1", Kind: "Page"} }), siteKind},
		"another group":          {in("a"), without(func(o *site) { o.TypeMeta = metav1.TypeMeta{APIVersion: "example.org/v1", Kind: "Site"} }), siteKind},
	} {
		if err := controller.SetController(test.obj, test.owner, test.kind); !errors.Is(err, controller.ErrOwner) || len(test.obj.OwnerReferences) > 0 {
			t.Errorf("%s: %v, %v", name, err, test.obj.OwnerReferences)
		}
	}
	cluster := without(func(o *site) { o.Namespace = "" })
	for _, namespace := range []string{"", "b"} {
		if err := controller.SetController(in(namespace), cluster, siteKind); err != nil {
			t.Errorf("a cluster-scoped owner of an object in %q: %v", namespace, err)
		}
	}
	owned := in("a")
	if err := controller.SetController(owned, owner, siteKind); err != nil {
		t.Fatal(err)
	}
	var taken *controller.OwnedError
	err := controller.SetController(owned, without(func(o *site) { o.UID = "3" }), siteKind)
	if !errors.As(err, &taken) || taken.Object != "a/two" || taken.Controller.UID != "1" || owned.OwnerReferences[0].UID != "1" {
		t.Errorf("%v", err)
	}
}
