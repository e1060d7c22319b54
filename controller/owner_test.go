package controller_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/kind"
)

func TestSetController(t *testing.T) {
	owner := newSite("one")
	owner.UID = "1"
	obj := newGadget("two", "")
	other := metav1.OwnerReference{APIVersion: "v1", Kind: "Node", Name: "n", UID: "2"}
	obj.OwnerReferences = []metav1.OwnerReference{other}
	shared := obj.OwnerReferences[:1:1]
	for range 2 {
		if err := controller.SetController(obj, owner, siteKinds); err != nil {
			t.Fatal(err)
		}
		yes := true
		want := metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Site", Name: "one", UID: "1", Controller: &yes, BlockOwnerDeletion: &yes}
		if refs := obj.OwnerReferences; len(refs) != 2 || refs[0] != other || !reflect.DeepEqual(refs[1], want) {
			t.Errorf("references: %v", refs)
		}
	}
	if err := controller.SetController(obj, owner, kind.Of[*site](siteKind.GroupKind().WithVersion("v2").GroupVersion(), "sites")); err != nil || obj.OwnerReferences[1].APIVersion != "example.com/v2" {
		t.Errorf("%v: %v", err, obj.OwnerReferences)
	}
	// An owner that is not the controller becomes it.
	obj.OwnerReferences[1].Controller = nil
	if err := controller.SetController(obj, owner, siteKinds); err != nil || len(obj.OwnerReferences) != 2 || !metav1.IsControlledBy(obj, owner) {
		t.Errorf("%v: %v", err, obj.OwnerReferences)
	}
	// An owner with several references gets one: servers refuse two controllers.
	again := obj.OwnerReferences[1]
	plain := again
	plain.Controller = nil
	for _, refs := range [][]metav1.OwnerReference{{plain, other, again}, {again, other, again}, {again, other, plain, plain}} {
		obj.OwnerReferences = refs
		if err := controller.SetController(obj, owner, siteKinds); err != nil || !reflect.DeepEqual(obj.OwnerReferences, []metav1.OwnerReference{again, other}) {
			t.Errorf("%v: %v", err, obj.OwnerReferences)
		}
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
		kind  *kind.Kind[*site]
	}{
		"no kind":                {in("a"), owner, kind.OfResource[*site](schema.GroupVersionResource{Version: "v1", Resource: "sites"})},
		"no kind of this group":  {in("a"), without(func(o *site) { o.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Site"} }), kind.OfResource[*site](siteKinds.GroupVersionResource())},
		"no version":             {in("a"), owner, &kind.Kind[*site]{GroupVersionKind: schema.GroupVersionKind{Kind: "Site"}}},
		"no UID":                 {in("a"), without(func(o *site) { o.UID = "" }), siteKinds},
		"no name":                {in("a"), without(func(o *site) { o.Name = "" }), siteKinds},
		"another namespace":      {in("b"), owner, siteKinds},
		"a cluster-scoped child": {in(""), owner, siteKinds},
		"another kind":           {in("a"), without(func(o *site) { o.TypeMeta = metav1.TypeMeta{APIVersion: "example.com/v1", Kind: "Page"} }), siteKinds},
		"another group":          {in("a"), without(func(o *site) { o.TypeMeta = metav1.TypeMeta{APIVersion: "example.org/v1", Kind: "Site"} }), siteKinds},
	} {
		if err := controller.SetController(test.obj, test.owner, test.kind); !errors.Is(err, controller.ErrOwner) || len(test.obj.OwnerReferences) > 0 {
			t.Errorf("%s: %v, %v", name, err, test.obj.OwnerReferences)
		}
	}
	// A kind of which only the resource is known takes its name from the object.
	named := without(func(o *site) { o.TypeMeta = metav1.TypeMeta{APIVersion: "example.com/v1", Kind: "Site"} })
	child := in("a")
	if err := controller.SetController(child, named, kind.OfResource[*site](siteKinds.GroupVersionResource())); err != nil || child.OwnerReferences[0].Kind != "Site" {
		t.Errorf("a kind without a name: %v, %v", err, child.OwnerReferences)
	}
	cluster := without(func(o *site) { o.Namespace = "" })
	for _, namespace := range []string{"", "b"} {
		if err := controller.SetController(in(namespace), cluster, siteKinds); err != nil {
			t.Errorf("a cluster-scoped owner of an object in %q: %v", namespace, err)
		}
	}
	owned := in("a")
	if err := controller.SetController(owned, owner, siteKinds); err != nil {
		t.Fatal(err)
	}
	var taken *controller.OwnedError
	err := controller.SetController(owned, without(func(o *site) { o.UID = "3" }), siteKinds)
	if !errors.As(err, &taken) || taken.Object != "a/two" || taken.Controller.UID != "1" || owned.OwnerReferences[0].UID != "1" {
		t.Errorf("%v", err)
	}
}

// What somebody else has made is refused, and taken over only by Adopt.
func TestAdopt(t *testing.T) {
	server, c := sites(t)
	owner := newSite("owner")
	owner.UID = "1"
	stranger := must(fake.Create(server, newSite("one")))(t)
	reach := func(own func(metav1.Object, *site, *kind.Kind[*site]) error) error {
		_, _, err := controller.CreateOrUpdate(t.Context(), c, newSite("one"), func(s *site) error {
			s.Spec.Size = 7
			return own(s, owner, siteKinds)
		})
		return err
	}
	var taken *controller.OwnedError
	if err := reach(controller.SetController[*site]); !errors.As(err, &taken) || taken.Object != "a/one" || taken.Controller.UID != "" || !strings.Contains(err.Error(), "Adopt") {
		t.Errorf("a stranger's object: %v", err)
	}
	if now := stored(t, server, "one"); now.ResourceVersion != stranger.ResourceVersion {
		t.Errorf("a stranger's object was changed: %+v", now)
	}
	if err := reach(controller.Adopt[*site]); err != nil || !metav1.IsControlledBy(stored(t, server, "one"), owner) {
		t.Errorf("Adopt: %v", err)
	}
	if err := reach(controller.SetController[*site]); err != nil {
		t.Errorf("an own object: %v", err)
	}
	owner.UID = "2"
	if err := reach(controller.Adopt[*site]); !errors.As(err, &taken) || taken.Controller.UID != "1" {
		t.Errorf("an object of another controller: %v", err)
	}
}
