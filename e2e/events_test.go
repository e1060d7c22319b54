//go:build e2e

package e2e_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/client"
	recorder "github.com/kinform/kinform/controller/events"
	"github.com/kinform/kinform/e2e/oracle"
	"github.com/kinform/kinform/examples/website"
	"github.com/kinform/kinform/with/kubernetes/core"
	kubeevents "github.com/kinform/kinform/with/kubernetes/events"
	"github.com/kinform/kinform/with/kubernetes/rbac"
)

// recording is a recorder at work.
type recording struct {
	*recorder.Recorder
	sites recorder.Reporter[*website.Website]
	nodes recorder.Reporter[*corev1.Node]
	roles recorder.Reporter[*rbacv1.ClusterRole]
	spots recorder.Reporter[*corev1.ConfigMap]
	stop  func()

	mu   sync.Mutex
	errs []*recorder.Error
}

func startRecording(ctx context.Context, t *testing.T, conn client.Connection) *recording {
	t.Helper()
	r := &recording{}
	r.Recorder = recorder.New(conn, recorder.Options{Controller: "example.com/e2e", FlushTimeout: 20 * time.Second, OnError: func(err error) {
		var e *recorder.Error
		errors.As(err, &e)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.errs = append(r.errs, e)
	}})
	r.sites = recorder.For(r.Recorder, website.Websites)
	r.nodes = recorder.For(r.Recorder, core.Nodes)
	r.roles = recorder.For(r.Recorder, rbac.ClusterRoles)
	r.spots = recorder.For(r.Recorder, configMaps)
	running, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- r.Run(running) }()
	r.stop = func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	return r
}

// testEvents records events that are at the limits of what the server takes.
func testEvents(ctx context.Context, t *testing.T, conn client.Connection, _ *oracle.Client) {
	namespaces := resource(t, conn, core.Namespaces, client.Options{})
	doomed := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "doomed"}}
	_, err := namespaces.Create(ctx, doomed, metav1.CreateOptions{})
	must(t, err)
	must(t, namespaces.Delete(ctx, key{Name: "doomed"}, metav1.DeleteOptions{})) // it stays: nobody finalizes it
	stored := resource(t, conn, kubeevents.Events, client.Options{})

	r := startRecording(ctx, t, conn)
	site := newWebsite("seen", "a")
	site.UID = "uid-of-site"
	deployed := func() { r.sites.Normal(site, "Deployed", "Deploy", "it has %d replicas", 3) }
	deployed()
	long := strings.Repeat("x", 128)
	r.sites.Warning(site, long, long, "%s", strings.Repeat("世", 2000))
	r.nodes.Normal(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}, "Seen", "See", "a node")
	r.roles.Normal(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "system:Odd_name"}}, "Seen", "See", "a role")
	r.spots.Normal(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "doomed", Name: "a"}}, "Seen", "See", "it goes")
	r.spots.Normal(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "nowhere", Name: "a"}}, "Seen", "See", "it never was")
	must(t, eventually(ctx, func() bool { return r.Stats().Waiting == 0 }))
	for range 4 {
		deployed()
	}
	gone := eventOf(ctx, t, stored, "n1")
	must(t, stored.Delete(ctx, key{Namespace: gone.Namespace, Name: gone.Name}, metav1.DeleteOptions{}))
	r.nodes.Normal(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}, "Seen", "See", "a node")
	r.stop()

	for _, name := range []string{"n1", "system:Odd_name"} {
		if e := eventOf(ctx, t, stored, name); e.Namespace != "default" || e.Regarding.Namespace != "" {
			t.Errorf("%s: %+v", name, e)
		}
	}
	if e := eventOf(ctx, t, stored, "n1"); e.Name != gone.Name || e.UID == gone.UID || e.Series == nil || e.Series.Count != 2 {
		t.Errorf("the event that was deleted: %+v", e)
	}
	wantSeries(ctx, t, stored)
	stats := r.Stats()
	if stats.Recorded != 11 || stats.Written != 9 || stats.Dropped.Refused != 2 || stats.Dropped.Total() != 2 {
		t.Errorf("wrong counts: %+v; reported %v", stats, r.errs)
	}
	if len(r.errs) != 2 || !apierrors.HasStatusCause(r.errs[0], corev1.NamespaceTerminatingCause) || !apierrors.IsNotFound(r.errs[1]) {
		t.Errorf("reported %v", r.errs)
	}
}

// wantSeries checks the two events about the site.
func wantSeries(ctx context.Context, t *testing.T, stored *client.Resource[*eventsv1.Event]) {
	t.Helper()
	found := 0
	for e, err := range stored.Items(ctx, metav1.ListOptions{FieldSelector: "regarding.name=seen"}) {
		must(t, err)
		found++
		switch e.Reason {
		case "Deployed":
			if e.Series == nil || e.Series.Count != 5 || e.Series.LastObservedTime.Before(&e.EventTime) || e.Note != "it has 3 replicas" || e.Action != "Deploy" ||
				e.Type != "Normal" || e.ReportingController != "example.com/e2e" || e.ReportingInstance == "" || e.Regarding.Kind != "Website" || e.Regarding.UID != "uid-of-site" {
				t.Errorf("wrong event: %+v", e)
			}
		default:
			if len(e.Note) > 1024 || len(e.Note) < 1021 || e.Type != "Warning" {
				t.Errorf("wrong event: %+v", e)
			}
		}
	}
	if found != 2 {
		t.Errorf("%d events about the site, want 2", found)
	}
}

// eventOf returns the only event about an object.
func eventOf(ctx context.Context, t *testing.T, stored *client.Resource[*eventsv1.Event], name string) *eventsv1.Event {
	t.Helper()
	var found []*eventsv1.Event
	for e, err := range stored.Items(ctx, metav1.ListOptions{FieldSelector: "regarding.name=" + name}) {
		must(t, err)
		found = append(found, e)
	}
	if len(found) != 1 {
		t.Fatalf("%d events about %s", len(found), name)
	}
	return found[0]
}
