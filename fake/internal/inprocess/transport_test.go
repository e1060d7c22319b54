package inprocess_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinform/kinform/fake/internal/inprocess"
)

// do sends a request to handler; body may be nil.
func do(t testing.TB, ctx context.Context, handler http.HandlerFunc, body io.Reader) (*http.Response, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, "POST", "http://fake.invalid/path?q=1", body)
	if err != nil {
		t.Fatal(err)
	}
	return (&http.Client{Transport: inprocess.Transport{Handler: handler}}).Do(r)
}

func TestWholeAnswer(t *testing.T) {
	resp, err := do(t, t.Context(), func(w http.ResponseWriter, r *http.Request) {
		in, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Uri", r.RequestURI)
		w.WriteHeader(http.StatusTeapot)
		w.Header().Set("X-Uri", "too late")
		w.Write(bytes.ToUpper(in))
	}, strings.NewReader("hello"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	out, err := io.ReadAll(resp.Body)
	if string(out) != "HELLO" || err != nil || resp.StatusCode != 418 || resp.Header.Get("X-Uri") != "/path?q=1" {
		t.Errorf("%s %v %q, error %v", resp.Status, resp.Header, out, err)
	}
}

// TestStream: each flush reaches the client at once, and the end of the handler ends the body.
func TestStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		resp, err := do(t, t.Context(), func(w http.ResponseWriter, _ *http.Request) {
			for _, line := range []string{"one\n", "two\n", "rest"} {
				io.WriteString(w, line)
				if line != "rest" {
					http.NewResponseController(w).Flush()
					time.Sleep(time.Minute)
				}
			}
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		start, piece := time.Now(), make([]byte, 100)
		for i, want := range []string{"one\n", "two\n", "rest"} {
			n, err := resp.Body.Read(piece)
			if string(piece[:n]) != want || err != nil || time.Since(start) != time.Duration(i)*time.Minute {
				t.Errorf("%q after %v, error %v", piece[:n], time.Since(start), err)
			}
		}
		if _, err := resp.Body.Read(piece); err != io.EOF {
			t.Errorf("ended with %v", err)
		}
		if err := resp.Body.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestCloseEndsTheHandler closes while the handler waits, and while it writes to a client that
// does not read. The bubble fails the test if the handler stays.
func TestCloseEndsTheHandler(t *testing.T) {
	for _, writes := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			ended := false
			resp, err := do(t, t.Context(), func(w http.ResponseWriter, r *http.Request) {
				defer func() { ended = true }()
				http.NewResponseController(w).Flush()
				for writes && r.Context().Err() == nil {
					w.Write(make([]byte, 1000))
					http.NewResponseController(w).Flush()
				}
				<-r.Context().Done()
				time.Sleep(time.Minute)
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			for range 2 {
				if err := resp.Body.Close(); err != nil || !ended {
					t.Errorf("closed with %v, handler ended: %t", err, ended)
				}
			}
			if _, err := resp.Body.Read(make([]byte, 1)); err == nil {
				t.Error("read after close")
			}
		})
	}
}

// slowBody is a request body that never comes.
type slowBody struct{ closed chan struct{} }

func (b slowBody) Read([]byte) (int, error) { <-b.closed; return 0, io.ErrClosedPipe }
func (b slowBody) Close() error {
	select {
	case <-b.closed:
	default:
		close(b.closed)
	}
	return nil
}

// TestContextEndsARequest: a handler that reads a body, or waits, ends with the context.
func TestContextEndsARequest(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"reads": func(_ http.ResponseWriter, r *http.Request) { io.ReadAll(r.Body) },
		"waits": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if resp, err := do(t, ctx, handler, slowBody{make(chan struct{})}); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: got %v, %v", name, resp, err)
			}
		})
	}
}

// TestPanic: a handler that panics breaks the connection, before the answer or within it.
func TestPanic(t *testing.T) {
	if resp, err := do(t, t.Context(), func(http.ResponseWriter, *http.Request) { panic("boom") }, nil); !errors.Is(err, io.ErrUnexpectedEOF) ||
		!strings.Contains(err.Error(), "panic: boom") {
		t.Errorf("got %v, %v", resp, err)
	}
	resp, err := do(t, t.Context(), func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "half")
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if out, err := io.ReadAll(resp.Body); string(out) != "half" || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%q, error %v", out, err)
	}
}
