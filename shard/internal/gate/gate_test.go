package gate

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kinform/kinform/client"
)

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// post sends a write through an open gate to a transport.
func post(t *testing.T, to roundTripper) (*Gate, *http.Response, error) {
	t.Helper()
	g := New(errors.New("refused"), errors.New("cut"))
	g.Limit(time.Now().Add(time.Hour))
	conn := g.Guard(client.Connection{HTTP: &http.Client{Transport: to}})
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "http://server/", strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := conn.HTTP.Do(req)
	return g, resp, err
}

// An answer without a body is what it is without the gate.
func TestNoBody(t *testing.T) {
	_, resp, err := post(t, func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusNoContent}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := resp.Body.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Error(n, err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Error(err)
	}
}

// A transport that returns nothing is an error, as it is without the gate.
func TestNoAnswer(t *testing.T) {
	if _, _, err := post(t, func(*http.Request) (*http.Response, error) { return nil, nil }); err == nil {
		t.Error("no error")
	}
}

// What a redirect sends again passes the gate again. A client's Timeout holds as without it.
func TestRedirect(t *testing.T) {
	g := New(errors.New("refused"), errors.New("cut"))
	g.Limit(time.Now().Add(time.Hour))
	n := 0
	h := &http.Client{Timeout: time.Minute, CheckRedirect: func(req *http.Request, via []*http.Request) error { g.Limit(time.Time{}); return nil }, Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		n++
		return &http.Response{StatusCode: http.StatusTemporaryRedirect, Header: http.Header{"Location": {"/b"}}, Body: http.NoBody, Request: r}, nil
	})}
	conn := g.Guard(client.Connection{HTTP: h})
	_, err := conn.HTTP.Post("http://server/", "", strings.NewReader("x"))
	if err == nil || n != 1 {
		t.Error(n, err)
	}
	if len(g.writes) != 0 {
		t.Error(len(g.writes))
	}
}
