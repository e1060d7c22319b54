//go:build e2e

package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/e2e/beside"
	"github.com/kinform/kinform/e2e/cluster"
	"github.com/kinform/kinform/e2e/oracle"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/store"
	"github.com/kinform/kinform/with/clientgo/dynamicinformer"
)

const (
	definitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	definitionPath  = definitionsPath + "/tickets.example.com"
	// contentsArrive is how long contents that change without a version may take to reach the caches
	// after the definition has changed. Most of it is the server's time to begin again with the
	// definition.
	contentsArrive = 45 * time.Second
)

// ticket is a custom resource whose contents change without a write.
type ticket struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              ticketSpec `json:"spec"`
}

type ticketSpec struct {
	Class string `json:"class,omitempty"`
}

func ticketsPath(version string) string {
	return "/apis/example.com/" + version + "/namespaces/default/tickets"
}

func ticketsResource(version string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "example.com", Version: version, Resource: "tickets"}
}

// ticketDefinition is the definition of tickets, with a default for spec.class in each version, if
// there is one. v1 is stored.
func ticketDefinition(class string) map[string]any {
	text := map[string]any{"type": "string"}
	if class != "" {
		text["default"] = class
	}
	spec := map[string]any{"type": "object", "properties": map[string]any{"class": text}}
	var versions []any
	for _, name := range []string{"v1", "v2"} {
		versions = append(versions, map[string]any{
			"name": name, "served": true, "storage": name == "v1",
			"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "properties": map[string]any{"spec": spec}}},
		})
	}
	return map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "tickets.example.com"},
		"spec": map[string]any{
			"group": "example.com", "scope": "Namespaced", "versions": versions,
			"names": map[string]any{"plural": "tickets", "singular": "ticket", "kind": "Ticket"},
		},
	}
}

// tickets are a server with tickets, and caches of them in one version that list and decode in all
// ways.
type tickets struct {
	t       *testing.T
	ctx     context.Context
	api     *oracle.Client
	version string
	caches  []*ticketCache
	// other is a cache of another resource on the same connection. Its watch goes on when the
	// watches of tickets end, which shows that the server does not end.
	other *informer.Informer[key, *corev1.ConfigMap]
}

// newTickets makes the definition and tickets whose classes are the given ones.
func newTickets(ctx context.Context, t *testing.T, c *cluster.Cluster, definition map[string]any, version string, classes ...string) *tickets {
	t.Helper()
	conn, err := client.NewConnection(c.URL(), client.ConnectionOptions{CAFile: c.CAFile(), Token: c.Token()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.HTTP.CloseIdleConnections)
	s := &tickets{t: t, ctx: ctx, api: &oracle.Client{URL: c.URL(), HTTP: c.HTTPClient()}, version: version}
	if err := s.api.Do(ctx, http.MethodPost, definitionsPath, definition, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.api.Answers(ctx, ticketsPath(version), http.StatusOK); err != nil {
		t.Fatal(err)
	}
	for n, class := range classes {
		made := &ticket{TypeMeta: metav1.TypeMeta{APIVersion: "example.com/v1", Kind: "Ticket"}, ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("t", n)}, Spec: ticketSpec{Class: class}}
		if _, err := oracle.Create(ctx, s.api, ticketsPath("v1"), made); err != nil {
			t.Fatal(err)
		}
	}
	s.other, err = informer.New(resource(t, conn, configMaps, client.Options{}), store.ObjectKey, informer.Options[*corev1.ConfigMap]{})
	if err != nil {
		t.Fatal(err)
	}
	pages := reflector.Tuning{DisableWatchList: true}
	s.caches = []*ticketCache{
		cacheTickets[*ticket](t, "typed, streamed", conn, version, reflector.Tuning{}),
		cacheTickets[*ticket](t, "typed, listed", conn, version, pages),
		cacheTickets[*unstructured.Unstructured](t, "untyped, streamed", conn, version, reflector.Tuning{}),
		cacheTickets[*unstructured.Unstructured](t, "untyped, listed", conn, version, pages),
		cacheTicketsLikeClientGo(t, c, version),
	}
	return s
}

// run runs the caches until stop is called, and waits for their lists.
func (s *tickets) run() (stop func()) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.ctx)
	running := []func(context.Context) error{s.other.Run}
	for _, c := range s.caches {
		running = append(running, c.run)
	}
	ended := make(chan error, len(running))
	for _, run := range running {
		go func() { ended <- run(ctx) }()
	}
	stop = func() {
		cancel()
		for range running {
			if err := <-ended; err != nil {
				s.t.Error(err)
			}
		}
		for _, c := range s.caches {
			if c.stats == nil {
				continue
			}
			if err := beside.FalseAlarm(c.stats()); err != nil {
				s.t.Errorf("%s: %v", c.name, err)
			}
		}
	}
	for _, c := range s.caches {
		if err := c.synced(ctx); err != nil {
			stop()
			s.t.Fatalf("%s: %v", c.name, err)
		}
	}
	return stop
}

// update merges spec into the definition's.
func (s *tickets) update(spec any) {
	s.t.Helper()
	if err := s.api.Do(s.ctx, http.MethodPatch, definitionPath, map[string]any{"spec": spec}, nil); err != nil {
		s.t.Fatal(err)
	}
}

