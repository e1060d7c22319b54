package main

import (
	"cmp"
	"context"
	"net/http"
	"net/url"

	corev1 "k8s.io/api/core/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/examples/quickstart/internal/demo"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/with/kubeconfig"
	"github.com/kinform/kinform/with/kubernetes/core"
)

// cluster has the pods and their summaries.
type cluster struct {
	title string // the cluster's description for people

	forPods, forSummaries client.Connection
	namespace             string // namespace of the summaries
	inMemory              bool   // the summaries are not in a real cluster
	disconnect            func() // closes idle connections

	// Clients that read the servers, to compare them with the caches.
	pods      *client.Resource[*corev1.Pod]
	summaries *client.Resource[*corev1.ConfigMap]

	// change keeps the pods changing until its context is done. It is nil for a real cluster,
	// which changes without help.
	change func(context.Context) error
	// bookmark sends the server's current version to the watches. It is nil for a real
	// cluster, which does so at intervals.
	bookmark func()
}

// connect finds the cluster that o selects. It sends nothing to it.
func connect(o options, note func(string)) (*cluster, error) {
	if !o.real() {
		return connectDemo(o, note)
	}
	conn, title, err := o.connection()
	if err != nil {
		return nil, err
	}
	c := &cluster{
		title:      title,
		namespace:  cmp.Or(o.write, summaryNamespace),
		disconnect: func() { utilnet.CloseIdleConnectionsFor(cmp.Or(conn.HTTP.Transport, http.DefaultTransport)) },
	}
	if o.write == "" {
		// Read-only: the summaries go to a separate server in memory.
		server, err := demo.NewServer()
		if err != nil {
			return nil, err
		}
		c.inMemory = true
		return c, c.open(conn, inMemory(server))
	}
	c.title += ", writing to namespace " + o.write
	return c, c.open(conn, conn)
}

func connectDemo(o options, note func(string)) (*cluster, error) {
	server, err := demo.NewServer()
	if err != nil {
		return nil, err
	}
	pods, err := demo.Populate(server, demo.Options{Pods: o.pods, Changes: o.changes, Seed: o.seed, Note: note})
	if err != nil {
		return nil, err
	}
	conn := inMemory(server)
	slow := conn
	slow.HTTP = &http.Client{Transport: demo.SlowList(conn.HTTP.Transport, o.pods)}
	c := &cluster{
		title:      "a Kubernetes API server in memory",
		namespace:  summaryNamespace,
		inMemory:   true,
		disconnect: func() {},
		change:     pods.Change,
		bookmark:   server.Bookmark,
	}
	return c, c.open(slow, conn)
}

func inMemory(server *fake.Server) client.Connection {
	return client.Connection{URL: fake.URL, HTTP: server.Client()}
}

// open sets the connections and makes the clients.
func (c *cluster) open(pods, summaries client.Connection) (err error) {
	c.forPods, c.forSummaries = pods, summaries
	c.pods, err = client.New(pods, core.Pods, client.Options{})
	if err != nil {
		return err
	}
	c.summaries, err = client.New(summaries, core.ConfigMaps, summaryOptions(c.namespace))
	return err
}

// connection returns the connection to the real cluster that o selects: by a plain URL, or by
// a kubeconfig, including credential plugins and proxies.
func (o options) connection() (conn client.Connection, title string, err error) {
	if o.server != "" {
		conn, err = client.NewConnection(o.server, client.ConnectionOptions{})
	} else {
		var found kubeconfig.Cluster
		found, err = kubeconfig.Load(kubeconfig.Options{Path: o.kubeconfig, Context: o.context})
		conn = found.Connection
	}
	if err != nil {
		return conn, "", err
	}
	server, err := url.Parse(conn.URL)
	if err != nil {
		return conn, "", err
	}
	conn.UserAgent = "kinform-quickstart"
	return conn, "cluster at " + server.Host, nil
}
