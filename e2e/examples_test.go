//go:build e2e

package e2e_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/e2e/cluster"
	"github.com/kinform/kinform/examples/clusters"
	exampledeployments "github.com/kinform/kinform/examples/deployments"
	"github.com/kinform/kinform/examples/join"
	"github.com/kinform/kinform/examples/metadata"
	"github.com/kinform/kinform/examples/metrics"
	examplepods "github.com/kinform/kinform/examples/pods"
	"github.com/kinform/kinform/examples/projection"
	"github.com/kinform/kinform/with/kubernetes/apps"
	"github.com/kinform/kinform/with/kubernetes/core"
	"github.com/kinform/kinform/with/kubernetes/discovery"
)

// TestExamples runs the examples on a real server, which no other controller works on. TestAuthor
// does so with examples/website.
func TestExamples(t *testing.T) {
	c := cluster.Start(t, cluster.Options{})
	conn := connect(t, c)
	for name, test := range map[string]func(context.Context, *testing.T, client.Connection){
		"join": testJoin, "metadata": testTeamLabels, "projection": testProjection, "deployments": testDeployments, "clusters": testClusters,
		"pods": testPods, "metrics": testMetrics,
		"readme":     func(ctx context.Context, t *testing.T, conn client.Connection) { testReadme(ctx, t, c, conn) },
		"dashboard":  func(ctx context.Context, t *testing.T, conn client.Connection) { testDashboard(ctx, t, c, conn) },
		"quickstart": func(ctx context.Context, t *testing.T, conn client.Connection) { testQuickstart(ctx, t, c, conn) },
		"memory":     func(ctx context.Context, t *testing.T, conn client.Connection) { testMemory(ctx, t, c, conn) },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			test(ctx, t, conn)
		})
	}
}

func connect(t *testing.T, c *cluster.Cluster) client.Connection {
	t.Helper()
	conn, err := client.NewConnection(c.URL(), client.ConnectionOptions{CAFile: c.CAFile(), Token: c.Token()})
	must(t, err)
	t.Cleanup(conn.HTTP.CloseIdleConnections)
	return conn
}

// work runs a program until the test ends.
func work(ctx context.Context, t *testing.T, run func(context.Context) error) {
	t.Helper()
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func newPod(namespace, name string, labels map[string]string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "registry.k8s.io/pause:3.10"}}},
	}
}

// within returns a new namespace and its pods.
func within(ctx context.Context, t *testing.T, conn client.Connection, name string, labels map[string]string) *client.Resource[*corev1.Pod] {
	t.Helper()
	_, err := resource(t, conn, core.Namespaces, client.Options{}).Create(ctx,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}, metav1.CreateOptions{})
	must(t, err)
	return resource(t, conn, core.Pods, client.Options{Namespace: name})
}

func testJoin(ctx context.Context, t *testing.T, conn client.Connection) {
	pods := within(ctx, t, conn, "join", nil)
	services := resource(t, conn, core.Services, client.Options{Namespace: "join"})
	web := map[string]string{"app": "web"}
	_, err := services.Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "join", Name: "web"},
		Spec:       corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, Selector: web},
	}, metav1.CreateOptions{})
	must(t, err)
	first, err := pods.Create(ctx, newPod("join", "web-0", web), metav1.CreateOptions{})
	must(t, err)
	_, err = pods.Create(ctx, newPod("join", "web-1", web), metav1.CreateOptions{})
	must(t, err)
	work(ctx, t, func(ctx context.Context) error { return join.Run(ctx, conn) })
	want := func(text string) {
		t.Helper()
		must(t, eventually(ctx, func() bool {
			s, err := services.Get(ctx, kinform.Key{Namespace: "join", Name: "web"}, metav1.GetOptions{})
			return err == nil && s.Annotations[join.Annotation] == text
		}))
	}
	want("0/2")
	ready := true
	_, err = resource(t, conn, discovery.EndpointSlices, client.Options{Namespace: "join"}).Create(ctx, &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: "join", Name: "web-1", Labels: map[string]string{discoveryv1.LabelServiceName: "web"}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints: []discoveryv1.Endpoint{{
			Addresses: []string{"10.1.2.3"}, Conditions: discoveryv1.EndpointConditions{Ready: &ready},
			TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: "join", Name: first.Name, UID: first.UID},
		}},
	}, metav1.CreateOptions{})
	must(t, err)
	want("1/2")
	must(t, pods.Delete(ctx, kinform.Key{Namespace: "join", Name: "web-1"}, *metav1.NewDeleteOptions(0)))
	want("1/1")
}

