//go:build e2e

package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/e2e/cluster"
	"github.com/kinform/kinform/e2e/oracle"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/store"
)

const (
	definitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	ticketsPath     = "/apis/example.com/v1/namespaces/default/tickets"
	// defaultsShow is how long a new default may take to reach the caches. Most of it is the server's
	// time to begin again with the definition.
	defaultsShow = 45 * time.Second
)

// ticket is a custom resource whose definition gets a default.
type ticket struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              ticketSpec `json:"spec"`
}

type ticketSpec struct {
	Class string `json:"class,omitempty"`
}

var tickets = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "tickets"}

// ticketVersions is spec.versions of the definition, with a default for spec.class.
func ticketVersions(class string) []any {
	text := map[string]any{"type": "string"}
	if class != "" {
		text["default"] = class
	}
	spec := map[string]any{"type": "object", "properties": map[string]any{"class": text}}
	return []any{map[string]any{
		"name": "v1", "served": true, "storage": true,
		"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "properties": map[string]any{"spec": spec}}},
	}}
}

// TestDefaultsReachCaches gives a definition a default. The objects show it without a write, at the
// versions that they have. Each cache gets it, too, in whatever way it lists and decodes.
func TestDefaultsReachCaches(t *testing.T) {
	c := cluster.Start(t, cluster.Options{})
	conn, err := client.NewConnection(c.URL(), client.ConnectionOptions{CAFile: c.CAFile(), Token: c.Token()})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.HTTP.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	api := &oracle.Client{URL: c.URL(), HTTP: c.HTTPClient()}
	definition := map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "tickets.example.com"},
		"spec": map[string]any{
			"group": "example.com", "scope": "Namespaced", "versions": ticketVersions(""),
			"names": map[string]any{"plural": "tickets", "singular": "ticket", "kind": "Ticket"},
		},
	}
	if err := api.Do(ctx, http.MethodPost, definitionsPath, definition, nil); err != nil {
		t.Fatal(err)
	}
	if err := api.Answers(ctx, ticketsPath, http.StatusOK); err != nil {
		t.Fatal(err)
	}
	// The newest object keeps its contents: it does not show a reflector whose watch is resumed that others changed.
	for n, class := range []string{"", "own", "", "own"} {
		made := &ticket{TypeMeta: metav1.TypeMeta{APIVersion: "example.com/v1", Kind: "Ticket"}, ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("t", n)}, Spec: ticketSpec{Class: class}}
		if _, err := oracle.Create(ctx, api, ticketsPath, made); err != nil {
			t.Fatal(err)
		}
	}
	pages := reflector.Tuning{DisableWatchList: true}
	class := func(t *ticket) string { return t.Spec.Class }
	untyped := func(u *unstructured.Unstructured) string {
		text, _, _ := unstructured.NestedString(u.Object, "spec", "class")
		return text
	}
	running, stop := context.WithCancel(ctx)
	caches := []*classes{
		cacheTickets(running, t, "typed, streamed", conn, reflector.Tuning{}, class),
		cacheTickets(running, t, "typed, listed", conn, pages, class),
		cacheTickets(running, t, "untyped, streamed", conn, reflector.Tuning{}, untyped),
		cacheTickets(running, t, "untyped, listed", conn, pages, untyped),
		cacheTickets(running, t, "untyped, decoded", conn, reflector.Tuning{DecodeAll: true}, untyped),
	}
	defer func() {
		stop()
		for _, cache := range caches {
			if err := <-cache.ended; err != nil {
				t.Errorf("%s: %v", cache.name, err)
			}
		}
	}()
	for _, cache := range caches {
		if err := cache.synced(ctx); err != nil {
			t.Fatal(err)
		}
	}
	for _, next := range []string{"first", "second"} {
		began := time.Now()
		if err := api.Do(ctx, http.MethodPatch, definitionsPath+"/tickets.example.com", map[string]any{"spec": map[string]any{"versions": ticketVersions(next)}}, nil); err != nil {
			t.Fatal(err)
		}
		for _, cache := range caches {
			want := map[string]string{"t0": next, "t1": "own", "t2": next, "t3": "own"}
			for got := cache.all(); fmt.Sprint(got) != fmt.Sprint(want); got = cache.all() {
				if time.Since(began) > defaultsShow {
					t.Fatalf("%s: after %v: %v, want %v; %s", cache.name, time.Since(began), got, want, cache.stats())
				}
				time.Sleep(50 * time.Millisecond)
			}
			t.Logf("%s: %q after %v; %s", cache.name, next, time.Since(began).Round(10*time.Millisecond), cache.stats())
		}
	}
}

// classes is a running cache of tickets.
type classes struct {
	name   string
	synced func(context.Context) error
	all    func() map[string]string // by name
	stats  func() string
	ended  chan error
}

func cacheTickets[T metav1.Object](ctx context.Context, t *testing.T, name string, conn client.Connection, tuning reflector.Tuning, class func(T) string) *classes {
	t.Helper()
	source, err := client.New(conn, kind.OfResource[T](tickets), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	inf, err := informer.New(source, store.ObjectKey[T], informer.Options[T]{Reflector: tuning, OnError: func(err error) { t.Logf("%s: %v", name, err) }})
	if err != nil {
		t.Fatal(err)
	}
	c := &classes{name: name, synced: inf.WaitForSync, ended: make(chan error, 1)}
	c.all = func() map[string]string {
		all := map[string]string{}
		for obj := range inf.Store().Values() {
			all[obj.GetName()] = class(obj)
		}
		return all
	}
	c.stats = func() string {
		s := inf.Stats()
		return fmt.Sprintf("%d lists, %d watches, %d recalled, relists %v", s.Lists, s.Watches, s.Recalled, s.Relists)
	}
	go func() { c.ended <- inf.Run(ctx) }()
	return c
}
