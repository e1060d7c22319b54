//go:build e2e

package e2e_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/e2e/cluster"
	"github.com/kinform/kinform/e2e/oracle"
	"github.com/kinform/kinform/examples/website"
	"github.com/kinform/kinform/informer"
)

// TestAuthor tests what authors of controllers use, with a CustomResourceDefinition: a handle, the
// example of a whole controller, and events.
func TestAuthor(t *testing.T) {
	c := cluster.Start(t, cluster.Options{})
	conn, err := client.NewConnection(c.URL(), client.ConnectionOptions{CAFile: c.CAFile(), Token: c.Token()})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.HTTP.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	api := &oracle.Client{URL: c.URL(), HTTP: c.HTTPClient()}
	installWebsites(ctx, t, api)
	for name, test := range map[string]func(context.Context, *testing.T, client.Connection, *oracle.Client){
		"handle":     testHandle,
		"helpers":    testHelpers,
		"controller": testController,
		"events":     testEvents,
		"nulls":      testNulls,
	} {
		t.Run(name, func(t *testing.T) { test(ctx, t, conn, api) })
	}
}

// websitesPath is the path of the Websites of the namespace default.
const websitesPath = "/apis/example.com/v1/namespaces/default/websites"

// installWebsites installs the CustomResourceDefinition of examples/website.
func installWebsites(ctx context.Context, t *testing.T, api *oracle.Client) {
	t.Helper()
	object := map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	definition := map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "websites.example.com"},
		"spec": map[string]any{
			"group": "example.com", "scope": "Namespaced", "names": map[string]any{"plural": "websites", "singular": "website", "kind": "Website"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true, "subresources": map[string]any{"status": map[string]any{}},
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "properties": map[string]any{"spec": object, "status": object}}},
			}},
		},
	}
	if err := api.Do(ctx, http.MethodPost, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition, nil); err != nil {
		t.Fatal(err)
	}
	if err := api.Answers(ctx, websitesPath, http.StatusOK); err != nil {
		t.Fatal(err)
	}
}

func newWebsite(name, host string) *website.Website {
	return &website.Website{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec:       website.WebsiteSpec{Host: host, Image: "shop:1", Replicas: 2},
	}
}

// wire is a transport that can hold watches back, and notes writes.
type wire struct {
	next http.RoundTripper
	hold sync.RWMutex // a watch passes on what it has read under the read lock

	mu     sync.Mutex
	writes []string
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet {
		w.mu.Lock()
		w.writes = append(w.writes, r.Method+" "+r.URL.Path)
		w.mu.Unlock()
	}
	answer, err := w.next.RoundTrip(r)
	if err == nil && r.URL.Query().Get("watch") != "" {
		answer.Body = &heldBody{answer.Body, &w.hold}
	}
	return answer, err
}

// sent returns the writes since the last call.
func (w *wire) sent() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer func() { w.writes = nil }()
	return w.writes
}

type heldBody struct {
	io.ReadCloser
	hold *sync.RWMutex
}

func (b *heldBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.hold.RLock()
	defer b.hold.RUnlock()
	return n, err
}

// through returns conn with a wire in its way.
func through(conn client.Connection) (client.Connection, *wire) {
	w := &wire{next: conn.HTTP.Transport}
	conn.HTTP = &http.Client{Transport: w}
	return conn, w
}

// handleReads checks all reads of a handle against what they must be.
type handleReads struct {
	t      *testing.T
	sites  *kinform.Handle[*website.Website]
	byHost informer.Index[key, *website.Website, string]
}

// want checks that every read has the object, or that none has it if it is nil.
func (r handleReads) want(step string, key key, host string, site *website.Website) {
	r.t.Helper()
	listed := slices.DeleteFunc(slices.Clone(r.sites.List("default", nil)), func(s *website.Website) bool { return s.Name != key.Name })
	indexed := slices.DeleteFunc(slices.Clone(r.byHost.Get(host)), func(s *website.Website) bool { return s.Name != key.Name })
	got, ok := r.sites.Cached(key)
	if site == nil {
		if ok || len(listed) > 0 || len(indexed) > 0 {
			r.t.Errorf("%s: still there: by key %t, in the list %v, in the index %v", step, ok, listed, indexed)
		}
		return
	}
	if !ok || len(listed) != 1 || len(indexed) != 1 {
		r.t.Errorf("%s: by key %t, %d times in the list, %d times in the index", step, ok, len(listed), len(indexed))
		return
	}
	if v := site.ResourceVersion; got.ResourceVersion != v || listed[0].ResourceVersion != v || indexed[0].ResourceVersion != v {
		r.t.Errorf("%s: want version %s: by key %v, in the list %v, in the index %v", step, site.ResourceVersion, got, listed, indexed)
	}
}

