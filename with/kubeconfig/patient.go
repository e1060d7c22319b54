package kubeconfig

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// patient limits the time that a request waits for a credential plugin. client-go runs the
// plugin before it sends a request, and once more after an answer of 401, and cannot stop it.
type patient struct {
	base   http.RoundTripper // the plugin's, above a sending
	plugin string
	limit  time.Duration // negative for no limit
}

// outcome is the outcome of a request.
type outcome struct {
	response *http.Response
	err      error
}

// RoundTrip sends the request in a goroutine, which outlasts the call only if the plugin hangs.
func (p *patient) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(req.Context())
	s := steps{sending: make(chan bool), left: make(chan struct{})}
	done := make(chan outcome)
	go func() {
		response, err := p.base.RoundTrip(req.WithContext(context.WithValue(ctx, stepsKey{}, s)))
		select {
		case done <- outcome{response, err}:
		case <-s.left:
			if err == nil {
				_ = response.Body.Close()
			}
		}
	}()
	response, err := p.wait(ctx, s, done)
	if err != nil {
		cancel() // if the plugin hangs, the request must not be sent later
		close(s.left)
		return nil, err
	}
	response.Body = body{response.Body, cancel}
	return response, nil
}

// wait returns the outcome of a request. It only gives up while the plugin may be running. The
// transport itself ends the request with its context. An error that comes before the transport got
// the request is the plugin's, and client-go does not always name the plugin in it.
func (p *patient) wait(ctx context.Context, s steps, done <-chan outcome) (*http.Response, error) {
	timer := time.NewTimer(max(p.limit, 0))
	defer timer.Stop()
	due, over, sent := timer.C, ctx.Done(), false
	if p.limit < 0 {
		due = nil
	}
	for {
		select {
		case o := <-done:
			if o.err != nil && !sent {
				o.err = fmt.Errorf("credential plugin %q: %w", p.plugin, o.err)
			}
			return o.response, o.err
		case sending := <-s.sending:
			sent = true
			if due, over = nil, nil; sending {
				continue
			}
			over = ctx.Done()
			if p.limit >= 0 {
				timer.Reset(p.limit)
				due = timer.C
			}
		case <-due:
			return nil, &PluginError{Plugin: p.plugin, After: p.limit}
		case <-over:
			return nil, ctx.Err()
		}
	}
}

// steps say how far a request is.
type steps struct {
	sending chan bool     // true when the transport gets the request, false when it has returned
	left    chan struct{} // closed when nobody waits for the request
}

type stepsKey struct{}

func (s steps) tell(sending bool) {
	select {
	case s.sending <- sending:
	case <-s.left:
	}
}

// sending is the transport below the plugin. It tells a patient about each request.
type sending struct{ base http.RoundTripper }

func (t sending) RoundTrip(req *http.Request) (*http.Response, error) {
	s, ok := req.Context().Value(stepsKey{}).(steps)
	if !ok {
		return t.base.RoundTrip(req)
	}
	s.tell(true)
	defer s.tell(false)
	return t.base.RoundTrip(req)
}

// CloseIdleConnections and WrappedRoundTripper do what patient's methods do.
func (t sending) CloseIdleConnections()                  { utilnet.CloseIdleConnectionsFor(t.base) }
func (t sending) WrappedRoundTripper() http.RoundTripper { return t.base }

// CloseIdleConnections closes the idle connections of the transport below, for http.Client.
func (p *patient) CloseIdleConnections() { utilnet.CloseIdleConnectionsFor(p.base) }

// WrappedRoundTripper is for apimachinery's helpers, which look for the transport below.
func (p *patient) WrappedRoundTripper() http.RoundTripper { return p.base }

// body ends the request's context when it is closed.
type body struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (b body) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}
