package controller_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/reflector"
)

// want is an edit as a controller writes it: it sets what it cares about.
func want(s *site) error {
	s.Spec.Size = 1<<60 + 1 // no float64 holds it
	s.Spec.Hosts = []string{"one", "two"}
	if s.Spec.Parts == nil {
		s.Spec.Parts = map[string]string{}
	}
	s.Spec.Parts["web"] = "on"
	delete(s.Spec.Parts, "old")
	return nil
}

func TestCreateOrUpdate(t *testing.T) {
	server, c := sites(t)
	for _, step := range []struct {
		name     string
		before   func()
		hook     func(string) error
		outcome  controller.Outcome
		requests string
	}{
		{"missing", nil, nil, controller.Created, "get create"},
		{"there", nil, nil, controller.Unchanged, "get"},
		{"labelled by others", func() { label(t, server, "one", "x") }, nil, controller.Unchanged, "get"},
		{"different", func() {
			s := stored(t, server, "one")
			s.Spec = siteSpec{Hosts: []string{"two", "one"}, Parts: map[string]string{"old": "1", "theirs": "2"}}
			must(fake.Update(server, s))(t)
		}, nil, controller.Updated, "get patch"},
		{"changed meanwhile", func() {
			must(fake.Patch[*site](server, key{Namespace: "a", Name: "one"}, []byte(`{"spec":{"size":2}}`)))(t)
		},
			once("patch", func() { label(t, server, "one", "y") }), controller.Updated, "get patch get patch"},
		{"mended meanwhile", func() {
			must(fake.Patch[*site](server, key{Namespace: "a", Name: "one"}, []byte(`{"spec":{"size":2}}`)))(t)
		},
			once("patch", func() {
				s := stored(t, server, "one")
				want(s)
				must(fake.Update(server, s))(t)
			}), controller.Unchanged, "get patch get"},
		{"deleted meanwhile", func() {
			must(fake.Patch[*site](server, key{Namespace: "a", Name: "one"}, []byte(`{"spec":{"size":2}}`)))(t)
		},
			once("patch", func() { remove(t, server, "one") }), controller.Created, "get patch get create"},
		{"replaced meanwhile", func() {
			must(fake.Patch[*site](server, key{Namespace: "a", Name: "one"}, []byte(`{"spec":{"size":2}}`)))(t)
		},
			once("patch", func() { replace(t, server, "one") }), controller.Updated, "get patch get get patch"},
		{"created meanwhile", func() { remove(t, server, "one") },
			once("create", func() { must(fake.Create(server, newSite("one")))(t) }), controller.Updated, "get create get patch"},
	} {
		if step.before != nil {
			step.before()
		}
		c.before = step.hook
		got, outcome, err := controller.CreateOrUpdate(t.Context(), c, newSite("one"), want)
		if err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if sent := c.take(); outcome != step.outcome || sent != step.requests {
			t.Errorf("%s: %v by %q, want %v by %q", step.name, outcome, sent, step.outcome, step.requests)
		}
		s := stored(t, server, "one")
		if s.Spec.Size != 1<<60+1 || !slices.Equal(s.Spec.Hosts, []string{"one", "two"}) || s.Spec.Parts["web"] != "on" || s.Spec.Parts["old"] != "" {
			t.Errorf("%s: stored %+v", step.name, s.Spec)
		}
		if got.ResourceVersion != s.ResourceVersion {
			t.Errorf("%s: returned version %s, stored is %s", step.name, got.ResourceVersion, s.ResourceVersion)
		}
		if step.name == "different" && (s.Spec.Parts["theirs"] != "2" || s.Labels["by"] != "x") {
			t.Errorf("the fields of others are gone: %+v", s)
		}
	}
}

// A patch has only what changed, so that fields which the type does not have stay in the object.
func TestPatchIsMinimal(t *testing.T) {
	server, c := sites(t)
	begin := newSite("one")
	begin.Spec = siteSpec{Hosts: []string{"x"}, Parts: map[string]string{"a": "1", "b": "2"}}
	must(fake.Create(server, begin))(t)
	last := &lastPatch{requests: c}
	_, _, err := controller.CreateOrUpdate(t.Context(), last, newSite("one"), func(s *site) error {
		s.Spec.Size = 3
		s.Spec.Hosts = []string{} // not the nil that an omitted list becomes
		s.Spec.Parts["a"] = "2"
		delete(s.Spec.Parts, "b")
		s.ResourceVersion = "" // no escape from the precondition
		return nil
	})
	want := `{"metadata":{"resourceVersion":"2"},"spec":{"hosts":null,"parts":{"a":"2","b":null},"size":3}}`
	if err != nil || string(last.data) != want {
		t.Errorf("the patch is %s, want %s: %v", last.data, want, err)
	}
}

// lastPatch keeps the data of the last patch.
type lastPatch struct {
	*requests[*site]
	data []byte
}

