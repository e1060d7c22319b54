package client_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/kinform/kinform/client"
)

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	a := &authority{}
	a.cert, a.key, a.pem = certificate(t, nil, &x509.Certificate{
		Subject: pkix.Name{CommonName: "CA"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	})
	return a
}

// certificate makes one that parent has signed, or it itself.
func certificate(t testing.TB, parent *authority, c *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	// Valid by the clock of a synctest bubble and by the machine's.
	c.NotBefore, c.NotAfter = time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC)
	c.SerialNumber, err = rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		t.Fatal(err)
	}
	signer, signKey := c, key
	if parent != nil {
		signer, signKey = parent.cert, parent.key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, signer, key.Public(), signKey)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return parsed, key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// issue makes a certificate for servers and clients, in PEM.
func (a *authority) issue(t testing.TB, name string) (cert, key []byte) {
	t.Helper()
	_, k, cert := certificate(t, a, &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	})
	der, err := x509.MarshalECPrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return cert, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
}

// memServer is an API server in memory.
type memServer struct {
	*pipes
	stop func()
}

// serveTLS serves by TLS, and takes client certificates if there is an authority for them.
func serveTLS(t testing.TB, cert, key []byte, clients *authority, h http.HandlerFunc) *memServer {
	t.Helper()
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	conf := &tls.Config{Certificates: []tls.Certificate{pair}}
	if clients != nil {
		conf.ClientAuth, conf.ClientCAs = tls.VerifyClientCertIfGiven, x509.NewCertPool()
		conf.ClientCAs.AddCert(clients.cert)
	}
	return newServer(&http.Server{Handler: h, TLSConfig: conf})
}

// servePlain is the same without TLS.
func servePlain(h http.HandlerFunc) *memServer { return newServer(&http.Server{Handler: h}) }

func newServer(srv *http.Server) *memServer {
	s := &memServer{pipes: newPipes()}
	srv.ErrorLog = log.New(io.Discard, "", 0)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if srv.TLSConfig != nil {
			_ = srv.ServeTLS(s, "", "")
		} else {
			_ = srv.Serve(s)
		}
	}()
	s.stop = sync.OnceFunc(func() {
		_ = srv.Close()
		<-ended
	})
	return s
}

// files are credentials on disk.
type files struct{ dir string }

func newFiles(t testing.TB) files { return files{dir: t.TempDir()} }

func (f files) path(name string) string { return filepath.Join(f.dir, name) }

func (f files) write(t testing.TB, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(f.path(name), content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func connect(t testing.TB, url string, opts client.ConnectionOptions) client.Connection {
	t.Helper()
	conn, err := client.NewConnection(url, opts)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}
