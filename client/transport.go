package client

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"
)

// rereadAfter is how long a credential from a file is used without looking at the file.
// The kubelet changes the token of a service account when 80% of its life of an hour is
// over, so there is time.
const rereadAfter = time.Minute

// login is what the credentials were at one time, with the connections made by them.
// Immutable.
type login struct {
	secrets secrets
	send    *http.Transport // of those other than the token
}

// transport sends requests to one server, with credentials that may change on disk.
type transport struct {
	server *url.URL          // set once
	opts   ConnectionOptions // set once

	current atomic.Pointer[login] // set under reading
	read    atomic.Int64          // when the files were last read, in Unix nanoseconds; set under reading

	reading sync.Mutex      // held while files are read; no request waits for it but one that was refused
	retired *http.Transport // the one before current's; its watches may still go on
}

func newTransport(server *url.URL, opts ConnectionOptions) (*transport, error) {
	t := &transport{server: server, opts: opts}
	s, err := opts.read(secrets{})
	if err != nil {
		return nil, err
	}
	send, err := opts.sender(s)
	if err != nil {
		return nil, err
	}
	t.current.Store(&login{secrets: s, send: send})
	t.read.Store(time.Now().UnixNano())
	return t, nil
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme != t.server.Scheme || req.URL.Host != t.server.Host {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, fmt.Errorf("the connection is to %s, not to %s", t.server.Host, req.URL.Host)
	}
	if time.Now().UnixNano()-t.read.Load() >= int64(rereadAfter) && t.reading.TryLock() {
		t.reread()
		t.reading.Unlock()
	}
	used := t.current.Load()
	resp, err := used.roundTrip(req)
	if !doubtful(resp, err) {
		return resp, err
	}
	fresh := t.renew(used)
	if fresh == used {
		return resp, err
	}
	again, ok := rewind(req)
	if !ok {
		return resp, err
	}
	if resp != nil {
		_, _ = io.CopyN(io.Discard, resp.Body, drainLimit)
		_ = resp.Body.Close()
	}
	return fresh.roundTrip(again)
}

func (l *login) roundTrip(req *http.Request) (*http.Response, error) {
	if l.secrets.token != "" && req.Header.Get("Authorization") == "" {
		req = req.Clone(req.Context())
		req.Header.Set("Authorization", "Bearer "+l.secrets.token)
	}
	return l.send.RoundTrip(req)
}

// doubtful reports whether other credentials might have done better. Either way the server
// has not done anything.
func doubtful(resp *http.Response, err error) bool {
	var untrusted *tls.CertificateVerificationError
	return err == nil && resp.StatusCode == http.StatusUnauthorized || errors.As(err, &untrusted)
}

// rewind makes the request once more, if its body can be read again.
func rewind(req *http.Request) (*http.Request, bool) {
	if req.Body == nil || req.Body == http.NoBody {
		return req, true
	}
	if req.GetBody == nil {
		return nil, false
	}
	body, err := req.GetBody()
	if err != nil {
		return nil, false
	}
	again := req.Clone(req.Context())
	again.Body = body
	return again, true
}

// renew reads the files, unless somebody has done so since used was current, and returns
// what is current then.
func (t *transport) renew(used *login) *login {
	t.reading.Lock()
	defer t.reading.Unlock()
	if t.current.Load() == used {
		t.reread()
	}
	return t.current.Load()
}

// reread reads the files. The caller holds reading.
func (t *transport) reread() {
	t.read.Store(time.Now().UnixNano())
	old := t.current.Load()
	s, _ := t.opts.read(old.secrets)
	if s == old.secrets {
		return
	}
	next := &login{secrets: old.secrets, send: old.send}
	next.secrets.token = s.token
	if s != next.secrets {
		// A connection keeps its certificates for life, and HTTP/2 would go on using it.
		if send, err := t.opts.sender(s); err == nil {
			next.secrets, next.send = s, send
		}
	}
	t.current.Store(next)
	if next.send != old.send {
		t.closeRetired()
		t.retired = old.send
		t.closeRetired()
	}
}

func (t *transport) closeRetired() {
	if t.retired != nil {
		t.retired.CloseIdleConnections()
	}
}

// CloseIdleConnections serves the method of http.Client of that name.
func (t *transport) CloseIdleConnections() {
	t.current.Load().send.CloseIdleConnections()
	t.reading.Lock()
	defer t.reading.Unlock()
	t.closeRetired()
}
