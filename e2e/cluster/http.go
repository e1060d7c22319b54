package cluster

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
)

// lazyTransport is the transport that all clients of a cluster share. The API server writes its
// certificate on its first start, so the transport proper is made by the first request that finds
// the file.
type lazyTransport struct {
	caFile string // set once

	mu   sync.Mutex
	base *http.Transport // nil until the certificate was read
}

// RoundTrip returns an error until the API server has written its certificate.
func (l *lazyTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	base, err := l.transport()
	if err != nil {
		return nil, err
	}
	return base.RoundTrip(req)
}

func (l *lazyTransport) transport() (*http.Transport, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.base != nil {
		return l.base, nil
	}
	pem, err := os.ReadFile(l.caFile)
	if err != nil {
		return nil, fmt.Errorf("the API server has no certificate yet: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("no certificate in %s", l.caFile)
	}
	l.base = &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2: true,
	}
	return l.base, nil
}

func (l *lazyTransport) closeIdle() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.base != nil {
		l.base.CloseIdleConnections()
	}
}

// tokenTransport adds a bearer token to the requests of one user.
type tokenTransport struct {
	base  *lazyTransport
	token string
}

func (t tokenTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if t.token != "" {
		req = req.Clone(req.Context())
		req.Header.Set("Authorization", "Bearer "+t.token)
	}
	return t.base.RoundTrip(req)
}

// CloseIdleConnections serves http.Client's method of that name.
func (t tokenTransport) CloseIdleConnections() {
	t.base.closeIdle()
}

// ask makes a request and returns the body of the answer, which must be 200 OK.
func ask(ctx context.Context, client *http.Client, method, url string, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	out, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s %s: %s: %s", method, url, resp.Status, bytes.TrimSpace(out))
	}
	return out, nil
}
