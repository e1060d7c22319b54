package proxy

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// conn is a client's connection together with its connection to the server.
type conn struct {
	proxy    *Proxy
	down, up net.Conn

	lost       atomic.Bool // bytes were lost by Fault.Swallow
	fromServer budget      // used by one of the two goroutines

	once sync.Once
	done chan struct{} // closed when the connection has ended
}

// budget counts the bytes that came while one setting was in force.
type budget struct {
	of   *setting
	used int64
}

// take returns the number of the n bytes to forward, and whether the connection ends after them.
func (b *budget) take(s *setting, n int) (allowed int, over bool) {
	if s.End == Open {
		return n, false
	}
	if b.of != s {
		b.of, b.used = s, 0
	}
	if left := s.After - b.used; int64(n) >= left {
		return int(max(0, left)), true
	}
	b.used += int64(n)
	return n, false
}

// copy forwards from src to dst until one of them ends. limit is the budget of the server's
// direction, and nil for the other direction.
func (c *conn) copy(dst, src net.Conn, limit *budget) {
	buf := make([]byte, largestPiece)
	for {
		n, err := src.Read(buf[:c.proxy.setting().piece()])
		s := c.proxy.setting()
		over := false
		if limit != nil {
			n, over = limit.take(s, n)
		}
		if n > 0 && !c.pass(dst, buf[:n], s) {
			return
		}
		switch {
		case over:
			c.finish(s.End)
			return
		case err != nil:
			c.ended(err)
			return
		}
	}
}

// pass forwards b, or loses it, and reports whether the connection goes on.
func (c *conn) pass(dst net.Conn, b []byte, s *setting) bool {
	if s.Swallow {
		c.lost.Store(true)
	}
	if c.lost.Load() {
		return true
	}
	if s.Delay > 0 {
		select {
		case <-time.After(s.Delay):
		case <-s.over:
		case <-c.done:
			return false
		}
	}
	for len(b) > 0 {
		piece := b[:min(len(b), s.piece())]
		if _, err := dst.Write(piece); err != nil {
			c.finish(RST)
			return false
		}
		b = b[len(piece):]
	}
	return true
}

// ended forwards the end of one side to the other. It first waits until bytes are no longer
// swallowed.
func (c *conn) ended(err error) {
	for s := c.proxy.setting(); s.Swallow; s = c.proxy.setting() {
		select {
		case <-s.over:
		case <-c.done:
			return
		}
	}
	if errors.Is(err, io.EOF) {
		c.finish(FIN)
		return
	}
	c.finish(RST)
}

// finish ends both sides. Only the first call counts.
func (c *conn) finish(how End) {
	c.once.Do(func() {
		close(c.done)
		finish(c.down, how)
		finish(c.up, how)
	})
}

func finish(c net.Conn, how End) {
	if tcp, ok := c.(*net.TCPConn); ok && how == RST {
		_ = tcp.SetLinger(0) // so that Close resets
	}
	_ = c.Close()
}