func testTeamLabels(ctx context.Context, t *testing.T, conn client.Connection) {
	within(ctx, t, conn, "team", map[string]string{metadata.Label: "blue"})
	secrets := resource(t, conn, core.Secrets, client.Options{Namespace: "team"})
	_, err := secrets.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "s"}, StringData: map[string]string{"a": "b"},
	}, metav1.CreateOptions{})
	must(t, err)
	work(ctx, t, func(ctx context.Context) error { return metadata.Run(ctx, conn) })
	want := func(team string) {
		t.Helper()
		must(t, eventually(ctx, func() bool {
			s, err := secrets.Get(ctx, kinform.Key{Namespace: "team", Name: "s"}, metav1.GetOptions{})
			return err == nil && s.Labels[metadata.Label] == team && string(s.Data["a"]) == "b"
		}))
	}
	want("blue")
	_, err = resource(t, conn, core.Namespaces, client.Options{}).Patch(ctx, kinform.Key{Name: "team"}, types.MergePatchType,
		fmt.Appendf(nil, `{"metadata":{"labels":{%q:"red"}}}`, metadata.Label), metav1.PatchOptions{})
	must(t, err)
	want("red")
}

func testProjection(ctx context.Context, t *testing.T, conn client.Connection) {
	pods := within(ctx, t, conn, "restarts", nil)
	within(ctx, t, conn, "quiet", nil)
	pod, err := pods.Create(ctx, newPod("restarts", "p", nil), metav1.CreateOptions{})
	must(t, err)
	var mu sync.Mutex
	heard := map[kinform.Key]int32{}
	report := func(_ context.Context, key kinform.Key, n int32) error {
		mu.Lock()
		defer mu.Unlock()
		heard[key] = n
		return nil
	}
	work(ctx, t, func(ctx context.Context) error { return projection.Run(ctx, conn, report, "restarts", "quiet") })
	key := kinform.Key{Namespace: "restarts", Name: "p"}
	want := func(n int32) {
		t.Helper()
		must(t, eventually(ctx, func() bool {
			mu.Lock()
			defer mu.Unlock()
			is, ok := heard[key]
			return ok && is == n && len(heard) == 1
		}))
	}
	want(0)
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", RestartCount: 3}}
	_, err = pods.UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	must(t, err)
	want(3)
	must(t, pods.Delete(ctx, key, *metav1.NewDeleteOptions(0)))
	want(0)
}

func testDeployments(ctx context.Context, t *testing.T, conn client.Connection) {
	pods := within(ctx, t, conn, "shop", nil)
	deploys := resource(t, conn, apps.Deployments, client.Options{Namespace: "shop"})
	labels := map[string]string{"app": "shop"}
	two := int32(2)
	pod := newPod("", "", labels)
	_, err := deploys.Create(ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "shop"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &two, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod.Spec},
		},
	}, metav1.CreateOptions{})
	must(t, err)
	work(ctx, t, func(ctx context.Context) error { return exampledeployments.Run(ctx, conn) })
	key := kinform.Key{Namespace: "shop", Name: "shop"}
	want := func(n int) {
		t.Helper()
		must(t, eventually(ctx, func() bool {
			d, err := deploys.Get(ctx, key, metav1.GetOptions{})
			have := 0
			for _, err := range pods.Items(ctx, metav1.ListOptions{}) {
				if err == nil {
					have++
				}
			}
			return err == nil && int(d.Status.Replicas) == n && have == n
		}))
	}
	want(2)
	_, err = deploys.Patch(ctx, key, types.MergePatchType, []byte(`{"spec":{"replicas":1}}`), metav1.PatchOptions{})
	must(t, err)
	want(1)
}

func testPods(ctx context.Context, t *testing.T, conn client.Connection) {
	within(ctx, t, conn, "prod", nil)
	var out strings.Builder
	must(t, examplepods.Run(ctx, conn, &out))
	if !strings.HasSuffix(out.String(), "prod/web is Running\ncreated again: AlreadyExists\ndeleted, and then: NotFound\n") {
		t.Errorf("it saw\n%s", out.String())
	}
}

func testMetrics(ctx context.Context, t *testing.T, conn client.Connection) {
	p, err := metrics.New(conn)
	must(t, err)
	work(ctx, t, p.Run)
	_, err = within(ctx, t, conn, "metrics", nil).Create(ctx, newPod("metrics", "p", nil), metav1.CreateOptions{})
	must(t, err)
	must(t, eventually(ctx, func() bool {
		page := httptest.NewRecorder()
		p.Page.ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		_, reconciles, _ := strings.Cut(page.Body.String(), `controller_runtime_reconcile_total{controller="pods",result="success"} `)
		return reconciles != "" && reconciles[0] != '0'
	}))
}

func testClusters(ctx context.Context, t *testing.T, hub client.Connection) {
	far := connect(t, cluster.Start(t, cluster.Options{}))
	configs := resource(t, far, core.ConfigMaps, client.Options{Namespace: "default"})
	work(ctx, t, func(ctx context.Context) error {
		return clusters.Run(ctx, hub, map[string]client.Connection{"far": far})
	})
	_, err := resource(t, hub, core.ConfigMaps, client.Options{Namespace: "default"}).Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "shared", Labels: map[string]string{clusters.Label: "true"}},
		Data:       map[string]string{"a": "b"},
	}, metav1.CreateOptions{})
	must(t, err)
	must(t, eventually(ctx, func() bool {
		c, err := configs.Get(ctx, kinform.Key{Namespace: "default", Name: "shared"}, metav1.GetOptions{})
		return err == nil && c.Data["a"] == "b"
	}))
}

