package client_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// pipes is a listener in memory, so that a server and its clients can live in a bubble of
// synctest.
type pipes struct {
	accept chan net.Conn
	closed chan struct{}
	once   sync.Once
	dialed atomic.Int32

	mu   sync.Mutex
	open []*pipe // the clients' ends
}

func newPipes() *pipes {
	return &pipes{accept: make(chan net.Conn), closed: make(chan struct{})}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.accept:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.closed) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	up, down := newStream(), newStream()
	ours, theirs := &pipe{in: down, out: up}, &pipe{in: up, out: down}
	select {
	case p.accept <- theirs:
	case <-p.closed:
		return nil, errors.New("nobody listens")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	p.dialed.Add(1)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open = append(p.open, ours)
	return ours, nil
}

// cut closes the connections that there are.
func (p *pipes) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.open {
		_ = c.Close()
		c.in.end(io.EOF)
	}
	p.open = nil
}

// hang makes the connections that there are swallow all, as a network does that has lost
// its way.
func (p *pipes) hang() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.open {
		c.in.hang()
		c.out.hang()
	}
	p.open = nil
}

// pipe is one end of a connection with buffers of any size, unlike net.Pipe, whose two
// ends can wait for each other for ever.
type pipe struct{ in, out *stream }

func (c *pipe) Read(b []byte) (int, error)  { return c.in.read(b) }
func (c *pipe) Write(b []byte) (int, error) { return c.out.write(b) }

func (c *pipe) Close() error {
	c.in.end(net.ErrClosed)
	c.out.end(io.EOF)
	return nil
}

func (c *pipe) LocalAddr() net.Addr               { return (*pipes)(nil).Addr() }
func (c *pipe) RemoteAddr() net.Addr              { return (*pipes)(nil).Addr() }
func (c *pipe) SetReadDeadline(t time.Time) error { c.in.limit(t); return nil }
func (c *pipe) SetWriteDeadline(time.Time) error  { return nil } // no write waits
func (c *pipe) SetDeadline(t time.Time) error     { return c.SetReadDeadline(t) }

// stream carries bytes one way.
type stream struct {
	mu       sync.Mutex
	changed  sync.Cond
	data     []byte
	ended    error
	hung     bool
	deadline time.Time
	timer    *time.Timer
}

func newStream() *stream {
	s := &stream{}
	s.changed.L = &s.mu
	return s
}

func (s *stream) read(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.ended == net.ErrClosed:
			return 0, s.ended
		case !s.deadline.IsZero() && !time.Now().Before(s.deadline):
			return 0, os.ErrDeadlineExceeded
		case s.hung:
		case len(s.data) > 0:
			n := copy(b, s.data)
			s.data = s.data[n:]
			return n, nil
		case s.ended != nil:
			return 0, s.ended
		}
		s.changed.Wait()
	}
}

func (s *stream) write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended != nil {
		return 0, net.ErrClosed
	}
	s.data = append(s.data, b...)
	s.changed.Broadcast()
	return len(b), nil
}

func (s *stream) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended == nil || err == net.ErrClosed {
		s.ended = err
	}
	s.changed.Broadcast()
}

func (s *stream) hang() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hung = true
}

func (s *stream) limit(t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer != nil {
		s.timer.Stop()
	}
	if s.deadline = t; !t.IsZero() {
		s.timer = time.AfterFunc(time.Until(t), s.changed.Broadcast)
	}
	s.changed.Broadcast()
}
