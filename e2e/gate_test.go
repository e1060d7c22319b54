//go:build e2e

package e2e_test

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"sync"
	"time"
)

// gate is a transport that can be shut: then it breaks all requests that are under way,
// bodies of watches included, and refuses new ones.
type gate struct {
	through http.RoundTripper

	mu   sync.Mutex
	open context.Context // done while the gate is shut
	shut context.CancelFunc
}

var errShut = errors.New("the gate is shut")

func newGate(through http.RoundTripper) *gate {
	g := &gate{through: through}
	g.Open()
	return g
}

func (g *gate) Open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open, g.shut = context.WithCancel(context.Background())
}

func (g *gate) Shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut()
}

// RoundTrip implements http.RoundTripper.
func (g *gate) RoundTrip(req *http.Request) (*http.Response, error) {
	g.mu.Lock()
	open := g.open
	g.mu.Unlock()
	if open.Err() != nil {
		return nil, errShut
	}
	ctx, cancel := context.WithCancelCause(req.Context())
	context.AfterFunc(open, func() { cancel(errShut) })
	resp, err := g.through.RoundTrip(req.WithContext(ctx))
	if err != nil {
		cancel(nil)
	}
	return resp, err
}

// eventually waits until what is true, which the test has no event for.
func eventually(ctx context.Context, what func() bool) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !what() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func randomID() string { return rand.Text() }
