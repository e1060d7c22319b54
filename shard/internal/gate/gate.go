// Package gate refuses the writes of a process whose lease is over, and ends those that are under way.
package gate

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/kinform/kinform/client"
)

// Gate is the gate of one process. It is closed until Limit opens it. Its methods may be called from any goroutine.
type Gate struct {
	// Set by New and never changed.
	refused error
	cut     error

	mu     sync.Mutex
	until  time.Time           // when writes must end, unless the lease is renewed
	writes map[*write]struct{} // those under way
}

// New returns a gate. refused is the cause of the error of a write that was not sent, and cut of one that was under way
// when the gate closed.
func New(refused, cut error) *Gate {
	return &Gate{refused: refused, cut: cut, writes: map[*write]struct{}{}}
}

// Limit sets until when the gate is open. If that is over, it ends the writes that are under way.
func (g *Gate) Limit(until time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.until = until
	if time.Now().Before(until) {
		return
	}
	for w := range g.writes {
		w.cancel(g.cut)
	}
	clear(g.writes)
}

// Until returns what Limit has set.
func (g *Gate) Until() time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.until
}

// Open reports whether the gate is open now. It reads the clock.
func (g *Gate) Open() bool { return time.Now().Before(g.Until()) }

// Pass is for the writes of one piece of work, which may end before the gate closes. Its context carries it.
type Pass struct {
	gate *Gate

	// Guarded by the gate's mu.
	ended   bool
	unclear time.Time
}

// passKey is the key of a context's pass for one gate.
type passKey struct{ gate *Gate }

// Grant returns a context whose writes need the pass, too.
func (g *Gate) Grant(ctx context.Context) (context.Context, *Pass) {
	p := &Pass{gate: g}
	return context.WithValue(ctx, passKey{g}, p), p
}

// End refuses further writes, and ends those that are under way: one that waits for a connection is not sent later.
// Nobody waits for their answers.
func (p *Pass) End() {
	p.gate.mu.Lock()
	defer p.gate.mu.Unlock()
	p.ended = true
	for w := range p.gate.writes {
		if w.pass == p {
			p.unclear = time.Now()
			w.cancel(nil)
		}
	}
}

// Unclear returns when the newest write without an answer ended: the server may still carry it out. It is zero if there
// is none.
func (p *Pass) Unclear() time.Time {
	p.gate.mu.Lock()
	defer p.gate.mu.Unlock()
	return p.unclear
}

// Guard returns a connection like server whose writes go through the gate.
func (g *Gate) Guard(server client.Connection) client.Connection {
	var h http.Client
	if server.HTTP == nil {
		h = *http.DefaultClient
	} else {
		h = *server.HTTP
	}
	h.Transport = &transport{g, h.Transport}
	server.HTTP = &h
	return server
}

// transport sends the requests that may pass.
type transport struct {
	gate *Gate
	to   http.RoundTripper // nil means http.DefaultTransport
}

// WrappedRoundTripper implements k8s.io/apimachinery/pkg/util/net.RoundTripperWrapper, by which the
// client finds the transport that has the connections.
func (t *transport) WrappedRoundTripper() http.RoundTripper {
	if t.to == nil {
		return http.DefaultTransport
	}
	return t.to
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	switch req.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions:
		return t.WrappedRoundTripper().RoundTrip(req)
	}
	ctx, w := t.gate.begin(req.Context())
	if w == nil {
		if req.Body != nil {
			_ = req.Body.Close() // a RoundTripper must
		}
		return nil, t.gate.refusal(ctx)
	}
	resp, err := t.WrappedRoundTripper().RoundTrip(req.WithContext(ctx))
	cut := w.end(err != nil && !dialing(err) || resp != nil && relayed(resp.StatusCode))
	switch {
	case err == nil && (resp == nil || resp.Body == nil): // http.Client takes that from a transport
		w.cancel(nil)
		return resp, nil
	case err == nil:
		if resp.StatusCode != http.StatusSwitchingProtocols { // then Body is the connection
			resp.Body = released{resp.Body, w.cancel}
		}
		return resp, nil
	case cut:
		err = fmt.Errorf("%w, and nobody knows whether the server has carried the write out: %w", t.gate.cut, err)
	}
	w.cancel(nil)
	return nil, err
}

// released is the body of an answer. Its end frees the context of the request.
type released struct {
	io.ReadCloser
	cancel context.CancelCauseFunc
}

// Close implements io.Closer.
func (r released) Close() error {
	defer r.cancel(nil)
	return r.ReadCloser.Close()
}
