//go:build e2e

package e2e_test

import (
	"context"
	"crypto/x509"
	"crypto/x509/pkix"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/e2e/cluster"
	"github.com/kinform/kinform/e2e/oracle"
	"github.com/kinform/kinform/e2e/pki"
)

func newAuthority(t *testing.T) *pki.Authority {
	t.Helper()
	a, err := pki.New()
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func issue(t *testing.T, by *pki.Authority, dir, name string, c x509.Certificate) {
	t.Helper()
	if err := by.Issue(dir, name, c); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// identities are the certificates and keys of the API server and its clients, on disk.
type identities struct {
	server, clients string // directories
	tokens          []byte // of the cluster itself
}

var (
	servingCert = x509.Certificate{Subject: pkix.Name{CommonName: "kube-apiserver"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	adminCert   = x509.Certificate{Subject: pkix.Name{CommonName: "by-certificate", Organization: []string{"system:masters"}}}
)

// allow makes token the one that the API server accepts after its next start.
func (p *identities) allow(t *testing.T, token string) {
	t.Helper()
	line := []byte(token + `,by-token,by-token,"system:masters"` + "\n")
	write(t, filepath.Join(p.server, "tokens.csv"), append(p.tokens[:len(p.tokens):len(p.tokens)], line...))
}

// TestCredentialsRotate replaces all that client and server know each other by, while
// informers run on connections that read it from files. One more thing that a connection
// has to notice is that nothing comes through it any more.
func TestCredentialsRotate(t *testing.T) {
	first, second := newAuthority(t), newAuthority(t)
	p := &identities{server: t.TempDir(), clients: t.TempDir()}
	inServer := func(name string) string { return filepath.Join(p.server, name) }
	inClients := func(name string) string { return filepath.Join(p.clients, name) }
	if err := os.Mkdir(inServer("certs"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, inServer("certs/apiserver.crt"), slices.Concat(first.PEM(), second.PEM())) // for the test's own clients
	write(t, inServer("clients-ca.crt"), first.PEM())
	issue(t, first, p.server, "serving", servingCert)
	c := cluster.Start(t, cluster.Options{Dir: p.server, ExtraAPIServerArgs: []string{
		"--tls-cert-file=" + inServer("serving.crt"), "--tls-private-key-file=" + inServer("serving.key"),
		"--client-ca-file=" + inServer("clients-ca.crt"),
	}})
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	var err error
	if p.tokens, err = os.ReadFile(inServer("tokens.csv")); err != nil {
		t.Fatal(err)
	}
	p.allow(t, "token-1")
	restart := func() {
		t.Helper()
		if err := c.APIServer.Restart(ctx); err != nil {
			t.Fatal(err)
		}
	}
	restart()
	server := &oracle.Client{URL: c.URL(), HTTP: c.HTTPClient()}
	if err := oracle.Fill(ctx, server, oracle.Shape{Namespaces: 2, ConfigMaps: 20, Pods: 20}); err != nil {
		t.Fatal(err)
	}

	write(t, inClients("ca.crt"), first.PEM())
	write(t, inClients("token"), []byte("token-1\n"))
	issue(t, first, p.clients, "client", adminCert)
	d := &dialer{}
	connect := func(opts client.ConnectionOptions) client.Connection {
		t.Helper()
		opts.CAFile, opts.DialContext = inClients("ca.crt"), d.DialContext
		conn, err := client.NewConnection(c.URL(), opts)
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}
	byToken := connect(client.ConnectionOptions{TokenFile: inClients("token")})
	byCert := connect(client.ConnectionOptions{CertFile: inClients("client.crt"), KeyFile: inClients("client.key")})
	defer d.noneOpen(t, byToken.HTTP, byCert.HTTP)
	// The idle timer of the informers is off: the connection has to notice by itself.
	all := []collection{
		newPipeline[corev1.ConfigMap](t, c, byToken.HTTP, selected{name: "by token", resource: "configmaps", sentinel: "cm-00000", idleTimeout: -1}),
		newPipeline[corev1.Pod](t, c, byCert.HTTP, selected{name: "by certificate", resource: "pods", sentinel: "pod-00000", idleTimeout: -1}),
	}
	for _, col := range all {
		col.start(t)
		defer col.stop(t)
	}
	for _, col := range all {
		col.waitForSync(ctx, t)
	}
	for _, phase := range []struct {
		name string
		do   func(*testing.T)
	}{
		{"certificate of the server", func(t *testing.T) {
			issue(t, second, p.server, "serving", servingCert)
			restart()
			write(t, inClients("ca.crt"), second.PEM())
		}},
		{"certificate of the client", func(t *testing.T) {
			write(t, inServer("clients-ca.crt"), second.PEM())
			restart()
			issue(t, second, p.clients, "client", adminCert)
		}},
		{"token", func(t *testing.T) {
			p.allow(t, "token-2")
			restart()
			write(t, inClients("token"), []byte("token-2\n"))
		}},
		{"connections that hang", func(*testing.T) { d.hang() }},
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
