package shard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/kinform/kinform/client"
)

// Gate returns a connection like server that refuses writes when this replica's lease is over: the
// error matches [ErrFenced] and client.ErrNotSent. Reads always pass.
//
// A write with the context of a reconcile, or one derived from it, is also refused when that call
// has returned, and if the lease was lost since it began, even if this replica has another lease by
// now. So pass that context on: the gate cannot tell which key another write is for.
//
// If a write of a reconcile gets no answer, as after a timeout, it may still arrive. So its range
// does not move for as long as others wait after the end of a lease, LeaseDuration - RenewDeadline,
// even if reconcile returns before.
//
// The end of the lease also ends the writes that are under way, whatever their contexts are: one
// that waits for a connection is not sent later. Their errors match [ErrMoved].
//
// Open the handles through which reconcile writes with this connection. See "Limits" in the package
// documentation.
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

// WrappedRoundTripper implements k8s.io/apimachinery/pkg/util/net.RoundTripperWrapper, by which the
// client finds the transport that has the connections.
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
	cut := w.end(err != nil && !dialing(err) || err == nil && relayed(resp.StatusCode))
	switch {
	case err == nil:
		if resp.StatusCode != http.StatusSwitchingProtocols { // then Body is the connection
			resp.Body = released{resp.Body, w.cancel}
		}
		return resp, nil
	case cut:
		err = fmt.Errorf("%w, and nobody knows whether the server has carried the write out: %w", ErrMoved, err)
	}
	w.cancel(nil)
	return nil, err
}

// dialing reports whether there was no connection, so nothing was sent.
func dialing(err error) bool {
	op := new(net.OpError)
	return errors.As(err, &op) && op.Op == "dial"
}

// relayed reports whether a proxy answers because the server has given it no answer.
func relayed(status int) bool {
	return status == http.StatusBadGateway || status == http.StatusGatewayTimeout
}

// write is a write that is under way.
type write struct {
	replica *Replica
	token   *token // nil if no reconcile of this replica sends it
	cancel  context.CancelCauseFunc
}

// write begins a write, and returns its context. It returns nil if the lease is over, or if the
// call of reconcile that the write belongs to has ended or has lost its range.
func (r *Replica) write(ctx context.Context) (context.Context, *write) {
	t, _ := ctx.Value(tokenKey{}).(*token)
	r.mu.Lock()
	defer r.mu.Unlock()
	if t != nil && t.replica != r {
		t = nil
	}
	if t != nil && (t.ended || !t.lost.IsZero()) || !time.Now().Before(r.until) {
		return nil, nil
	}
	w := &write{replica: r, token: t}
	ctx, w.cancel = context.WithCancelCause(ctx)
	r.writes[w] = struct{}{}
	return ctx, w
}

// end ends a write. If it is unclear, the server may still carry it out. end reports whether the
// lease ended before.
func (w *write) end(unclear bool) (cut bool) {
	w.replica.mu.Lock()
	defer w.replica.mu.Unlock()
	_, going := w.replica.writes[w]
	delete(w.replica.writes, w)
	if unclear && w.token != nil {
		w.token.unclear = time.Now()
	}
	return !going
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
