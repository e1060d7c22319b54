package client

import (
	"net/http"
	"testing"
)

// wrapped is a transport around another, as client-go makes them.
type wrapped struct{ http.RoundTripper }

func (w wrapped) WrappedRoundTripper() http.RoundTripper { return w.RoundTripper }

// idle counts how often its connections were closed.
type idle struct {
	http.RoundTripper
	closed int
}

func (i *idle) CloseIdleConnections() { i.closed++ }

// Fresh connections are made below what wraps the transport that makes them.
func TestRefreshBelowWrappers(t *testing.T) {
	bottom := &idle{}
	endpoint{http: &http.Client{Transport: wrapped{wrapped{bottom}}}}.refresh()
	if bottom.closed != 1 {
		t.Errorf("idle connections closed %d times", bottom.closed)
	}
	conn, err := NewConnection("https://api.test", ConnectionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	own := conn.HTTP.Transport.(*transport)
	before := own.current.Load()
	endpoint{http: &http.Client{Transport: wrapped{own}}}.refresh()
	if own.current.Load() == before {
		t.Error("the transport still has its old connections")
	}
}
