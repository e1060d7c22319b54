package shard

import (
	"net/http"

	"github.com/kinform/kinform/client"
)

// Gate returns a connection like server that refuses writes when this replica's lease is over: the error matches
// [ErrFenced] and client.ErrNotSent. Reads always pass.
//
// A write with the context of a reconcile, or one derived from it, is also refused when that call has returned,
// and if the lease was lost since it began, even if this replica has another lease by now.
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
	default:
		if !g.replica.mayWrite(req.Context()) {
			if req.Body != nil {
				_ = req.Body.Close() // a RoundTripper must
			}
			return nil, ErrFenced
		}
	}
	return g.WrappedRoundTripper().RoundTrip(req)
}