func (l *lastPatch) Patch(ctx context.Context, key types.NamespacedName, pt types.PatchType, data []byte, opts metav1.PatchOptions) (*site, error) {
	l.data = data
	return l.requests.Patch(ctx, key, pt, data, opts)
}

func TestWriteErrors(t *testing.T) {
	server, c := sites(t)
	ctx := t.Context()
	one := must(fake.Create(server, newSite("one")))(t)
	broken := errors.New("broken")
	edit := func(s *site) error { s.Spec.Size++; return nil }
	fails := func(verb string, err error) func(string) error {
		return func(v string) error {
			if v == verb {
				return err
			}
			return nil
		}
	}
	status := func(f func(*site)) error { _, err := controller.PatchStatus(ctx, c, one, f); return err }
	for _, test := range []struct {
		name     string
		hook     func(string) error
		call     func() error
		want     func(error) bool
		requests string
	}{
		{"no edit", nil, func() error { return third(controller.CreateOrUpdate(ctx, c, newSite("one"), nil)) }, is(controller.ErrNoEdit), ""},
		{"no name", nil, func() error { return third(controller.CreateOrUpdate(ctx, c, newSite(""), edit)) }, is(reflector.ErrNoName), ""},
		{"renamed", nil, func() error {
			return third(controller.CreateOrUpdate(ctx, c, newSite("one"), func(s *site) error { s.Name = "two"; return nil }))
		}, is(controller.ErrRenamed), "get"},
		{"created under another name", nil, func() error {
			return third(controller.CreateOrUpdate(ctx, c, newSite("none"), func(s *site) error { s.Namespace = "b"; return nil }))
		}, is(controller.ErrRenamed), "get"},
		{"edit fails", nil, func() error {
			return third(controller.CreateOrUpdate(ctx, c, newSite("one"), func(*site) error { return broken }))
		}, is(broken), "get"},
		{"edit fails before a create", nil, func() error {
			return third(controller.CreateOrUpdate(ctx, c, newSite("none"), func(*site) error { return broken }))
		}, is(broken), "get"},
		{"get fails", fails("get", broken), func() error { return third(controller.CreateOrUpdate(ctx, c, newSite("one"), edit)) }, is(broken), "get"},
		{"patch fails", fails("patch", broken), func() error { return third(controller.CreateOrUpdate(ctx, c, newSite("one"), edit)) }, is(broken), "get patch"},
		{"create fails", fails("create", broken), func() error { return third(controller.CreateOrUpdate(ctx, c, newSite("none"), edit)) }, is(broken), "get create"},
		{"conflicts without end", fails("patch", conflict()), func() error { return third(controller.CreateOrUpdate(ctx, c, newSite("one"), edit)) },
			apierrors.IsConflict, "get patch get patch get patch get patch get patch get"},
		{"a cache that never learns", fails("create", apierrors.NewAlreadyExists(schema.GroupResource{}, "none")),
			func() error { return third(controller.CreateOrUpdate(ctx, c, newSite("none"), edit)) }, apierrors.IsAlreadyExists,
			"get create get create get create get create get create"},
		{"no status function", nil, func() error { return status(nil) }, is(controller.ErrNoEdit), ""},
		{"not from a cache", nil, func() error { return second(controller.PatchStatus(ctx, c, newSite("one"), func(*site) {})) }, is(controller.ErrNoVersion), ""},
		{"not the status", nil, func() error { return status(func(s *site) { s.Spec.Size, s.Status.Ready = 1, 1 }) }, is(controller.ErrNotStatus), ""},
		{"status fails", fails("status", broken), func() error { return status(func(s *site) { s.Status.Ready = 7 }) }, is(broken), "status"},
		{"status conflicts without end", fails("status", conflict()), func() error { return status(func(s *site) { s.Status.Ready = 7 }) },
			apierrors.IsConflict, "status get status get status get status get status get"},
	} {
		c.before = test.hook
		err := test.call()
		if sent := c.take(); !test.want(err) || sent != test.requests {
			t.Errorf("%s: %v after %q, want %q", test.name, err, sent, test.requests)
		}
	}
	if now := stored(t, server, "one"); now.ResourceVersion != one.ResourceVersion {
		t.Errorf("something was written: %+v", now)
	}
}

