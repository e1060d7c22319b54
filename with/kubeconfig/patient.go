package kubeconfig

import (
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// patient limits the time that a request waits for a credential plugin. client-go runs the
// plugin before it asks for a connection, and cannot stop it.
type patient struct {
	base   http.RoundTripper
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
	connecting, left, done := make(chan struct{}), make(chan struct{}), make(chan outcome)
	var once sync.Once
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GetConn: func(string) { once.Do(func() { close(connecting) }) }})
	go func() {
		response, err := p.base.RoundTrip(req.WithContext(traced))
		select {
		case done <- outcome{response, err}:
		case <-left:
			if err == nil {
				_ = response.Body.Close()
			}
		}
	}()
	response, err := p.wait(ctx, connecting, done)
	if err != nil {
		cancel() // if the plugin hangs, the request must not be sent later
		close(left)
		return nil, err
	}
	response.Body = body{response.Body, cancel}
	return response, nil
}

// wait returns the outcome of a request. It only gives up before the request connects: after
// that, the transport ends the request with its context.
func (p *patient) wait(ctx context.Context, connecting <-chan struct{}, done <-chan outcome) (*http.Response, error) {
	var due <-chan time.Time
	if p.limit > 0 {
		timer := time.NewTimer(p.limit)
		defer timer.Stop()
		due = timer.C
	}
	over := ctx.Done()
	for {
		select {
		case o := <-done:
			return o.response, o.err
		case <-connecting:
			connecting, due, over = nil, nil, nil
		case <-due:
			return nil, &PluginError{Plugin: p.plugin, After: p.limit}
		case <-over:
			return nil, ctx.Err()
		}
	}
}

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
