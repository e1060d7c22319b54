package client

import (
	"encoding/pem"
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// testAuthority is a certificate in PEM.
func testAuthority(t *testing.T) string {
	t.Helper()
	srv := httptest.NewTLSServer(nil)
	defer srv.Close()
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}))
}

func TestInCluster(t *testing.T) {
	dir := t.TempDir()
	var opts ConnectionOptions
	write := func(name, content string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	connect := func(host, port string) (Connection, error) {
		env := map[string]string{"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}
		return inCluster(func(name string) string { return env[name] }, dir, opts)
	}
	for _, env := range [][2]string{{"", ""}, {"10.0.0.1", ""}, {"", "443"}} {
		if _, err := connect(env[0], env[1]); !errors.Is(err, ErrNotInCluster) {
			t.Errorf("%q: %v", env, err)
		}
	}
	_, err := connect("10.0.0.1", "443")
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "service account") {
		t.Error("no files:", err)
	}
	write("token", "secret")
	write("ca.crt", "garbage")
	if _, err := connect("10.0.0.1", "443"); err == nil || !strings.Contains(err.Error(), "ca.crt") || strings.Contains(err.Error(), "secret") {
		t.Error("no CA:", err)
	}
	write("ca.crt", testAuthority(t))
	for _, test := range []struct{ host, port, url string }{
		{"10.0.0.1", "443", "https://10.0.0.1:443"},
		{"fd00::1", "6443", "https://[fd00::1]:6443"},
		{"kubernetes.default.svc", "443", "https://kubernetes.default.svc:443"},
	} {
		conn, err := connect(test.host, test.port)
		if err != nil || conn.URL != test.url {
			t.Errorf("%+v: %v, want %s", conn, err, test.url)
		}
		opts := conn.HTTP.Transport.(*transport).opts
		if opts.Insecure || opts.TokenFile != filepath.Join(dir, "token") || opts.CAFile != filepath.Join(dir, "ca.crt") {
			t.Errorf("%+v", opts)
		}
	}
	opts = ConnectionOptions{CA: []byte(testAuthority(t)), Token: "mine"}
	conn, err := connect("10.0.0.1", "443")
	if err != nil {
		t.Fatal(err)
	}
	if got := conn.HTTP.Transport.(*transport).opts; got.CAFile != "" || got.TokenFile != "" {
		t.Errorf("%+v", got)
	}
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	if _, err := InCluster(ConnectionOptions{}); !errors.Is(err, ErrNotInCluster) {
		t.Error(err)
	}
}
