package controller_test

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/fake"
)

// TestHelperErrors has the texts of the helpers' errors: each names the package, the object and the
// cause.
func TestHelperErrors(t *testing.T) {
	ctx := t.Context()
	server, c := sites(t)
	must(fake.Create(server, newSite("one")))(t)
	one := stored(t, server, "one")
	one.TypeMeta = metav1.TypeMeta{}
	kept := one.DeepCopy()
	kept.TypeMeta = metav1.TypeMeta{APIVersion: "example.com/v1", Kind: "Site"}
	owner := newSite("owner")
	owner.UID = "7"
	update := func(s *site, edit func(*site) error) error {
		_, _, err := controller.CreateOrUpdate(ctx, c, s, edit)
		return err
	}
	status := func(s *site, edit func(*site)) error { return only(controller.PatchStatus(ctx, c, s, edit)) }
	finalize := func(s *site, name string, cleanup func(context.Context, *site) error) error {
		_, _, err := controller.Finalize(ctx, c, s, name, cleanup)
		return err
	}
	_, _, unmanaged := controller.Apply(ctx, c, one, one, "")
	for want, err := range map[string]error{
		"controller: *controller_test.site a/one: the function that edits the object is nil":                                                                                      update(one, nil),
		"controller: Site a/one: the function that edits the object is nil":                                                                                                       status(kept, nil),
		"controller: *controller_test.site a/: object has no metadata.name":                                                                                                       update(newSite(""), want),
		"controller: Site a/one: the edit changed the object's name, namespace or UID":                                                                                            status(kept, func(s *site) { s.Name = "two" }),
		"controller: Site a/one: the edit of a status changed another field: spec":                                                                                                status(kept, func(s *site) { s.Spec.Size = 9 }),
		"controller: *controller_test.site a/new: the object has no resourceVersion: take it from the server or a cache":                                                          status(newSite("new"), func(*site) {}),
		"controller: *controller_test.site a/one: the function for the cleanup is nil":                                                                                            finalize(one, hold, nil),
		"controller: *controller_test.site a/one: the finalizer has no name":                                                                                                      finalize(one, "", func(context.Context, *site) error { return nil }),
		"controller: apply of a *controller_test.site: the field manager has no name":                                                                                             unmanaged,
		"controller: Site a/one was made by somebody else and has no controller: delete it, or use another name or Adopt":                                                         controller.SetController(kept, owner, siteKinds),
		`controller: Site a/one: not a possible owner: Site "a/none" has no name or UID: take it from the server or a cache`:                                                      controller.SetController(kept, newSite("none"), siteKinds),
		"controller: owner reference to a Site: a *controller_test.site: the object is nil: look at the error of the call that returned it, or at ok of Cached: nothing was sent": controller.SetController(kept, nil, siteKinds),
	} {
		if err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}