// write writes to a ticket for two seconds, which is longer than the server keeps the watches of a
// definition that has changed. So the caches see versions that are newer than that at which the server
// begins again, and their watches can be resumed.
func (s *tickets) write(name string) {
	s.t.Helper()
	for n := range 100 {
		patch := map[string]any{"metadata": map[string]any{"annotations": map[string]string{"n": fmt.Sprint(n)}}}
		if _, err := oracle.Patch[ticket](s.ctx, s.api, ticketsPath("v1")+"/"+name, patch); err != nil {
			s.t.Logf("write %d: %v", n, err) // the server begins again
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// list returns what the server has, without Kinform.
func (s *tickets) list() ([]json.RawMessage, map[string]string, error) {
	items, _, err := oracle.List[json.RawMessage](s.ctx, s.api, ticketsPath(s.version), metav1.ListOptions{})
	classes := map[string]string{}
	for _, item := range items {
		var obj ticket
		if err := json.Unmarshal(item, &obj); err != nil {
			return nil, nil, err
		}
		classes[obj.Name] = obj.Spec.Class
	}
	return items, classes, err
}

// shows waits until the server lists tickets of the given classes.
func (s *tickets) shows(classes ...string) {
	s.t.Helper()
	want := map[string]string{}
	for n, class := range classes {
		want[fmt.Sprint("t", n)] = class
	}
	for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		_, got, err := s.list()
		if err == nil && maps.Equal(got, want) {
			s.t.Logf("the server shows %v after %v", classes, time.Since(began).Round(10*time.Millisecond))
			return
		}
		if time.Since(began) > contentsArrive {
			s.t.Fatalf("the server shows %v, %v, want %v", got, err, want)
		}
	}
}

// same waits until each cache has what the server lists, in contents.
func (s *tickets) same() {
	s.t.Helper()
	began := time.Now()
	left := slices.Clone(s.caches)
	for {
		items, _, err := s.list()
		var wrong []string
		left = slices.DeleteFunc(left, func(c *ticketCache) bool {
			diff := fmt.Sprint(err)
			if err == nil {
				diff = c.differ(items)
			}
			if diff != "" {
				wrong = append(wrong, fmt.Sprintf("%s: %s; (-server +store):\n%.3000s", c.name, c.summary(), diff))
				return false
			}
			s.t.Logf("%s: the same after %v; %s", c.name, time.Since(began).Round(10*time.Millisecond), c.summary())
			return true
		})
		if len(left) == 0 {
			return
		}
		if time.Since(began) > contentsArrive {
			s.t.Fatalf("after %v:\n%s", time.Since(began), strings.Join(wrong, "\n"))
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// ticketCache is a cache of tickets in one form.
type ticketCache struct {
	name   string
	run    func(context.Context) error
	synced func(context.Context) error
	differ func(items []json.RawMessage) string // from what the server has
	stats  func() informer.Stats                // nil if nobody can ask it
	once   bool                                 // its run can be called once
}

func (c *ticketCache) summary() string {
	if c.stats == nil {
		return "no statistics"
	}
	s := c.stats()
	return fmt.Sprintf("%d lists, %d watches, %d recalled, relists %v", s.Lists, s.Watches, s.Recalled, s.Relists)
}

func cacheTickets[T metav1.Object](t *testing.T, name string, conn client.Connection, version string, tuning reflector.Tuning) *ticketCache {
	t.Helper()
	inf, err := informer.New(resource(t, conn, kind.OfResource[T](ticketsResource(version)), client.Options{}), store.ObjectKey[T], informer.Options[T]{
		Reflector: tuning, OnError: func(err error) { t.Logf("%s: %v", name, err) },
	})
	if err != nil {
		t.Fatal(err)
	}
	differ := func(items []json.RawMessage) string { return differ(items, inf.Store().Values()) }
	return &ticketCache{name: name, run: inf.Run, synced: inf.WaitForSync, differ: differ, stats: inf.Stats}
}

// cacheTicketsLikeClientGo is a cache of with/clientgo on client-go's client.
func cacheTicketsLikeClientGo(t *testing.T, c *cluster.Cluster, version string) *ticketCache {
	t.Helper()
	config := &rest.Config{Host: c.URL(), BearerToken: c.Token(), TLSClientConfig: rest.TLSClientConfig{CAFile: c.CAFile()}}
	hc, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(hc.CloseIdleConnections)
	clients, err := dynamic.NewForConfigAndClient(config, hc)
	if err != nil {
		t.Fatal(err)
	}
	inf := dynamicinformer.NewDynamicSharedInformerFactory(clients, 0).ForResource(ticketsResource(version)).Informer()
	return &ticketCache{
		name: "with/clientgo", once: true,
		run: func(ctx context.Context) error {
			inf.RunWithContext(ctx)
			return nil
		},
		synced: func(ctx context.Context) error {
			cache.WaitForCacheSync(ctx.Done(), inf.HasSynced)
			return ctx.Err()
		},
		differ: func(items []json.RawMessage) string {
			return differ(items, func(yield func(*unstructured.Unstructured) bool) {
				for _, obj := range inf.GetStore().List() {
					if !yield(obj.(*unstructured.Unstructured)) {
						return
					}
				}
			})
		},
	}
}

// differ compares what the server has with the objects of a cache.
func differ[T metav1.Object](items []json.RawMessage, cached iter.Seq[T]) string {
	want, got := map[key]T{}, map[key]T{}
	for _, item := range items {
		var obj T
		if err := utiljson.Unmarshal(item, &obj); err != nil {
			return err.Error()
		}
		want[nameOf(obj)] = obj
	}
	for obj := range cached {
		got[nameOf(obj)] = obj
	}
	return cmp.Diff(want, got, ignoreKinds)
}
