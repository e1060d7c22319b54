package proxy_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/kinform/kinform/e2e/proxy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo returns the address of a server that sends back the bytes that it receives.
func echo(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			})
		}
	})
	t.Cleanup(func() { _ = l.Close(); wg.Wait() })
	return l.Addr().String()
}

func start(t *testing.T) *proxy.Proxy {
	t.Helper()
	p, err := proxy.New(echo(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func dial(t *testing.T, p *proxy.Proxy) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// say sends text and reads the same number of bytes.
func say(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(text))
	if _, err := io.ReadFull(c, got); err != nil || string(got) != text {
		t.Fatalf("sent %q, got %q, %v", text, got, err)
	}
}

func TestForwards(t *testing.T) {
	p := start(t)
	for range 2 {
		c := dial(t, p)
		say(t, c, "hello")
		say(t, c, "again")
	}
	if got := p.Accepted(); got != 2 {
		t.Errorf("accepted %d connections", got)
	}
}

func TestSlow(t *testing.T) {
	p := start(t)
	c := dial(t, p)
	say(t, c, "fast")
	for _, f := range []proxy.Fault{{Delay: time.Millisecond}, {Piece: 3}, {Piece: 3, Delay: time.Millisecond}} {
		p.Set(f)
		say(t, c, "slow, but all of it")
	}
}

func TestCut(t *testing.T) {
	for how, want := range map[proxy.End]error{proxy.FIN: io.EOF, proxy.RST: syscall.ECONNRESET} {
		p := start(t)
		c := dial(t, p)
		say(t, c, "hello")
		p.Cut(how)
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, want) {
			t.Errorf("cut by %d: got %v, want %v", how, err, want)
		}
		say(t, dial(t, p), "new connections work")
	}
}

func TestEndAfter(t *testing.T) {
	p := start(t)
	before := dial(t, p)
	say(t, before, "hello")
	p.Set(proxy.Fault{End: proxy.FIN, After: 3})
	for _, c := range []net.Conn{before, dial(t, p)} {
		if _, err := io.WriteString(c, "truncated"); err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(c); err != nil || string(got) != "tru" {
			t.Errorf("got %q, %v", got, err)
		}
	}
	p.Set(proxy.Fault{End: proxy.RST})
	reset(t, p)
	p.Set(proxy.Fault{})
	say(t, dial(t, p), "as before")
}

// TestSwallow checks that nothing comes through, that connections which lost bytes stay silent, and
// that their end is forwarded after the fault and not during it.
func TestSwallow(t *testing.T) {
	p := start(t)
	idle, used := dial(t, p), dial(t, p)
	say(t, idle, "hello")
	say(t, used, "hello")
	p.Set(proxy.Fault{Swallow: true})
	if _, err := io.WriteString(used, "lost"); err != nil {
		t.Fatal(err)
	}
	silent(t, used)
	p.Set(proxy.Fault{})
	if _, err := io.WriteString(used, "lost too"); err != nil {
		t.Fatal(err)
	}
	silent(t, used)
	say(t, idle, "lost nothing")
	p.Set(proxy.Fault{Swallow: true})
	if err := idle.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	silent(t, idle)
	p.Set(proxy.Fault{})
	if got, err := io.ReadAll(idle); err != nil || len(got) > 0 {
		t.Errorf("got %q, %v", got, err)
	}
}

// silent fails the test if a byte arrives within a moment. On a slow machine it may miss an error,
// but it never reports a wrong one.
func silent(t *testing.T, c net.Conn) {
	t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	defer func() { _ = c.SetReadDeadline(time.Time{}) }()
	var timeout net.Error
	if n, err := c.Read(make([]byte, 10)); !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("read %d bytes, %v", n, err)
	}
}

func TestRefuse(t *testing.T) {
	p := start(t)
	c := dial(t, p)
	say(t, c, "hello")
	p.Refuse()
	p.Refuse()
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Error(err)
	}
	if _, err := net.Dial("tcp", p.Addr()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Error(err)
	}
	for range 2 {
		if err := p.Listen(); err != nil {
			t.Fatal(err)
		}
	}
	say(t, dial(t, p), "back")
	p.Close()
	if err := p.Listen(); !errors.Is(err, proxy.ErrClosed) {
		t.Error(err)
	}
}

// TestTargetGone checks that a missing server looks like a reset.
func TestTargetGone(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	p, err := proxy.New(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	reset(t, p)
}

// reset fails the test unless a new connection is reset, which can happen before Dial returns.
func reset(t *testing.T, p *proxy.Proxy) {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr())
	if err == nil {
		defer c.Close()
		_, err = c.Read(make([]byte, 1))
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Error(err)
	}
}

// TestManyAtOnce sends a large body through many connections while the fault changes.
func TestManyAtOnce(t *testing.T) {
	p := start(t)
	body := bytes.Repeat([]byte("0123456789"), 20_000)
	var wg sync.WaitGroup
	for range 8 {
		c := dial(t, p)
		wg.Go(func() {
			go func() { _, _ = c.Write(body) }()
			got := make([]byte, len(body))
			if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, body) {
				t.Error("the body is another", err)
			}
		})
	}
	for i := range 20 {
		p.Set(proxy.Fault{Piece: 1000 * (i + 1), Delay: time.Duration(i%2) * 10 * time.Microsecond})
	}
	wg.Wait()
}
