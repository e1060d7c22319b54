//go:build e2e

package e2e_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/e2e/cluster"
	"github.com/kinform/kinform/e2e/oracle"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestPipeline runs informers and controllers on a real API server through everything
// that can come between them: writes, the death of the server or of its etcd in mid-watch,
// changes that were compacted away before the watch came back, refusals, and answers that
// are cut, slow, or never end. After each the stores must equal the server's lists object
// for object, and in the end no connection may be left.
func TestPipeline(t *testing.T) {
	// The configmaps come from etcd itself, so that a compaction shows as 410. Now and then
	// the server asks a client to leave a connection.
	c := cluster.Start(t, cluster.Options{ExtraAPIServerArgs: []string{"--watch-cache-sizes=configmaps#0", "--goaway-chance=0.02"}})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	server := &oracle.Client{URL: c.URL(), HTTP: c.HTTPClient()}
	shape := oracle.Shape{Namespaces: 20, ConfigMaps: 1000, Pods: 1000}
	if err := oracle.Fill(ctx, server, shape); err != nil {
		t.Fatal(err)
	}
	d := &dialer{}
	conn, err := client.NewConnection(c.URL(), client.ConnectionOptions{CAFile: c.CAFile(), Token: c.Token(), DialContext: d.DialContext})
	if err != nil {
		t.Fatal(err)
	}
	defer d.noneOpen(t, conn.HTTP)
	g := newGate(conn.HTTP.Transport)
	f := &faults{through: g}
	all := collections(t, c, &http.Client{Transport: f})
	for _, col := range all {
		col.start(t)
		defer col.stop(t)
	}
	for _, col := range all {
		col.waitForSync(ctx, t)
	}
	p := &phases{ctx: ctx, cluster: c, gate: g, faults: f, churn: newChurn(server, 1, shape), all: all}
	for _, phase := range []struct {
		name string
		do   func(*testing.T)
	}{
		{"initial list", func(*testing.T) {}},
		{"churn", p.change},
		{"server killed in mid-watch", p.kill(c.APIServer)},
		{"etcd killed in mid-watch", p.kill(c.Etcd)},
		{"changes compacted away", p.compact},
		{"refused for now", p.spoilWatches(refusing(http.StatusTooManyRequests))},
		{"errors of servers and proxies", p.spoilWatches(refusing(500, 502, 503, 504))},
		{"bodies cut", p.spoilWatches(damaging(truncated))},
		{"bodies in drops", p.spoilWatches(damaging(dripping))},
		{"bodies that hang", p.spoilWatches(damaging(hanging))},
	} {
		if !t.Run(phase.name, func(t *testing.T) {
			phase.do(t)
			for _, col := range all {
				col.catchUp(ctx, t)
			}
			for _, col := range all {
				col.check(ctx, t)
			}
		}) {
			return
		}
	}
}

func collections(t *testing.T, c *cluster.Cluster, hc *http.Client) []collection {
	return []collection{
		newPipeline[corev1.ConfigMap](t, c, hc, selected{
			name: "configmaps", resource: "configmaps", sentinel: "cm-00000",
		}),
		newPipeline[corev1.Pod](t, c, hc, selected{
			name: "pods", resource: "pods", sentinel: "pod-00000",
		}),
		newPipeline[corev1.Pod](t, c, hc, selected{
			name: "pods of shard 0", resource: "pods", sentinel: "pod-00000",
			selection: client.Options{LabelSelector: oracle.ShardLabel + "=0"},
		}),
		newPipeline[corev1.Pod](t, c, hc, selected{
			name: "pods of a node in a namespace", resource: "pods", sentinel: "pod-00000",
			selection: client.Options{Namespace: oracle.NamespaceName(0), FieldSelector: "spec.nodeName=node-0"},
		}),
		newPipeline[metav1.PartialObjectMetadata](t, c, hc, selected{
			name: "metadata of configmaps", resource: "configmaps", sentinel: "cm-00000", watchTimeout: time.Second,
		}),
	}
}

// phases are the things that happen to the servers.
type phases struct {
	ctx     context.Context
	cluster *cluster.Cluster
	gate    *gate
	faults  *faults
	churn   *churn
	all     []collection
}

func (p *phases) change(t *testing.T) {
	if err := p.churn.make(p.ctx, 400); err != nil {
		t.Fatal(err)
	}
}

// kill ends a server with SIGKILL while all is written to and watched.
func (p *phases) kill(server *cluster.Process) func(*testing.T) {
	return func(t *testing.T) {
		changed := make(chan error, 1)
		go func() { changed <- p.churn.make(p.ctx, 300) }()
		server.Kill()
		if err := server.Start(p.ctx); err != nil {
			t.Error(err)
		}
		if err := <-changed; err != nil {
			t.Fatal(err)
		}
	}
}

// compact makes changes that no watch sees and has etcd forget them.
func (p *phases) compact(t *testing.T) {
	configmaps := p.all[0]
	before := configmaps.relisted()
	p.gate.Shut()
	if err := p.churn.make(p.ctx, 300); err != nil {
		t.Fatal(err)
	}
	_, rv, err := oracle.List[metav1.PartialObjectMetadata](p.ctx, p.churn.server, oracle.Path("configmaps", "", ""), metav1.ListOptions{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cluster.Compact(p.ctx, rv); err != nil {
		t.Fatal(err)
	}
	p.gate.Open()
	if err := eventually(p.ctx, func() bool { return configmaps.relisted() > before }); err != nil {
		t.Error("the configmaps were not listed again")
	}
}
