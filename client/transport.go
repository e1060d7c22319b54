package client

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kinform/kinform/internal/logs"
)

// rereadAfter is the time for which a credential from a file is used without looking at the
// file. That is early enough: the kubelet renews the token of a service account after 80% of
// its life of an hour.
const rereadAfter = time.Minute

// drainLimit is the number of bytes of an unread answer that are read to reuse its
// connection. Closing the connection is cheaper than reading more.
const drainLimit = 64 << 10

// login is the state of the credentials at one time, with the connections made from them.
// Immutable.
type login struct {
	secrets       secrets
	authorization []string        // the header with the token; nil without one
	send          *http.Transport // made from all credentials but the token
}

func newLogin(s secrets, send *http.Transport) *login {
	l := &login{secrets: s, send: send}
	if s.token != "" {
		l.authorization = []string{"Bearer " + s.token}
	}
	return l
}

// transport sends requests to one server, with credentials that may change on disk.
type transport struct {
	server *url.URL          // set once
	opts   ConnectionOptions // set once
	turns  *turns            // set once
	spare  sync.Pool         // of *gzip.Reader: see unzipped

	current atomic.Pointer[login] // set under reading
	read    atomic.Int64          // when the files were last read, in Unix nanoseconds; set under reading

	reading    sync.Mutex      // held while files are read; only refused requests wait for it
	retired    *http.Transport // the one before current's; it may still have watches
	reported   string          // the faults reported last
	reportedAt time.Time       // when they were reported
}

func newTransport(server *url.URL, opts ConnectionOptions) (*transport, error) {
	t := &transport{server: server, opts: opts, turns: newTurns()}
	if t.opts.OnError == nil {
		t.opts.OnError = logs.New(nil, "client", "").Error
	}
	if opts.Token != "" {
		opts.TokenFile = "" // it may be unreadable for now
	}
	s, faults := opts.read(secrets{})
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	send, err := opts.sender(s)
	if err != nil {
		return nil, err
	}
	t.current.Store(newLogin(s, send))
	t.read.Store(time.Now().UnixNano())
	if opts.TokenFile != t.opts.TokenFile {
		t.renew(t.current.Load())
	}
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
		faults := t.reread()
		t.reading.Unlock()
		t.report(faults)
	}
	used := t.current.Load()
	resp, err := used.roundTrip(req, t.turns)
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
	return fresh.roundTrip(again, t.turns)
}

func (l *login) roundTrip(req *http.Request, turns *turns) (*http.Response, error) {
	if l.authorization != nil && req.Header.Get("Authorization") == "" {
		req = req.WithContext(req.Context()) // a copy
		req.Header = maps.Clone(req.Header)
		req.Header["Authorization"] = l.authorization
	}
	return turns.send(l.send, req)
}

// doubtful reports whether other credentials might have succeeded. In both cases the server
// has done nothing.
func doubtful(resp *http.Response, err error) bool {
	if err == nil {
		return resp.StatusCode == http.StatusUnauthorized
	}
	var untrusted *tls.CertificateVerificationError
	return errors.As(err, &untrusted)
}

// rewind prepares the request for another try, if its body can be read again.
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

// renew reads the files, unless another goroutine has done so since used was current, and
// returns the current login.
func (t *transport) renew(used *login) *login {
	t.reading.Lock()
	var faults []error
	if t.current.Load() == used {
		faults = t.reread()
	}
	t.reading.Unlock()
	t.report(faults)
	return t.current.Load()
}

// report reports problems with files. Called with no lock held.
func (t *transport) report(faults []error) {
	for _, err := range faults {
		t.opts.OnError(err)
	}
}

// reread reads the files and returns the errors to report. The caller holds reading.
func (t *transport) reread() []error {
	now := time.Now()
	t.read.Store(now.UnixNano())
	old := t.current.Load()
	s, faults := t.opts.read(old.secrets)
	if s != old.secrets {
		next := newLogin(s, old.send)
		if s.token = old.secrets.token; s != old.secrets {
			// A connection keeps its certificates for life, and HTTP/2 would keep using it.
			send, err := t.opts.sender(s)
			if err != nil {
				return append(faults, err) // impossible: read has tried it
			}
			next.send = send
		}
		t.current.Store(next)
		if next.send != old.send {
			t.retire(old)
		}
	}
	return t.unreported(faults, now)
}

// unreported returns the faults, unless the same ones were reported less than a minute ago.
func (t *transport) unreported(faults []error, now time.Time) []error {
	text := fmt.Sprint(faults)
	if text == t.reported && now.Sub(t.reportedAt) < rereadAfter {
		return nil
	}
	t.reported, t.reportedAt = text, now
	return faults
}

// retire takes a login out of use. Requests in progress stay on its connections. The caller holds reading.
func (t *transport) retire(old *login) {
	t.closeRetired()
	t.retired = old.send
	t.closeRetired()
}

// closeRetired closes the idle connections of the last login that was retired. The caller holds reading.
func (t *transport) closeRetired() {
	if t.retired != nil {
		t.retired.CloseIdleConnections()
	}
}

// refresh makes new requests use new connections. Requests in progress stay on the old ones,
// which may be dead without anybody knowing.
func (t *transport) refresh() {
	t.reading.Lock()
	defer t.reading.Unlock()
	old := t.current.Load()
	send, err := t.opts.sender(old.secrets)
	if err != nil {
		return // impossible: the same options worked before
	}
	t.current.Store(newLogin(old.secrets, send))
	t.retire(old)
}

// CloseIdleConnections is called by the method of http.Client of that name.
func (t *transport) CloseIdleConnections() {
	t.current.Load().send.CloseIdleConnections()
	t.reading.Lock()
	defer t.reading.Unlock()
	t.closeRetired()
}

// Format implements fmt.Formatter. Connection.HTTP leads to the transport, and fmt would print
// the credentials in it.
func (t *transport) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "transport{Server:%q}", t.server.Host)
}
