package client

import (
	"crypto/tls"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kinform/kinform/reflector"
)

const (
	// turnLimit is how long a request waits for its turn.
	turnLimit = 10 * time.Second
	// turnTime is how long a turn lasts, so that a connection that cannot be made does not hold up the probes of a server
	// that has come back.
	turnTime = time.Second
)

// turns lets the lists and watches of reflectors look for a connection one after the other. net/http makes a connection
// for each request that finds no free stream, even if the one that is being made has room for a hundred: a thousand
// informers that start at once would make three thousand. A turn ends when its request has a stream, whenever the
// answer comes. Other requests need no turn: they are few at a time, and short.
type turns struct {
	taken   chan struct{} // holds one element while somebody's turn is
	useless atomic.Bool   // the server has no HTTP/2, so each request needs its own connection anyway
}

func newTurns() *turns { return &turns{taken: make(chan struct{}, 1)} }

// send sends the request by way of rt when it is its turn.
func (t *turns) send(rt http.RoundTripper, req *http.Request) (*http.Response, error) {
	if reflector.AttemptOf(req.Context()) == nil || req.URL.Scheme == "http" || t.useless.Load() {
		return rt.RoundTrip(req)
	}
	late := time.NewTimer(turnLimit)
	defer late.Stop()
	select {
	case t.taken <- struct{}{}:
	case <-late.C:
		return rt.RoundTrip(req)
	case <-req.Context().Done():
		return rt.RoundTrip(req) // which says so
	}
	if t.useless.Load() {
		<-t.taken
		return rt.RoundTrip(req)
	}
	end := sync.OnceFunc(func() { <-t.taken })
	defer end()
	defer time.AfterFunc(turnTime, end).Stop()
	trace := &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		if c, ok := info.Conn.(*tls.Conn); ok && c.ConnectionState().NegotiatedProtocol != "h2" {
			t.useless.Store(true)
		}
		end()
	}}
	return rt.RoundTrip(req.WithContext(httptrace.WithClientTrace(req.Context(), trace)))
}
