package shard

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/kinform/kinform/client"
)

// Gate returns a connection like server that refuses writes when this replica's lease is over: the error matches
// [ErrFenced] and client.ErrNotSent. Reads always pass.
//
// A write with the context of a reconcile, or one derived from it, is also refused when that call has returned,
// and if the lease was lost since it began, even if this replica has another lease by now. So pass that context on: the
// gate cannot tell which key another write is for.
//
// The end of the lease also ends the writes that are under way, whatever their contexts are: one that waits for a
// connection is not sent later. Their errors match [ErrMoved].
//
// Open the handles through which reconcile writes with this connection. See "Limits" in the package documentation.
func (r *Replica) Gate(server client.Connection) client.Connection {
	var h http.Client
	if server.HTTP == nil {
		h = *http.DefaultClient
	} else {
		h = *server.HTTP
	}
	h.Transport = &gate{r, h.Transport}
	server.HTTP = &h
	return server
}

// gate is a transport that looks at the lease before each write.
type gate struct {
	replica *Replica
	to      http.RoundTripper // nil means http.DefaultTransport
}

// WrappedRoundTripper implements k8s.io/apimachinery/pkg/util/net.RoundTripperWrapper, by which the client finds
// the transport that has the connections.
func (g *gate) WrappedRoundTripper() http.RoundTripper {
	if g.to == nil {
		return http.DefaultTransport
	}
	return g.to
}

// RoundTrip implements http.RoundTripper.
func (g *gate) RoundTrip(req *http.Request) (*http.Response, error) {
	switch req.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions:
		return g.WrappedRoundTripper().RoundTrip(req)
	}
	ctx, w := g.replica.write(req.Context())
	if w == nil {
		if req.Body != nil {
			_ = req.Body.Close() // a RoundTripper must
		}
		return nil, ErrFenced
	}
	resp, err := g.WrappedRoundTripper().RoundTrip(req.WithContext(ctx))
	if err != nil {
		if w.end() {
			err = fmt.Errorf("%w, and nobody knows whether the server has carried the write out: %w", ErrMoved, err)
		}
		return nil, err
	}
	if resp.StatusCode != http.StatusSwitchingProtocols { // then Body is the connection
		resp.Body = &body{resp.Body, w}
	}
	return resp, nil
}

// write is a write that is under way.
type write struct {
	replica *Replica
	cancel  context.CancelCauseFunc
}

// write begins a write, and returns its context. It returns nil if the lease is over, or if the call of reconcile that
// the write belongs to has ended or has lost its range.
func (r *Replica) write(ctx context.Context) (context.Context, *write) {
	t, _ := ctx.Value(tokenKey{}).(*token)
	r.mu.Lock()
	defer r.mu.Unlock()
	if t != nil && t.replica == r && (t.ended || !t.lost.IsZero()) || !time.Now().Before(r.until) {
		return nil, nil
	}
	w := &write{replica: r}
	ctx, w.cancel = context.WithCancelCause(ctx)
	r.writes[w] = struct{}{}
	return ctx, w
}

// end ends a write that was answered, or has failed. It reports whether the end of the lease came first.
func (w *write) end() (cut bool) {
	w.replica.mu.Lock()
	_, going := w.replica.writes[w]
	delete(w.replica.writes, w)
	w.replica.mu.Unlock()
	w.cancel(nil)
	return !going
}

// body is the body of the answer to a write.
type body struct {
	io.ReadCloser
	write *write
}

// Close implements io.Closer.
func (b *body) Close() error {
	err := b.ReadCloser.Close()
	b.write.end()
	return err
}