// example builds an example that is a program, for a kubeconfig of the cluster.
func example(ctx context.Context, t *testing.T, c *cluster.Cluster, name string, args ...string) *exec.Cmd {
	t.Helper()
	dir := t.TempDir()
	config := filepath.Join(dir, "config")
	must(t, os.WriteFile(config, fmt.Appendf(nil, `apiVersion: v1
kind: Config
current-context: e2e
contexts: [{name: e2e, context: {cluster: e2e, user: e2e}}]
clusters: [{name: e2e, cluster: {server: %q, certificate-authority: %q}}]
users: [{name: e2e, user: {token: %q}}]
`, c.URL(), c.CAFile(), c.Token()), 0o600))
	built := filepath.Join(dir, name)
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", built, "../examples/"+name).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd := exec.Command(built, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+config)
	return cmd
}

// program runs an example until the test ends.
func program(ctx context.Context, t *testing.T, c *cluster.Cluster, name string, args ...string) {
	t.Helper()
	cmd := example(ctx, t, c, name, args...)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	must(t, cmd.Start())
	t.Cleanup(func() {
		err := cmd.Process.Signal(syscall.SIGTERM)
		if waited := cmd.Wait(); err != nil || waited != nil {
			t.Errorf("%v, %v: %s", err, waited, out.String())
		}
	})
}

// testQuickstart also fails if the cache differs from the server when the program ends: its exit
// status says so.
func testQuickstart(ctx context.Context, t *testing.T, c *cluster.Cluster, conn client.Connection) {
	pods := within(ctx, t, conn, "quickstart", nil)
	for n := range 3 {
		pod := newPod("quickstart", fmt.Sprint("p-", n), nil)
		pod.Spec.NodeName = "quick-1"
		_, err := pods.Create(ctx, pod, metav1.CreateOptions{})
		must(t, err)
	}
	program(ctx, t, c, "quickstart", "-plain", "-for", "0", "-context", "e2e", "-write", "quickstart")
	summaries := resource(t, conn, core.ConfigMaps, client.Options{Namespace: "quickstart"})
	want := func(n string) {
		t.Helper()
		must(t, eventually(ctx, func() bool {
			s, err := summaries.Get(ctx, kinform.Key{Namespace: "quickstart", Name: "node-summary-quick-1"}, metav1.GetOptions{})
			return err == nil && s.Data["pods"] == n
		}))
	}
	want("3")
	must(t, pods.Delete(ctx, kinform.Key{Namespace: "quickstart", Name: "p-0"}, *metav1.NewDeleteOptions(0)))
	want("2")
}

// testMemory runs the calculator for its usual kinds.
func testMemory(ctx context.Context, t *testing.T, c *cluster.Cluster, conn client.Connection) {
	_, err := within(ctx, t, conn, "memory", nil).Create(ctx, newPod("memory", "p", nil), metav1.CreateOptions{})
	must(t, err)
	out, err := example(ctx, t, c, "memory", "-sample", "100").CombinedOutput()
	must(t, err)
	rows, some := 0, map[string]bool{}
	for line := range strings.Lines(string(out)) {
		if line == "\n" {
			break // the notes
		}
		cells := strings.Fields(line)
		if rows++; rows > 1 {
			n, err := strconv.Atoi(cells[1])
			must(t, err) // an error stands in place of the number
			some[cells[0]] = n > 0
		}
	}
	if rows < 12 || !some["pods"] || !some["namespaces"] || !some["all"] {
		t.Errorf("the report is\n%s", out)
	}
}

func testReadme(ctx context.Context, t *testing.T, c *cluster.Cluster, conn client.Connection) {
	nodes := resource(t, conn, core.Nodes, client.Options{})
	_, err := nodes.Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}, metav1.CreateOptions{})
	must(t, err)
	program(ctx, t, c, "readme")
	pod := newPod("readme", "p", nil)
	pod.Spec.NodeName = "node-1"
	_, err = within(ctx, t, conn, "readme", nil).Create(ctx, pod, metav1.CreateOptions{})
	must(t, err)
	must(t, eventually(ctx, func() bool {
		node, err := nodes.Get(ctx, kinform.Key{Name: "node-1"}, metav1.GetOptions{})
		return err == nil && node.Annotations["pods"] == "1"
	}))
}

func testDashboard(ctx context.Context, t *testing.T, c *cluster.Cluster, conn client.Connection) {
	_, err := within(ctx, t, conn, "dashboard", nil).Create(ctx, newPod("dashboard", "p", nil), metav1.CreateOptions{})
	must(t, err)
	const listen = "127.0.0.1:18089"
	program(ctx, t, c, "dashboard", "-listen", listen)
	must(t, eventually(ctx, func() bool {
		resp, err := http.Get("http://" + listen)
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		page, err := io.ReadAll(resp.Body)
		return err == nil && strings.Contains(string(page), "\ndashboard  ")
	}))
	http.DefaultClient.CloseIdleConnections()
}
