package e2e_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/e2e/cluster"
	"github.com/kinform/kinform/e2e/oracle"
)

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{}
	a.cert, a.key = certify(t, nil, &x509.Certificate{
		Subject: pkix.Name{CommonName: "CA " + randomID()}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	})
	a.pem = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
	return a
}

// certify makes a certificate that by signs, or itself.
func certify(t *testing.T, by *authority, c *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c.SerialNumber, c.NotBefore, c.NotAfter = big.NewInt(time.Now().UnixNano()), time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	if by == nil {
		by = &authority{cert: c, key: key}
	}
	der, err := x509.CreateCertificate(rand.Reader, c, by.cert, key.Public(), by.key)
	if err != nil {
		t.Fatal(err)
	}
	if c, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return c, key
}

// issue writes a certificate of c and its key to dir, as NAME.crt and NAME.key.
func (a *authority) issue(t *testing.T, dir, name string, c x509.Certificate) {
	t.Helper()
	c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}
	cert, key := certify(t, a, &c)
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, name+".crt"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw}))
	write(t, filepath.Join(dir, name+".key"), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}))
}

func write(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// pki is what the API server and its clients identify themselves by, on disk.
type pki struct {
	server, clients string // directories
	tokens          []byte // of the cluster itself
}

var (
	servingCert = x509.Certificate{Subject: pkix.Name{CommonName: "kube-apiserver"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	adminCert   = x509.Certificate{Subject: pkix.Name{CommonName: "by-certificate", Organization: []string{"system:masters"}}}
)

// allow makes token the one that the API server accepts after its next start.
func (p *pki) allow(t *testing.T, token string) {
	t.Helper()
	line := []byte(token + `,by-token,by-token,"system:masters"` + "\n")
	write(t, filepath.Join(p.server, "tokens.csv"), append(p.tokens[:len(p.tokens):len(p.tokens)], line...))
}

// TestCredentialsRotate replaces all that client and server know each other by, while
// informers run on connections that read it from files. One more thing that a connection
// has to notice is that nothing comes through it any more.
func TestCredentialsRotate(t *testing.T) {
	first, second := newAuthority(t), newAuthority(t)
	p := &pki{server: t.TempDir(), clients: t.TempDir()}
	inServer := func(name string) string { return filepath.Join(p.server, name) }
	inClients := func(name string) string { return filepath.Join(p.clients, name) }
	if err := os.Mkdir(inServer("certs"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, inServer("certs/apiserver.crt"), append(first.pem, second.pem...)) // for the test's own clients
	write(t, inServer("clients-ca.crt"), first.pem)
	first.issue(t, p.server, "serving", servingCert)
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

	write(t, inClients("ca.crt"), first.pem)
	write(t, inClients("token"), []byte("token-1\n"))
	first.issue(t, p.clients, "client", adminCert)
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
	defer d.noneOpen(t, byCert.HTTP)
	defer byToken.HTTP.CloseIdleConnections()
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
			second.issue(t, p.server, "serving", servingCert)
			restart()
			write(t, inClients("ca.crt"), second.pem)
		}},
		{"certificate of the client", func(t *testing.T) {
			write(t, inServer("clients-ca.crt"), second.pem)
			restart()
			second.issue(t, p.clients, "client", adminCert)
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
