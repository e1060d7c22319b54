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
)

// cluster is where the pods are and where their summaries go.
type cluster struct {
	title string // says so, for people

	pods       *client.Resource[*corev1.Pod]
	summaries  *client.Resource[*corev1.ConfigMap]
	namespace  string // of the summaries
	inMemory   bool   // the summaries are not in a real cluster
	disconnect func() // closes idle connections

	// change keeps the pods changing until its context is done. It is nil for a real
	// cluster, which changes by itself.
	change func(context.Context) error
	// bookmark tells watches how far the server is, which a real one does by itself at
	// times. It is nil for one.
	bookmark func()
}

// connect finds the cluster that o asks for. It sends nothing to it.
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
		// Read-only: the summaries go to a server of their own, in memory.
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

// open makes the clients.
func (c *cluster) open(pods, summaries client.Connection) (err error) {
	c.pods, err = client.New[*corev1.Pod](pods, corev1.SchemeGroupVersion.WithResource("pods"), client.Options{Kind: "Pod"})
	if err != nil {
		return err
	}
	c.summaries, err = client.New[*corev1.ConfigMap](summaries, corev1.SchemeGroupVersion.WithResource("configmaps"), client.Options{
		Namespace:     c.namespace,
		LabelSelector: summaryLabel + "=" + summaryLabelValue,
		Kind:          "ConfigMap",
	})
	return err
}

// connection is that of the real cluster that o names: a plain URL, or what package kubeconfig
// makes of a kubeconfig, credential plugins and proxies included.
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
