package controller_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/kind"
)

// A client fits the helpers.
var _ controller.Client[*site] = (*client.Resource[*site])(nil)

// site is a custom resource with a status.
type site struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              siteSpec   `json:"spec"`
	Status            siteStatus `json:"status"`
}

type siteSpec struct {
	Size  int64             `json:"size,omitempty"`
	Hosts []string          `json:"hosts,omitempty"`
	Parts map[string]string `json:"parts,omitempty"`
	Rules []siteRule        `json:"rules,omitempty"`
	Extra json.RawMessage   `json:"extra,omitempty"` // of any form
}

type siteRule struct {
	Name   string `json:"name"`
	Size   int64  `json:"size,omitempty"`
	Limits struct {
		CPU int64 `json:"cpu,omitempty"`
	} `json:"limits"` // always there in what this type writes
}

type siteStatus struct {
	Ready      int64              `json:"ready"`
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

func (s *site) DeepCopy() *site {
	c := *s
	c.ObjectMeta = *s.ObjectMeta.DeepCopy()
	c.Spec.Hosts = slices.Clone(s.Spec.Hosts)
	c.Spec.Parts = map[string]string{}
	for k, v := range s.Spec.Parts {
		c.Spec.Parts[k] = v
	}
	c.Spec.Rules = slices.Clone(s.Spec.Rules)
	c.Status.Conditions = slices.Clone(s.Status.Conditions)
	return &c
}

var siteKind = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Site"}

var siteKinds = kind.Of[*site](siteKind.GroupVersion(), "sites").WithSubresources("status")

func newSite(name string) *site {
	return &site{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name}}
}

// requests is a client that lists its requests, and calls before in front of each.
type requests[T metav1.Object] struct {
	*client.Resource[T]
	sent   []string
	before func(verb string) error
}

func (r *requests[T]) note(verb string) error {
	r.sent = append(r.sent, verb)
	if r.before == nil {
		return nil
	}
	return r.before(verb)
}

// take returns the verbs of the requests since the last call.
func (r *requests[T]) take() string {
	all := strings.Join(r.sent, " ")
	r.sent = nil
	return all
}

func (r *requests[T]) Get(ctx context.Context, key types.NamespacedName, opts metav1.GetOptions) (T, error) {
	if err := r.note("get"); err != nil {
		return *new(T), err
	}
	return r.Resource.Get(ctx, key, opts)
}

func (r *requests[T]) Create(ctx context.Context, object T, opts metav1.CreateOptions) (T, error) {
	if err := r.note("create"); err != nil {
		return *new(T), err
	}
	return r.Resource.Create(ctx, object, opts)
}

func (r *requests[T]) Patch(ctx context.Context, key types.NamespacedName, pt types.PatchType, data []byte, opts metav1.PatchOptions) (T, error) {
	if err := r.note("patch"); err != nil {
		return *new(T), err
	}
	return r.Resource.Patch(ctx, key, pt, data, opts)
}

func (r *requests[T]) PatchStatus(ctx context.Context, key types.NamespacedName, pt types.PatchType, data []byte, opts metav1.PatchOptions) (T, error) {
	if err := r.note("status"); err != nil {
		return *new(T), err
	}
	return r.Resource.PatchStatus(ctx, key, pt, data, opts)
}

func (r *requests[T]) Delete(ctx context.Context, key types.NamespacedName, opts metav1.DeleteOptions) error {
	if err := r.note("delete"); err != nil {
		return err
	}
	return r.Resource.Delete(ctx, key, opts)
}

// sites returns a server of sites and a client of it.
func sites(t testing.TB) (*fake.Server, *requests[*site]) {
	t.Helper()
	server := fake.New(fake.Options{})
	if err := fake.Register(server, siteKinds, fake.Rules{}); err != nil {
		t.Fatal(err)
	}
	return server, &requests[*site]{Resource: clientOf(t, server, siteKinds)}
}

// clientOf returns a client of a kind that s serves. It asks once: what s refuses is its answer.
func clientOf[T any](t testing.TB, s *fake.Server, k *kind.Kind[T]) *client.Resource[T] {
	t.Helper()
	return must(client.New(client.Connection{URL: fake.URL, HTTP: s.Client(), Retries: -1}, k, client.Options{}))(t)
}

// once returns a hook that calls do in front of the first request with the verb.
func once(verb string, do func()) func(string) error {
	done := false
	return func(v string) error {
		if v == verb && !done {
			done = true
			do()
		}
		return nil
	}
}

func stored(t testing.TB, server *fake.Server, name string) *site {
	t.Helper()
	s, err := fake.Get[*site](server, key{Namespace: "a", Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// must returns v, and fails the test if there is an error.
func must[V any](v V, err error) func(testing.TB) V {
	return func(t testing.TB) V {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// label writes to a site as another client would.
func label(t testing.TB, server *fake.Server, name, value string) {
	t.Helper()
	s := stored(t, server, name)
	s.Labels = map[string]string{"by": value}
	must(fake.Update(server, s))(t)
}

// replace deletes a site and creates another one with its name.
func replace(t testing.TB, server *fake.Server, name string) {
	t.Helper()
	remove(t, server, name)
	must(fake.Create(server, newSite(name)))(t)
}

// remove deletes a site, with the finalizers that it has.
func remove(t testing.TB, server *fake.Server, name string) {
	t.Helper()
	s := stored(t, server, name)
	if len(s.Finalizers) > 0 {
		s.Finalizers = nil
		s = must(fake.Update(server, s))(t)
	}
	if s.DeletionTimestamp == nil {
		must(fake.Delete[*site](server, key{Namespace: "a", Name: name}))(t)
	}
}

func conflict() error {
	return apierrors.NewConflict(schema.GroupResource{Resource: "sites"}, "one", nil)
}

// delayed returns a controller, and a function that runs it with a reconcile that is not known before.
func delayed[Q comparable](name string, options ...controller.Options[Q]) (c *controller.Controller[Q], run func(context.Context, func(context.Context, Q) error) error) {
	var reconcile func(context.Context, Q) error
	c = controller.New(name, func(ctx context.Context, key Q) error { return reconcile(ctx, key) }, options...)
	return c, func(ctx context.Context, f func(context.Context, Q) error) error {
		reconcile = f
		return c.Run(ctx)
	}
}
