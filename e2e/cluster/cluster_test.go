package cluster_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/e2e/cluster"
	"github.com/kinform/kinform/e2e/oracle"
)

func client(c *cluster.Cluster) *oracle.Client {
	return &oracle.Client{URL: c.URL(), HTTP: c.HTTPClient()}
}

func createConfigMap(t *testing.T, api *oracle.Client, i int) *corev1.ConfigMap {
	t.Helper()
	obj := oracle.NewConfigMap("default", i)
	obj, err := oracle.Create(t.Context(), api, oracle.Path("configmaps", "default", ""), obj)
	if err != nil {
		t.Fatal(err)
	}
	return obj
}

// nextEvent opens a watch of ConfigMaps from the version rv and returns its first event.
func nextEvent(t *testing.T, c *cluster.Cluster, rv string) *metav1.WatchEvent {
	t.Helper()
	// The watch is given up with the context, since it would last for half an hour.
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	url := c.URL() + "/api/v1/namespaces/default/configmaps?watch=true&resourceVersion=" + rv
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.HTTPClient().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("watch from %s: %s", rv, resp.Status)
	}
	line, err := bufio.NewReader(resp.Body).ReadBytes('\n')
	if err != nil {
		t.Fatalf("watch from %s: %v", rv, err)
	}
	event := new(metav1.WatchEvent)
	if err := json.Unmarshal(line, event); err != nil {
		t.Fatalf("watch from %s: %v in %q", rv, err, line)
	}
	return event
}

func TestKilledServersKeepObjects(t *testing.T) {
	c := cluster.Start(t, cluster.Options{})
	api := client(c)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "survivor"}}
	ns, err := oracle.Create(t.Context(), api, oracle.Path("namespaces", "", ""), ns)
	if err != nil {
		t.Fatal(err)
	}
	path := oracle.Path("namespaces", "", ns.Name)
	for _, p := range []*cluster.Process{c.APIServer, c.Etcd} {
		p.Kill()
		ctx, cancel := context.WithCancel(t.Context())
		if p == c.APIServer {
			if err := api.Do(ctx, http.MethodGet, path, nil, nil); err == nil {
				t.Fatal("the API answers while the server is dead")
			}
		}
		cancel()
		if err := p.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		// Every read of one object goes through to etcd, and the API server dials it anew with a
		// growing delay.
		got := eventuallyGet(t, api, path)
		if got.UID != ns.UID || got.ResourceVersion != ns.ResourceVersion {
			t.Fatalf("after a restart the namespace is %s at %s, want %s at %s", got.UID, got.ResourceVersion, ns.UID, ns.ResourceVersion)
		}
	}
	if err := c.APIServer.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventuallyGet(t, api, path)
}

// eventuallyGet reads a namespace until the server answers for good. A request waits for etcd on
// the server, so that there is no loop in the usual case.
func eventuallyGet(t *testing.T, api *oracle.Client, path string) *corev1.Namespace {
	t.Helper()
	for {
		got, err := oracle.Get[corev1.Namespace](t.Context(), api, path)
		if err == nil {
			return got
		}
		if t.Context().Err() != nil || apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
		t.Logf("not yet: %v", err)
	}
}

func TestCompactionExpiresWatches(t *testing.T) {
	c := cluster.Start(t, cluster.Options{ExtraAPIServerArgs: []string{"--watch-cache-sizes=configmaps#0"}})
	api := client(c)
	first := createConfigMap(t, api, 1)
	createConfigMap(t, api, 2)

	if event := nextEvent(t, c, first.ResourceVersion); event.Type != "ADDED" {
		t.Fatalf("before the compaction the watch begins with %s, want ADDED", event.Type)
	}
	last := createConfigMap(t, api, 3)
	if err := c.Compact(t.Context(), last.ResourceVersion); err != nil {
		t.Fatal(err)
	}
	event := nextEvent(t, c, first.ResourceVersion)
	var status metav1.Status
	if err := json.Unmarshal(event.Object.Raw, &status); err != nil {
		t.Fatal(err)
	}
	if event.Type != "ERROR" || status.Code != http.StatusGone || status.Reason != metav1.StatusReasonExpired {
		t.Errorf("after the compaction the watch begins with %s %s, want ERROR and 410 Expired", event.Type, event.Object.Raw)
	}

	// The event of the version itself is kept, so that a watch from the one before can go on.
	version, err := strconv.ParseUint(last.ResourceVersion, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	event = nextEvent(t, c, strconv.FormatUint(version-1, 10))
	if event.Type != "ADDED" || !strings.Contains(string(event.Object.Raw), last.Name) {
		t.Errorf("the watch from one version before begins with %s %s, want ADDED %s", event.Type, event.Object.Raw, last.Name)
	}

	if err := c.Compact(t.Context(), first.ResourceVersion); err == nil {
		t.Error("compacting to a version that is gone: no error")
	}
	if err := c.Compact(t.Context(), "newest"); err == nil {
		t.Error("compacting to a version that is no number: no error")
	}
}

func TestUsers(t *testing.T) {
	c := cluster.Start(t, cluster.Options{})
	path := oracle.Path("configmaps", "default", "")
	for _, tt := range []struct {
		name, token string
		want        func(error) bool
	}{
		{"admin", c.Token(), func(err error) bool { return err == nil }},
		{"guest", c.GuestToken(), apierrors.IsForbidden},
		{"anonymous", "", apierrors.IsForbidden},
		{"unknown", "no-such-token", apierrors.IsUnauthorized},
	} {
		api := &oracle.Client{URL: c.URL(), HTTP: c.HTTPClientAs(tt.token)}
		if err := api.Do(t.Context(), http.MethodGet, path, nil, nil); !tt.want(err) {
			t.Errorf("%s lists: %v", tt.name, err)
		}
	}
}

func TestDirStaysAndNothingRunsAfterClose(t *testing.T) {
	if os.Getenv(cluster.Variable) != "1" {
		t.Skipf("needs %s=1", cluster.Variable)
	}
	dir := t.TempDir()
	c, err := cluster.New(t.Context(), cluster.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if c.Etcd.Running() || c.APIServer.Running() {
		t.Error("a server runs after Close")
	}
	if err := c.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	for _, name := range []string{c.CAFile(), filepath.Join(dir, "kube-apiserver.log"), filepath.Join(dir, "etcd.log")} {
		if _, err := os.Stat(name); err != nil {
			t.Error(err)
		}
	}
}

func TestNewReportsTheServersComplaint(t *testing.T) {
	if os.Getenv(cluster.Variable) != "1" {
		t.Skipf("needs %s=1", cluster.Variable)
	}
	_, err := cluster.New(t.Context(), cluster.Options{ExtraAPIServerArgs: []string{"--no-such-flag"}})
	if !errors.Is(err, cluster.ErrExited) {
		t.Fatalf("New with an unknown flag: %v, want ErrExited", err)
	}
}
