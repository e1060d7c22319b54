package proxy

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// Proxy forwards connections from a port of the loopback interface to one address. Close it in the
// end.
type Proxy struct {
	addr, target string // set once
	wg           sync.WaitGroup

	mu       sync.Mutex
	listener net.Listener // nil while refusing
	conns    map[*conn]struct{}
	fault    *setting
	accepted int64
	closed   bool
}

// setting is a Fault in force.
type setting struct {
	Fault
	over chan struct{} // closed when another setting is in force
}

// ErrClosed is returned by Listen after Close.
var ErrClosed = errors.New("proxy: closed")

// New returns a proxy that forwards to target, a TCP address such as 127.0.0.1:6443.
func New(target string) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	p := &Proxy{
		addr: l.Addr().String(), target: target, listener: l,
		conns: map[*conn]struct{}{}, fault: &setting{over: make(chan struct{})},
	}
	p.wg.Go(func() { p.accept(l) })
	return p, nil
}

// Addr returns the address that the proxy listens at. It never changes.
func (p *Proxy) Addr() string { return p.addr }

// Accepted returns the number of accepted connections.
func (p *Proxy) Accepted() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.accepted
}

// Set applies f to open and new connections.
func (p *Proxy) Set(f Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.fault.over)
	p.fault = &setting{Fault: f, over: make(chan struct{})}
	if f.End != Open && f.After == 0 {
		p.end(f.End)
	}
}

// Cut ends the open connections. It does not affect new ones.
func (p *Proxy) Cut(how End) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end(how)
}

// Refuse closes the listener, so that new connections are refused, and resets the open ones.
// Refusing twice does nothing.
func (p *Proxy) Refuse() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != nil {
		_ = p.listener.Close()
		p.listener = nil
	}
	p.end(RST)
}

// Listen ends Refuse. It returns ErrClosed, or the error of net.Listen if another program has taken
// the port.
func (p *Proxy) Listen() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return ErrClosed
	}
	if p.listener != nil {
		return nil
	}
	l, err := net.Listen("tcp", p.addr)
	if err != nil {
		return fmt.Errorf("proxy: %w", err)
	}
	p.listener = l
	p.wg.Go(func() { p.accept(l) })
	return nil
}

// Close resets all connections and returns when the proxy's goroutines have ended. Closing twice
// does nothing.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.Refuse()
	p.wg.Wait()
}

func (p *Proxy) accept(l net.Listener) {
	for {
		down, err := l.Accept()
		if err != nil {
			return // closed: a listener of the loopback interface ends for no other reason
		}
		p.mu.Lock()
		p.accepted++
		f := p.fault.Fault
		open := p.listener == l
		p.mu.Unlock()
		if !open || f.End != Open && f.After == 0 {
			finish(down, RST)
			continue
		}
		p.wg.Go(func() { p.forward(down) })
	}
}

// forward connects down to the target and returns when the connection has ended.
func (p *Proxy) forward(down net.Conn) {
	up, err := net.DialTimeout("tcp", p.target, 5*time.Second)
	if err != nil {
		finish(down, RST)
		return
	}
	c := &conn{proxy: p, down: down, up: up, done: make(chan struct{})}
	p.mu.Lock()
	open := p.listener != nil
	p.conns[c] = struct{}{}
	p.mu.Unlock()
	if !open {
		c.finish(RST)
	}
	var both sync.WaitGroup
	both.Go(func() { c.copy(up, down, nil) })
	both.Go(func() { c.copy(down, up, &c.fromServer) })
	both.Wait()
	p.mu.Lock()
	delete(p.conns, c)
	p.mu.Unlock()
}

// end ends all open connections. p.mu is held.
func (p *Proxy) end(how End) {
	for c := range p.conns {
		c.finish(how)
	}
}

func (p *Proxy) setting() *setting {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fault
}
