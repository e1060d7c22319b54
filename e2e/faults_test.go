//go:build e2e

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// faults is a transport that damages answers while that is switched on.
type faults struct {
	through http.RoundTripper
	spoil   atomic.Pointer[spoiler]
	spoiled atomic.Int32 // how many answers were
}

// spoiler sends a request and damages the answer, or answers itself.
type spoiler func(f *faults, req *http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f *faults) RoundTrip(req *http.Request) (*http.Response, error) {
	if spoil := f.spoil.Load(); spoil != nil && rand.IntN(3) > 0 {
		f.spoiled.Add(1)
		return (*spoil)(f, req)
	}
	return f.through.RoundTrip(req)
}

// refusing answers with one of the codes, as servers and what is before them do.
func refusing(codes ...int) spoiler {
	return func(_ *faults, req *http.Request) (*http.Response, error) {
		code := codes[rand.IntN(len(codes))]
		resp := &http.Response{
			StatusCode: code, Proto: "HTTP/2.0", ProtoMajor: 2, Request: req,
			Header: http.Header{"Content-Type": {"text/html"}},
			Body:   io.NopCloser(strings.NewReader("<html>" + http.StatusText(code))),
		}
		if code == http.StatusTooManyRequests {
			resp.Header.Set("Retry-After", "1")
		}
		return resp, nil
	}
}

// damaging lets the request through and puts something between the body and its reader.
func damaging(wrap func(context.Context, io.ReadCloser) io.ReadCloser) spoiler {
	return func(f *faults, req *http.Request) (*http.Response, error) {
		resp, err := f.through.RoundTrip(req)
		if err == nil {
			resp.Body = wrap(req.Context(), resp.Body)
		}
		return resp, err
	}
}

// truncated ends a body early: as the end of it, or as that of the connection.
func truncated(_ context.Context, body io.ReadCloser) io.ReadCloser {
	end := []error{io.EOF, io.ErrUnexpectedEOF}[rand.IntN(2)]
	return &damaged{ReadCloser: body, left: rand.IntN(5_000), then: func() error { return end }}
}

// hanging lets a part of a body through, and then nothing, not even its end.
func hanging(ctx context.Context, body io.ReadCloser) io.ReadCloser {
	return &damaged{ReadCloser: body, left: rand.IntN(5_000), then: func() error {
		<-ctx.Done()
		return ctx.Err()
	}}
}

// dripping lets a body through in drops of some bytes.
func dripping(_ context.Context, body io.ReadCloser) io.ReadCloser {
	return &drops{body}
}

type damaged struct {
	io.ReadCloser
	left int
	then func() error
}

func (d *damaged) Read(b []byte) (int, error) {
	if d.left == 0 {
		return 0, d.then()
	}
	n, err := d.ReadCloser.Read(b[:min(len(b), d.left)])
	d.left -= n
	return n, err
}

type drops struct{ io.ReadCloser }

func (d *drops) Read(b []byte) (int, error) {
	time.Sleep(100 * time.Microsecond)
	return d.ReadCloser.Read(b[:min(len(b), 1+rand.IntN(512))])
}

// dialer makes connections that are counted, and can be made to hang.
type dialer struct {
	mu   sync.Mutex
	open map[*conn]bool
	made int
}

// conn is a connection of a dialer.
type conn struct {
	net.Conn
	from   *dialer
	hung   atomic.Bool
	closed chan struct{}
	once   sync.Once
}

func (d *dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	through, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: through, from: d, closed: make(chan struct{})}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open == nil {
		d.open = map[*conn]bool{}
	}
	d.open[c] = true
	d.made++
	return c, nil
}

// hang makes the connections that there are swallow all from now on.
func (d *dialer) hang() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for c := range d.open {
		c.hung.Store(true)
	}
}

// cut closes the connections that there are.
func (d *dialer) cut() {
	d.mu.Lock()
	all := slices.Collect(maps.Keys(d.open))
	d.mu.Unlock()
	for _, c := range all {
		_ = c.Close()
	}
}

func (d *dialer) count() (open, made int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.open), d.made
}

func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.hung.Load() {
		<-c.closed
		return 0, net.ErrClosed
	}
	return n, err
}

func (c *conn) Write(b []byte) (int, error) {
	if c.hung.Load() {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

func (c *conn) Close() error {
	c.once.Do(func() {
		close(c.closed)
		c.from.mu.Lock()
		defer c.from.mu.Unlock()
		delete(c.from.open, c)
	})
	return c.Conn.Close()
}

// noneOpen fails the test if connections outlive what used them. A connection is idle only some
// time after the end of its last request, so each client is asked more than once to close those.
func (d *dialer) noneOpen(t *testing.T, clients ...*http.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err := eventually(ctx, func() bool {
		for _, hc := range clients {
			hc.CloseIdleConnections()
		}
		open, _ := d.count()
		return open == 0
	})
	if err != nil {
		open, made := d.count()
		t.Errorf("%d of %d connections are still open", open, made)
	}
}

var errNothingSpoiled = errors.New("no answer was spoiled, so the phase shows nothing")

// spoilWatches breaks all watches, and spoils what follows while the server is changed.
func (p *phases) spoilWatches(spoil spoiler) func(*testing.T) {
	return func(t *testing.T) {
		before := p.faults.spoiled.Load()
		p.faults.spoil.Store(&spoil)
		defer p.faults.spoil.Store(nil)
		for range 3 {
			p.gate.Shut()
			if err := p.churn.make(p.ctx, 50); err != nil {
				t.Fatal(err)
			}
			p.gate.Open()
			if err := p.churn.make(p.ctx, 50); err != nil {
				t.Fatal(err)
			}
		}
		enough := int32(len(p.all))
		if err := eventually(p.ctx, func() bool { return p.faults.spoiled.Load()-before >= enough }); err != nil {
			t.Error(fmt.Errorf("%w: %w", errNothingSpoiled, err))
		}
	}
}
