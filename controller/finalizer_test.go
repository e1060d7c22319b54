package controller_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/fake"
)

const hold = "example.com/hold"

func TestFinalize(t *testing.T) {
	server, c := sites(t)
	cleanups, failure := 0, error(nil)
	cleanup := func(_ context.Context, s *site) error {
		if s.Name != "one" || s.DeletionTimestamp == nil {
			t.Errorf("cleanup of %+v", s)
		}
		cleanups++
		return failure
	}
	last := func() *site { return stored(t, server, "one") }
	mark := func() { must(fake.Delete[*site](server, key{Namespace: "a", Name: "one"}))(t) }
	first := must(fake.Create(server, newSite("one")))(t)
	var held, marked *site
	for _, step := range []struct {
		name     string
		before   func()
		obj      func() *site
		hook     func(string) error
		failure  error
		done     bool
		cleanups int
		requests string
	}{
		{name: "new", obj: last, requests: "patch"},
		{name: "held", obj: last},
		{name: "a cache that is behind", obj: func() *site { return first }, requests: "patch get"},
		{name: "lost by another writer", before: func() {
			s := last()
			s.Finalizers = nil
			must(fake.Update(server, s))(t)
		}, obj: last, hook: once("patch", func() { label(t, server, "one", "x") }), requests: "patch get patch"},
		{name: "cleanup fails", before: func() { mark(); marked = last() }, obj: last, failure: errors.New("broken"), done: true, cleanups: 1, requests: "get"},
		{name: "cleanup waits", obj: last, failure: controller.Again(time.Hour), done: true, cleanups: 1, requests: "get"},
		{name: "a cache that does not know of the deletion", obj: func() *site { return first }, failure: errors.New("broken"), done: true, cleanups: 1,
			requests: "patch get get"},
		{name: "cleanup, with a writer meanwhile", obj: last, hook: once("patch", func() { label(t, server, "one", "y") }),
			done: true, cleanups: 1, requests: "get patch get patch"},
		{name: "a cache that is behind the deletion", obj: func() *site { return marked }, done: true, requests: "get"},
		{name: "a cache that is far behind", obj: func() *site { return first }, done: true, requests: "patch"},
		{name: "held again, then replaced", before: func() {
			must(fake.Create(server, newSite("one")))(t)
		}, obj: last, requests: "patch"},
		{name: "replaced", before: func() { held = last(); replace(t, server, "one") }, obj: func() *site { held.DeletionTimestamp = new(metav1.Now()); return held }, done: true, requests: "get"},
		{name: "deleted by others meanwhile", before: func() {
			s := last()
			s.Finalizers = []string{hold}
			must(fake.Update(server, s))(t)
			mark()
		}, obj: last, hook: once("patch", func() { remove(t, server, "one") }), done: true, cleanups: 1, requests: "get patch"},
	} {
		if step.before != nil {
			step.before()
		}
		c.before, failure, cleanups = step.hook, step.failure, 0
		got, done, err := controller.Finalize(t.Context(), c, step.obj(), hold, cleanup)
		if sent := c.take(); done != step.done || err != step.failure || cleanups != step.cleanups || sent != step.requests {
			t.Errorf("%s: done %v, error %v, %d cleanups, requests %q; want %v, %v, %d, %q",
				step.name, done, err, cleanups, sent, step.done, step.failure, step.cleanups, step.requests)
		}
		if !done && (got.ResourceVersion != last().ResourceVersion || len(last().Finalizers) != 1) {
			t.Errorf("%s: returned %+v, stored %+v", step.name, got, last())
		}
	}
	if len(first.Finalizers) != 0 {
		t.Error("the object of the cache was changed")
	}
}

// The finalizers of others stay, and an object that others hold is left to them.
func TestFinalizersOfOthers(t *testing.T) {
	server, c := sites(t)
	s := newSite("one")
	s.Finalizers = []string{"example.com/a", "example.com/b"}
	s = must(fake.Create(server, s))(t)
	none := func(context.Context, *site) error { return nil }
	s, done, err := controller.Finalize(t.Context(), c, s, hold, none)
	if done || err != nil || len(s.Finalizers) != 3 {
		t.Fatalf("done %v, %v: %v", done, err, s.Finalizers)
	}
	must(fake.Delete[*site](server, key{Namespace: "a", Name: "one"}))(t)
	for range 2 {
		s, done, err = controller.Finalize(t.Context(), c, stored(t, server, "one"), hold, none)
		if !done || err != nil || len(s.Finalizers) != 2 || s.Finalizers[0] != "example.com/a" || s.Finalizers[1] != "example.com/b" {
			t.Errorf("done %v, %v: %v", done, err, s.Finalizers)
		}
	}
	if sent := c.take(); sent != "patch get patch" {
		t.Errorf("requests: %q", sent)
	}
}

func TestFinalizeErrors(t *testing.T) {
	server, c := sites(t)
	one := must(fake.Create(server, newSite("one")))(t)
	none := func(context.Context, *site) error { return nil }
	broken := errors.New("broken")
	finalize := func(obj *site, name string, cleanup func(context.Context, *site) error) error {
		_, done, err := controller.Finalize(t.Context(), c, obj, name, cleanup)
		if !done {
			t.Error("not done")
		}
		return err
	}
	if err := finalize(one, hold, nil); !errors.Is(err, controller.ErrNoCleanup) || !strings.Contains(err.Error(), "controller: Site a/one: ") {
		t.Error(err)
	}
	if err := finalize(one, "", none); !errors.Is(err, controller.ErrNoFinalizer) {
		t.Error(err)
	}
	if err := finalize(newSite("one"), hold, none); !errors.Is(err, controller.ErrNoVersion) {
		t.Error(err)
	}
	c.before = func(verb string) error { return broken }
	if err := finalize(one, hold, none); err != broken {
		t.Error(err)
	}
	marked := one.DeepCopy()
	marked.Finalizers, marked.DeletionTimestamp = []string{hold}, new(metav1.Now())
	cleaned := func(context.Context, *site) error { t.Error("cleanup without a look at the object"); return nil }
	if err := finalize(marked, hold, cleaned); err != broken {
		t.Error(err)
	}
	c.before = func(verb string) error {
		if verb == "patch" {
			return conflict()
		}
		return nil
	}
	if err := finalize(one, hold, none); !apierrors.IsConflict(err) {
		t.Error(err)
	}
}