// testHandle holds the watch back: all reads have the handle's own writes nevertheless.
func testHandle(ctx context.Context, t *testing.T, conn client.Connection, api *oracle.Client) {
	conn, wire := through(conn)
	sites := kinform.Open(conn, website.Websites)
	byHost := kinform.Index(sites, "host", func(site *website.Website) string { return site.Spec.Host })
	reads := handleReads{t, sites, byHost}
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- sites.Run(running) }()
	must(t, sites.WaitForSync(ctx))

	wire.hold.Lock()
	for n := range 10 {
		lifeOfSite(ctx, reads, fmt.Sprintf("held-%d", n))
	}
	stays, err := sites.Create(ctx, newWebsite("stays", "a"), metav1.CreateOptions{})
	must(t, err)
	if rv, ahead := sites.AsInformer().PendingWrite(inDefault("stays")); rv != stays.ResourceVersion || !ahead {
		t.Errorf("the watch was not held back: it has brought %s", stays.ResourceVersion)
	}
	wire.hold.Unlock()
	must(t, sites.AsInformer().WaitForRV(ctx, stays.ResourceVersion))
	reads.want("after the watch", inDefault("stays"), "a", stays)
	if n := sites.AsInformer().Store().Len(); n != 1 {
		t.Errorf("the store has %d objects", n)
	}

	for n := range 10 { // and beside the watch
		lifeOfSite(ctx, reads, fmt.Sprintf("beside-%d", n))
	}
	must(t, sites.Delete(ctx, inDefault("stays"), metav1.DeleteOptions{}))
	reads.want("deleted", inDefault("stays"), "a", nil)
	if err := eventually(ctx, func() bool { return sites.AsInformer().Store().Len() == 0 }); err != nil {
		t.Error(err)
	}
	left, _, err := oracle.List[website.Website](ctx, api, websitesPath, metav1.ListOptions{})
	if err != nil || len(left) > 0 || len(sites.List("", nil)) > 0 {
		t.Errorf("the server has %v, the handle %v: %v", left, sites.List("", nil), err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// lifeOfSite makes, changes and deletes a Website, and reads after each write.
func lifeOfSite(ctx context.Context, reads handleReads, name string) {
	t, sites, key := reads.t, reads.sites, inDefault(name)
	t.Helper()
	site, err := sites.Create(ctx, newWebsite(name, "a"), metav1.CreateOptions{})
	must(t, err)
	reads.want("created", key, "a", site)

	site = site.DeepCopy()
	site.Spec.Host, site.Finalizers = "b", []string{"example.com/e2e"}
	site, err = sites.Update(ctx, site, metav1.UpdateOptions{})
	must(t, err)
	reads.want("updated", key, "b", site)
	if slices.ContainsFunc(reads.byHost.Get("a"), func(s *website.Website) bool { return s.Name == name }) {
		t.Errorf("%s is still indexed by its old host", name)
	}

	site, err = sites.PatchStatus(ctx, key, types.MergePatchType, []byte(`{"status":{"conditions":[]}}`), metav1.PatchOptions{})
	must(t, err)
	reads.want("status patched", key, "b", site)
	site, err = controller.PatchStatus(ctx, sites, site, func(s *website.Website) {
		controller.SetCondition(&s.Status.Conditions, s.Generation, metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Test"})
	})
	must(t, err)
	reads.want("condition set", key, "b", site)

	must(t, sites.Delete(ctx, key, metav1.DeleteOptions{}))
	deleting, ok := sites.Cached(key)
	if !ok || deleting.DeletionTimestamp == nil {
		t.Errorf("%s waits for its finalizer, the handle has %v", name, deleting)
		return
	}
	reads.want("being deleted", key, "b", deleting)
	_, err = sites.Patch(ctx, key, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	must(t, err)
	reads.want("without finalizer", key, "b", nil)
}

// hosts is a DNS for the controller.
type hosts struct{ set, removed atomic.Int32 }

func (h *hosts) Set(context.Context, *website.Website) error    { h.set.Add(1); return nil }
func (h *hosts) Remove(context.Context, *website.Website) error { h.removed.Add(1); return nil }

// testController runs examples/website beside the server.
func testController(ctx context.Context, t *testing.T, conn client.Connection, _ *oracle.Client) {
	sites := resource(t, conn, website.Websites, client.Options{Namespace: "default"})
	deploys := resource(t, conn, deployments, client.Options{Namespace: "default"})
	dns := new(hosts)
	own, wire := through(conn)
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- website.Run(running, own, dns) }()

	site, err := sites.Create(ctx, newWebsite("shop", "shop.example.com"), metav1.CreateOptions{})
	must(t, err)
	wantReady(ctx, t, sites, metav1.ConditionFalse, "Starting")
	deployment, err := deploys.Get(ctx, inDefault("shop"), metav1.GetOptions{})
	must(t, err)
	if !metav1.IsControlledBy(deployment, site) || *deployment.Spec.Replicas != 2 || deployment.Spec.Template.Spec.Containers[0].Image != "shop:1" {
		t.Errorf("wrong deployment: %+v", deployment)
	}
	playDeployment(ctx, t, deploys)
	wantReady(ctx, t, sites, metav1.ConditionTrue, "Available")

	_, err = sites.Patch(ctx, inDefault("shop"), types.MergePatchType, []byte(`{"spec":{"replicas":3}}`), metav1.PatchOptions{})
	must(t, err)
	wantReady(ctx, t, sites, metav1.ConditionFalse, "Starting")
	playDeployment(ctx, t, deploys)
	wantReady(ctx, t, sites, metav1.ConditionTrue, "Available")

	wire.sent()
	calls := dns.set.Load()
	_, err = sites.Patch(ctx, inDefault("shop"), types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{})
	must(t, err)
	must(t, eventually(ctx, func() bool { return dns.set.Load() > calls }))
	must(t, sites.Delete(ctx, inDefault("shop"), metav1.DeleteOptions{}))
	must(t, eventually(ctx, func() bool {
		_, err := sites.Get(ctx, inDefault("shop"), metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	}))
	// A label is nothing to write for, and the deletion takes one write: that of the finalizer.
	if sent := wire.sent(); len(sent) != 1 || dns.removed.Load() != 1 {
		t.Errorf("%d removals; the controller wrote %q", dns.removed.Load(), sent)
	}
	must(t, deploys.Delete(ctx, inDefault("shop"), metav1.DeleteOptions{})) // no garbage collector is there
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// wantReady waits until the condition of the site is as wanted, for its newest spec.
func wantReady(ctx context.Context, t *testing.T, sites *client.Resource[*website.Website], status metav1.ConditionStatus, reason string) {
	t.Helper()
	var site *website.Website
	err := eventually(ctx, func() bool {
		site, _ = sites.Get(ctx, inDefault("shop"), metav1.GetOptions{})
		if site == nil {
			return false
		}
		is := meta.FindStatusCondition(site.Status.Conditions, "Ready")
		return is != nil && is.Status == status && is.Reason == reason && is.ObservedGeneration == site.Generation && len(site.Finalizers) == 1
	})
	if err != nil {
		t.Fatalf("want %s, %s; the site is %+v: %v", status, reason, site, err)
	}
}

// playDeployment plays the controller of Deployments: all replicas are there.
func playDeployment(ctx context.Context, t *testing.T, deploys *client.Resource[*appsv1.Deployment]) {
	t.Helper()
	d, err := deploys.Get(ctx, inDefault("shop"), metav1.GetOptions{})
	must(t, err)
	n := *d.Spec.Replicas
	d.Status.ObservedGeneration, d.Status.Replicas, d.Status.ReadyReplicas, d.Status.AvailableReplicas = d.Generation, n, n, n
	_, err = deploys.UpdateStatus(ctx, d, metav1.UpdateOptions{})
	must(t, err)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
