//go:build e2e

package chaos_test

import (
	"context"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/e2e/beside"
	"github.com/kinform/kinform/e2e/cluster"
	"github.com/kinform/kinform/e2e/converter"
	"github.com/kinform/kinform/e2e/oracle"
	"github.com/kinform/kinform/e2e/pki"
	"github.com/kinform/kinform/e2e/proxy"
)

// user is the informers' user.
const user = "informer"

// world has the servers, their certificates and tokens, and the objects.
type world struct {
	cluster *cluster.Cluster
	server  *oracle.Client // as administrator, past the proxies
	churn   *churn
	hook    *converter.Converter
	now     contents // of gadgets
	changes int      // of now so far

	authorities [2]*pki.Authority // the server's certificate is of the first, and they change places
	dir         string
	tokens      []byte // the cluster's own
	token       int    // number of the informers' token
}

func (w *world) file(name string) string { return filepath.Join(w.dir, name) }

// newWorld starts the servers and makes the objects.
func newWorld(ctx context.Context, t *testing.T, seed uint64) *world {
	t.Helper()
	w := &world{dir: t.TempDir(), hook: converter.New(shade), now: contents{grade: "grade-0", shade: "shade-0"}}
	t.Cleanup(w.hook.Close)
	var err error
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range w.authorities {
		w.authorities[i], err = pki.New()
		must(err)
	}
	both := slices.Concat(w.authorities[0].PEM(), w.authorities[1].PEM())
	must(os.Mkdir(w.file("certs"), 0o700))
	must(write(w.file("certs/apiserver.crt"), both)) // for the administrator
	must(write(w.file("both-ca.crt"), both))
	must(write(w.file("ca.crt"), w.authorities[0].PEM()))
	must(w.certify())
	w.cluster = cluster.Start(t, cluster.Options{Dir: w.dir, ExtraAPIServerArgs: w.flags()})
	w.server = &oracle.Client{URL: w.cluster.URL(), HTTP: w.cluster.HTTPClient()}
	w.tokens, err = os.ReadFile(w.file("tokens.csv"))
	must(err)
	must(w.allow())
	must(write(w.file("token"), []byte(w.bearer())))
	must(w.cluster.APIServer.Restart(ctx))
	w.churn = newChurn(w.server, seed)
	must(w.populate(ctx))
	return w
}

// populate makes namespaces, the custom resource, the informers' role, and the objects.
func (w *world) populate(ctx context.Context) error {
	for i := range namespaces {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: oracle.NamespaceName(i)}}
		if _, err := oracle.Create(ctx, w.server, oracle.Path("namespaces", "", ""), ns); err != nil {
			return err
		}
	}
	definition := w.now.definition(w.hook)
	if _, err := oracle.Create(ctx, w.server, definitionsPath, &definition); err != nil {
		return err
	}
	if err := oracle.GrantReading(ctx, w.server, user); err != nil {
		return err
	}
	if err := allowCopier(ctx, w.server); err != nil {
		return err
	}
	return w.churn.fill(ctx)
}

// flags are the API server's flags, with some more.
func (w *world) flags(more ...string) []string {
	return append(slices.Clone(more), "--tls-cert-file="+w.file("serving.crt"), "--tls-private-key-file="+w.file("serving.key"))
}

// certify makes a serving certificate that the first authority signs.
func (w *world) certify() error {
	return w.authorities[0].Issue(w.dir, "serving", x509.Certificate{
		Subject: pkix.Name{CommonName: "kube-apiserver"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	})
}

func (w *world) bearer() string { return fmt.Sprintf("token-%d", w.token) }

// allow makes the informers' token the one that the API server accepts after its next start.
func (w *world) allow() error {
	line := fmt.Sprintf("%s,%s,%s\n", w.bearer(), user, user)
	return write(w.file("tokens.csv"), append(slices.Clone(w.tokens), line...))
}

// write replaces a file in one step, so that no reader sees half of it.
func write(name string, content []byte) error {
	if err := os.WriteFile(name+".new", content, 0o600); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}

// lane is a library with its way to the server.
type lane struct {
	side  *beside.Side
	proxy *proxy.Proxy
}

func (w *world) proxy() (*proxy.Proxy, error) {
	return proxy.New(strings.TrimPrefix(w.cluster.URL(), "https://"))
}

// connection returns a connection of Kinform through a proxy.
func (w *world) connection(p *proxy.Proxy) (client.Connection, error) {
	return client.NewConnection("https://"+p.Addr(), client.ConnectionOptions{
		CAFile: w.file("ca.crt"), TokenFile: w.file("token"), OnError: func(error) {},
	})
}

// kinform returns the lane of Kinform and its caches.
func (w *world) kinform() (*lane, []checkedCache, error) {
	p, err := w.proxy()
	if err != nil {
		return nil, nil, err
	}
	conn, err := w.connection(p)
	if err != nil {
		return nil, nil, err
	}
	all, err := kinformCaches(conn, &w.now)
	if err != nil {
		return nil, nil, err
	}
	run := func(ctx context.Context) error {
		group, ctx := errgroup.WithContext(ctx)
		for _, c := range all {
			group.Go(func() error { return c.Run(ctx) })
		}
		return group.Wait()
	}
	var caches []beside.Cache
	for _, c := range all {
		caches = append(caches, c)
	}
	return &lane{beside.NewSide(beside.KinformName, caches, run, conn.HTTP.CloseIdleConnections), p}, all, nil
}

// clientGo returns the lane of client-go. It trusts both authorities from the beginning.
func (w *world) clientGo() (*lane, error) {
	p, err := w.proxy()
	if err != nil {
		return nil, err
	}
	side, err := beside.ClientGo(watched, beside.Options{URL: "https://" + p.Addr(), CAFile: w.file("both-ca.crt"), TokenFile: w.file("token")})
	return &lane{side, p}, err
}
