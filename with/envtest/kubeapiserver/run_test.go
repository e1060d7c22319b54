package kubeapiserver

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/kinform/kinform/with/envtest/apiserver"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("k8s.io/klog/v2.(*flushDaemon).run.func1"))
}

// program is a running server.
type program struct {
	url, dir string
	stop     func() error
	errs     *output
}

// output is what a program prints.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

func startProgram(t *testing.T, args ...string) *program {
	t.Helper()
	p := &program{dir: t.TempDir(), errs: &output{}}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	p.url = "https://127.0.0.1:" + port
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- Run(ctx, apiserver.Options{}, append([]string{"--bind-address=127.0.0.1", "--secure-port", port, "--cert-dir=" + p.dir}, args...), io.Discard, p.errs)
	}()
	stopped := false
	p.stop = func() error {
		if stopped {
			return nil
		}
		stopped = true
		cancel()
		return <-ended
	}
	t.Cleanup(func() { _ = p.stop() })
	for {
		select {
		case err := <-ended:
			stopped = true
			cancel()
			t.Fatal(err)
		case <-time.After(time.Millisecond):
		}
		if c, err := net.Dial("tcp", "127.0.0.1:"+port); err == nil {
			_ = c.Close()
			return p
		}
	}
}

// client trusts the server's certificate, and shows its own, if it has one.
func (p *program) client(t *testing.T, own ...tls.Certificate) *http.Client {
	t.Helper()
	roots := x509.NewCertPool()
	text, err := os.ReadFile(filepath.Join(p.dir, "apiserver.crt"))
	if err != nil || !roots.AppendCertsFromPEM(text) {
		t.Fatal(err, "no certificate")
	}
	tr := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: own}}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

func get(t *testing.T, c *http.Client, url string) (int, string) {
	t.Helper()
	resp, err := c.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

func TestServes(t *testing.T) {
	p := startProgram(t, "--etcd-servers=http://127.0.0.1:1", "--allow-privileged=true", "--enable-garbage-collector", "--disable-admission-plugins=ServiceAccount")
	c := p.client(t)
	if code, body := get(t, c, p.url+"/healthz"); code != 200 || body != "ok" {
		t.Errorf("healthz: %d %s", code, body)
	}
	if code, body := get(t, c, p.url+"/api/v1/namespaces/default"); code != 200 {
		t.Errorf("the namespace default: %d %s", code, body)
	}
	if code, body := get(t, c, p.url+"/apis/apiextensions.k8s.io/v1/customresourcedefinitions"); code != 200 {
		t.Errorf("definitions: %d %s", code, body)
	}
	// An open watch does not hold it up.
	resp, err := c.Get(p.url + "/api/v1/pods?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if err := p.stop(); err != nil {
		t.Errorf("stop: %v", err)
	}
	if want := "without effect: --allow-privileged --disable-admission-plugins --enable-garbage-collector --etcd-servers\n"; !strings.HasPrefix(p.errs.String(), want) {
		t.Errorf("it printed %q, want %q", p.errs, want)
	}
}

// TestClientCertificates asks with certificates that a CA has signed, and one that it has not.
func TestClientCertificates(t *testing.T) {
	ca, other := newCA(t), newCA(t)
	file := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.cert.Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	p := startProgram(t, "--client-ca-file="+file, "--authorization-mode=Node,RBAC")
	for _, c := range []struct {
		cert tls.Certificate
		code int
		text string
	}{
		{ca.sign(t, "admin", "system:masters"), 200, ""},
		{ca.sign(t, "alice", "dev"), 403, `User \"alice\" cannot list resource \"pods\"`},
		{other.sign(t, "admin", "system:masters"), 401, "Unauthorized"},
	} {
		if code, body := get(t, p.client(t, c.cert), p.url+"/api/v1/pods"); code != c.code || !strings.Contains(body, c.text) {
			t.Errorf("%d %s, want %d %s", code, body, c.code, c.text)
		}
	}
}

func TestKeepsCertificate(t *testing.T) {
	p := startProgram(t)
	before, err := os.ReadFile(filepath.Join(p.dir, "apiserver.crt"))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.stop(); err != nil {
		t.Fatal(err)
	}
	var o options
	o.certDir = p.dir
	if _, err := o.certificate(); err != nil {
		t.Fatal(err)
	}
	if after, err := os.ReadFile(filepath.Join(p.dir, "apiserver.crt")); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the certificate was made anew (%v)", err)
	}
}

func TestBadCommandLines(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	for _, c := range []struct{ args, want string }{
		{"--nope", "unknown flag: --nope"},
		{"--secure-port=x", `invalid argument "x" for "--secure-port" flag`},
		{"pos", `"kube-apiserver" does not take any arguments, got ["pos"]`},
		{"--authorization-mode=Webhook", "--authorization-mode=Webhook"},
		{"--client-ca-file=/nonexistent/ca", "/nonexistent/ca"},
		{"--token-auth-file=/nonexistent/tokens", "/nonexistent/tokens"},
		{"--tls-cert-file=a", "--tls-cert-file and --tls-private-key-file belong together"},
		{"--tls-cert-file=/nonexistent/a --tls-private-key-file=/nonexistent/b", "/nonexistent/a"},
		{"--cert-dir=/dev/null/x", "/dev/null/x"},
		{"--bind-address=127.0.0.1 --secure-port=" + port + " --cert-dir=" + t.TempDir(), "address already in use"},
	} {
		if err := Run(context.Background(), apiserver.Options{}, strings.Fields(c.args), io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.args, err, c.want)
		}
	}
}

// TestHelp is what a test environment reads to find out which flags there are.
func TestHelp(t *testing.T) {
	var out bytes.Buffer
	if err := Run(context.Background(), apiserver.Options{}, []string{"--help"}, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	for flag, want := range map[string]bool{"secure-port": true, "etcd-servers": true, "insecure-port": false} {
		if got := regexp.MustCompile(`(?m)^\s*--` + flag + `\b`).Match(out.Bytes()); got != want {
			t.Errorf("--help shows %s: %t, want %t", flag, got, want)
		}
	}
	out.Reset()
	if err := Run(context.Background(), apiserver.Options{}, []string{"--version"}, &out, io.Discard); err != nil || !strings.HasPrefix(out.String(), "Kubernetes v1.") {
		t.Errorf("%v %s", err, &out)
	}
}

type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newCA(t *testing.T) authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ca"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	return authority{cert, key}
}

func (a authority) sign(t *testing.T, name string, groups ...string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name, Organization: groups}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		t.Fatal(fmt.Errorf("sign: %w", err))
	}
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}
}
