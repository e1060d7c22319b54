package client_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/reflector"
)

// heldContext counts what has yet to be told of its end.
type heldContext struct {
	context.Context
	done chan struct{}
	held int
}

func (c *heldContext) Done() <-chan struct{} { return c.done }

// AfterFunc is a method that package context uses of contexts that are not its own.
func (c *heldContext) AfterFunc(func()) (stop func() bool) {
	c.held++
	return func() bool { c.held--; return true }
}

// A call leaves nothing behind in its context, which may live as long as the program.
func TestContextHoldsNothing(t *testing.T) {
	for name, answer := range map[string]func() (*http.Response, error){
		"object":  func() (*http.Response, error) { return response(strings.NewReader(full(widgetJSON("a", 1, 1)))), nil },
		"garbage": func() (*http.Response, error) { return response(strings.NewReader("{")), nil },
		"refusal": refuse(http.StatusForbidden, ""),
		"broken":  breaks(syscall.ECONNREFUSED),
	} {
		r := newResource[*widget](t, transport(func(*http.Request) (*http.Response, error) { return answer() }).connection(), client.Options{})
		ctx := &heldContext{Context: context.Background(), done: make(chan struct{})}
		for verb, call := range calls(ctx, r) {
			if _ = call(); ctx.held != 0 {
				t.Errorf("%s: %s leaves %d in the context", name, verb, ctx.held)
			}
			ctx.held = 0
		}
	}
}

// A server that is there, but does not answer, does not hold a call for ever. Before the
// header or within the body.
func TestStalledServer(t *testing.T) {
	for _, begin := range []string{"", `{"kind":`} {
		synctest.Test(t, func(t *testing.T) {
			srv := servePlain(func(w http.ResponseWriter, req *http.Request) {
				_, _ = io.ReadAll(req.Body)
				if begin != "" {
					_, _ = io.WriteString(w, begin)
					_ = http.NewResponseController(w).Flush()
				}
				<-req.Context().Done()
			})
			defer srv.stop()
			conn := connect(t, "http://api.test", client.ConnectionOptions{DialContext: srv.dial})
			defer conn.HTTP.CloseIdleConnections()
			r := newResource[*widget](t, conn, client.Options{})
			for verb := range calls(t.Context(), r) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				start := time.Now()
				err := calls(ctx, r)[verb]()
				took := time.Since(start)
				cancel()
				if verb == "watch" {
					if !errors.Is(err, context.DeadlineExceeded) || took != time.Hour {
						t.Errorf("a watch ended after %v: %v", took, err)
					}
					continue
				}
				if !errors.Is(err, client.ErrStalled) || errors.Is(err, context.Canceled) || took != 3*time.Minute || !strings.HasPrefix(err.Error(), subject(verb)) {
					t.Errorf("%s: %v after %v", verb, err, took)
				}
				// The error says that the caller's own context has ended.
				ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
				if err := calls(ctx, r)[verb](); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, client.ErrStalled) {
					t.Errorf("%s: %v", verb, err)
				}
				cancel()
			}
		})
	}
}

// A server that sends a few bytes now and then must not keep a list from ever ending. The time
// of a list is bounded by its bytes, whatever these are.
func TestTricklingServer(t *testing.T) {
	for _, test := range []struct {
		piece int // bytes
		pause time.Duration
		least time.Duration
		most  time.Duration
	}{
		{1, time.Minute, 3 * time.Minute, 3*time.Minute + time.Second},
		{1 << 10, 3*time.Minute - time.Second, 3 * time.Minute, 4 * time.Minute},
		{1 << 10, time.Minute, 3 * time.Minute, 4 * time.Minute},
		{900, time.Second, 24 * time.Minute, 26 * time.Minute}, // an eighth too slow
	} {
		synctest.Test(t, func(t *testing.T) {
			srv := servePlain(func(w http.ResponseWriter, req *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, strings.TrimSuffix(listJSON(), "]}"))
				for more := []byte(strings.Repeat(" ", test.piece)); ; {
					_, _ = w.Write(more)
					_ = http.NewResponseController(w).Flush()
					select {
					case <-time.After(test.pause):
					case <-req.Context().Done():
						return
					}
				}
			})
			defer srv.stop()
			conn := connect(t, "http://api.test", client.ConnectionOptions{DialContext: srv.dial})
			defer conn.HTTP.CloseIdleConnections()
			start := time.Now()
			c := list(t.Context(), newResource[*widget](t, conn, client.Options{}), metav1.ListOptions{})
			if took := time.Since(start); !errors.Is(c.err, client.ErrStalled) || took < test.least || took > test.most {
				t.Errorf("%d bytes each %v: %v after %v", test.piece, test.pause, c.err, took)
			}
		})
	}
}

// A list over a slow link is read to its end, however long that takes: only the rate counts.
func TestLargeListOverSlowLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const pieces, size = 100, 64 << 10 // 1.1 KiB/s for more than an hour and a half
		srv := servePlain(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			begin, end, _ := strings.Cut(listJSON(widgetJSON("a", 1, 1), widgetJSON("b", 2, 2)), ",{")
			_, _ = io.WriteString(w, begin+",")
			filler := strings.Repeat(" ", size)
			for range pieces {
				_, _ = io.WriteString(w, filler)
				_ = http.NewResponseController(w).Flush()
				time.Sleep(59 * time.Second)
			}
			_, _ = io.WriteString(w, "{"+end)
		})
		defer srv.stop()
		conn := connect(t, "http://api.test", client.ConnectionOptions{DialContext: srv.dial})
		defer conn.HTTP.CloseIdleConnections()
		start := time.Now()
		c := list(t.Context(), newResource[*widget](t, conn, client.Options{}), metav1.ListOptions{})
		if took := time.Since(start); c.err != nil || len(c.events) != 2 || took != pieces*59*time.Second {
			t.Errorf("%d objects, %v after %v", len(c.events), c.err, took)
		}
	})
}

// Neither a slow server nor a slow consumer is a stall.
func TestSlowIsNotStalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := servePlain(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			for part := range strings.SplitAfterSeq(listJSON(widgetJSON("a", 1, 1), widgetJSON("b", 2, 2)), ",") {
				_, _ = io.WriteString(w, part+strings.Repeat(" ", 64<<10))
				_ = http.NewResponseController(w).Flush()
				time.Sleep(time.Minute)
			}
		})
		defer srv.stop()
		conn := connect(t, "http://api.test", client.ConnectionOptions{DialContext: srv.dial})
		defer conn.HTTP.CloseIdleConnections()
		n := 0
		_, err := newResource[*widget](t, conn, client.Options{}).List(t.Context(), metav1.ListOptions{},
			func(_ reflector.Event[*widget], err error) bool {
				if err != nil {
					t.Error(err)
				}
				n++
				time.Sleep(time.Hour)
				return true
			})
		if err != nil || n != 2 {
			t.Errorf("%d objects, %v", n, err)
		}
	})
}