func TestPatchStatus(t *testing.T) {
	server, c := sites(t)
	first := must(fake.Create(server, newSite("one")))(t)
	set := func(ready int64) func(*site) { return func(s *site) { s.Status.Ready = ready } }
	for _, step := range []struct {
		name     string
		obj      func() *site
		hook     func(string) error
		edit     func(*site)
		ready    int64
		requests string
	}{
		{"changed", func() *site { return first }, nil, set(1), 1, "status"},
		{"the same", func() *site { return stored(t, server, "one") }, nil, set(1), 1, ""},
		{"a cache that is behind", func() *site { return first }, nil, set(1), 1, "status get"},
		{"changed meanwhile", func() *site { return stored(t, server, "one") },
			once("status", func() { label(t, server, "one", "x") }), set(2), 2, "status get status"},
	} {
		c.before = step.hook
		got, err := controller.PatchStatus(t.Context(), c, step.obj(), step.edit)
		if err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if sent, s := c.take(), stored(t, server, "one"); sent != step.requests || s.Status.Ready != step.ready || got.ResourceVersion != s.ResourceVersion {
			t.Errorf("%s: %d ready by %q, want %d by %q; returned version %s, stored %s",
				step.name, s.Status.Ready, sent, step.ready, step.requests, got.ResourceVersion, s.ResourceVersion)
		}
	}
	if first.Status.Ready != 0 {
		t.Error("the object of the cache was changed")
	}
	c.before = nil
	old := stored(t, server, "one")
	replace(t, server, "one")
	if _, err := controller.PatchStatus(t.Context(), c, old, set(9)); err != nil || c.take() != "status get" || stored(t, server, "one").Status.Ready != 0 {
		t.Errorf("replaced: %v", err)
	}
	remove(t, server, "one")
	if _, err := controller.PatchStatus(t.Context(), c, old, set(9)); err != nil || c.take() != "status get" {
		t.Errorf("gone: %v", err)
	}
}

// An API server answers a status write alike for an object that is gone and for a kind without a
// status.
func TestKindWithoutStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fake.New(fake.Options{})
		plain := kind.Of[*site](siteKinds.GroupVersion(), "sites")
		if err := fake.Register(server, plain, fake.Rules{}); err != nil {
			t.Fatal(err)
		}
		h := controller.Open(client.Connection{URL: fake.URL, HTTP: server.Client()}, plain)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- h.Run(ctx) }()
		one := must(h.Create(ctx, newSite("one"), metav1.CreateOptions{}))(t)
		synctest.Wait()
		check := func(what string, err error) {
			t.Helper()
			if _, ok := h.Cached(key{Namespace: one.Namespace, Name: one.Name}); err == nil || !ok || len(h.List("", nil)) != 1 {
				t.Errorf("%s: %v; the object is in reads: %t", what, err, ok)
			}
		}
		_, err := controller.PatchStatus(ctx, h, one, func(s *site) { s.Status.Ready = 5 })
		if check("PatchStatus", err); !errors.Is(err, controller.ErrNoStatus) || !strings.Contains(err.Error(), "sites") {
			t.Errorf("PatchStatus: %v", err)
		}
		_, err = h.UpdateStatus(ctx, one, metav1.UpdateOptions{})
		check("UpdateStatus", err)
		cancel()
		<-done
	})
}

func TestDelete(t *testing.T) {
	server, c := sites(t)
	held := newSite("held")
	held.Finalizers = []string{"example.com/hold"}
	must(fake.Create(server, held))(t)
	held = must(fake.Delete[*site](server, key{Namespace: "a", Name: "held"}))(t)
	one := must(fake.Create(server, newSite("one")))(t)
	broken := errors.New("broken")
	for _, test := range []struct {
		name     string
		before   func()
		obj      *site
		opts     metav1.DeleteOptions
		hook     func(string) error
		want     func(error) bool
		requests string
	}{
		{"never there", nil, newSite("none"), metav1.DeleteOptions{}, nil, is(nil), "delete"},
		{"terminating", nil, held, metav1.DeleteOptions{}, nil, is(nil), ""},
		{"replaced", func() { replace(t, server, "one") }, one, metav1.DeleteOptions{}, nil, is(nil), "delete get"},
		{"fails", nil, one, metav1.DeleteOptions{}, func(string) error { return broken }, is(broken), "delete"},
		{"another precondition", nil, nil, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: new("1")}}, nil, apierrors.IsConflict, "delete get"},
		{"there", nil, nil, metav1.DeleteOptions{}, nil, is(nil), "delete"},
		{"gone", nil, one, metav1.DeleteOptions{}, nil, is(nil), "delete"},
	} {
		if test.before != nil {
			test.before()
		}
		if test.obj == nil {
			test.obj = stored(t, server, "one")
		}
		c.before = test.hook
		err := controller.Delete(t.Context(), c, test.obj, test.opts)
		if sent := c.take(); !test.want(err) || sent != test.requests {
			t.Errorf("%s: %v after %q, want %q", test.name, err, sent, test.requests)
		}
		if _, err := fake.Get[*site](server, key{Namespace: "a", Name: "one"}); (err == nil) != (test.name != "there" && test.name != "gone") {
			t.Errorf("%s: site one: %v", test.name, err)
		}
	}
}

func is(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

func second[A any](_ A, err error) error        { return err }
func third[A, B any](_ A, _ B, err error) error { return err }
