package pki_test

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"net"
	"path/filepath"
	"testing"

	"github.com/kinform/kinform/e2e/pki"
)

func TestIssue(t *testing.T) {
	first, err := pki.New()
	if err != nil {
		t.Fatal(err)
	}
	second, err := pki.New()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	template := x509.Certificate{Subject: pkix.Name{CommonName: "server"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	if err := first.Issue(dir, "serving", template); err != nil {
		t.Fatal(err)
	}
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "serving.crt"), filepath.Join(dir, "serving.key"))
	if err != nil {
		t.Fatal(err)
	}
	for authority, trusted := range map[*pki.Authority]bool{first: true, second: false} {
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(authority.PEM())
		_, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: "127.0.0.1"})
		if (err == nil) != trusted {
			t.Errorf("trusted %v, want %v: %v", err == nil, trusted, err)
		}
	}
}
