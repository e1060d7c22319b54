package client_test

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/reflector"
)

// calls are all the ways to ask a server, by verb.
func calls(ctx context.Context, r *client.Resource[*widget]) map[string]func() error {
	key := types.NamespacedName{Namespace: "ns", Name: "a"}
	w := &widget{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a"}}
	return map[string]func() error{
		"list":   func() error { return list(ctx, r, metav1.ListOptions{}).err },
		"watch":  func() error { return watch(ctx, r, metav1.ListOptions{}).err },
		"get":    func() error { _, err := r.Get(ctx, key, metav1.GetOptions{}); return err },
		"create": func() error { _, err := r.Create(ctx, w, metav1.CreateOptions{}); return err },
		"update": func() error { _, err := r.Update(ctx, w, metav1.UpdateOptions{}); return err },
		"delete": func() error { return r.Delete(ctx, key, metav1.DeleteOptions{}) },
		"deletecollection": func() error {
			return r.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
		},
		"apply": func() error { _, err := r.Apply(ctx, w, metav1.ApplyOptions{}); return err },
		"patch": func() error {
			_, err := r.Patch(ctx, key, types.MergePatchType, []byte("{}"), metav1.PatchOptions{})
			return err
		},
	}
}

// subject is how an error of one of the calls begins.
func subject(verb string) string {
	if verb == "list" || verb == "watch" || verb == "deletecollection" {
		return verb + " widgets.example.com"
	}
	return verb + ` widgets.example.com "ns/a"`
}

func TestRefusals(t *testing.T) {
	for _, test := range []struct {
		name, contentType, retry, body string
		code                           int
		is                             func(error) bool
		seconds                        int
		text                           string
	}{
		{name: "status", contentType: "application/json", code: 410, body: goneJSON, is: apierrors.IsResourceExpired, text: "too old"},
		{
			name: "status with a delay", contentType: "application/json", code: 429, retry: "7",
			body: `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"slow down","reason":"TooManyRequests","details":{"retryAfterSeconds":3},"code":429}`,
			is:   apierrors.IsTooManyRequests, seconds: 3, text: "slow down",
		},
		{
			name: "status without details", contentType: "application/json", code: 429, retry: "7",
			body: `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"slow down","reason":"TooManyRequests"}`,
			is:   apierrors.IsTooManyRequests, seconds: 7, text: "slow down",
		},
		{name: "text", contentType: "text/plain; charset=utf-8", code: 404, body: "404 page not found\n", is: apierrors.IsNotFound, text: "page not found"},
		{name: "HTML", contentType: "text/html", code: 502, body: "<html>Bad Gateway</html>", text: "Bad Gateway", is: apierrors.IsInternalError},
		{name: "empty", code: 503, retry: "2", is: apierrors.IsServiceUnavailable, seconds: 2, text: "empty body"},
		{name: "other JSON", contentType: "application/json", code: 401, body: `{"error":"token expired"}`, is: apierrors.IsUnauthorized, text: "token expired"},
		{name: "text 429", contentType: "text/plain", code: 429, retry: "1", body: "Too many requests, please try again later.", is: apierrors.IsTooManyRequests, seconds: 1, text: "try again"},
		{name: "negative delay", code: 503, retry: "-5", is: apierrors.IsServiceUnavailable},
		{name: "success Status", contentType: "application/json", code: 500, body: `{"kind":"Status","status":"Success"}`, is: apierrors.IsInternalError},
		{name: "huge", contentType: "text/plain", code: 403, body: strings.Repeat("no ", 1<<20), is: apierrors.IsForbidden, text: "no no"},
	} {
		t.Run(test.name, func(t *testing.T) {
			conn := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", test.contentType)
				if test.retry != "" {
					w.Header().Set("Retry-After", test.retry)
				}
				w.WriteHeader(test.code)
				_, _ = io.WriteString(w, test.body)
			})
			conn.Retries = -1
			for verb, do := range calls(t.Context(), newResource[*widget](t, conn, client.Options{})) {
				err := do()
				var st *apierrors.StatusError
				if !errors.As(err, &st) || !test.is(err) || int(st.ErrStatus.Code) != test.code {
					t.Fatalf("%s: %v", verb, err)
				}
				if seconds, _ := apierrors.SuggestsClientDelay(err); seconds != test.seconds {
					t.Errorf("%s: delay of %d s, want %d", verb, seconds, test.seconds)
				}
				text := err.Error()
				if !strings.Contains(text, test.text) || !strings.HasPrefix(text, subject(verb)+": ") || len(text) > 4096 {
					t.Errorf("%s: %s", verb, text)
				}
			}
		})
	}
}

func TestRetryAfterDate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := transport(func(*http.Request) (*http.Response, error) {
			resp := response(strings.NewReader(""))
			resp.StatusCode = http.StatusServiceUnavailable
			resp.Header.Set("Retry-After", time.Now().Add(90*time.Second).UTC().Format(http.TimeFormat))
			return resp, nil
		}).connection()
		_, err := newResource[*widget](t, conn, client.Options{}).Get(t.Context(), types.NamespacedName{Name: "a"}, metav1.GetOptions{})
		if seconds, _ := apierrors.SuggestsClientDelay(err); seconds != 90 {
			t.Errorf("%d s: %v", seconds, err)
		}
	})
}

func TestConnectionRefused(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	r := newResource[*widget](t, client.Connection{URL: "http://" + address}, client.Options{})
	for verb, do := range calls(t.Context(), r) {
		if err := do(); !errors.Is(err, syscall.ECONNREFUSED) || !strings.HasPrefix(err.Error(), subject(verb)+": ") {
			t.Errorf("%s: %v", verb, err)
		}
	}
}

// A connection that breaks is an unexpected end, also between two events.
func TestConnectionBroken(t *testing.T) {
	conn := serve(t, func(w http.ResponseWriter, req *http.Request) {
		body := listJSON(widgetJSON("a", 1, 1), widgetJSON("b", 2, 2))[:150]
		if req.URL.Query().Get("watch") != "" {
			body = eventJSON("ADDED", full(widgetJSON("a", 1, 1)))
		}
		_, _ = io.WriteString(w, body)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	r := newResource[*widget](t, conn, client.Options{})
	if got := watch(t.Context(), r, metav1.ListOptions{}); len(got.events) != 1 || !errors.Is(got.err, io.ErrUnexpectedEOF) {
		t.Error(got)
	}
	if got := list(t.Context(), r, metav1.ListOptions{}); !errors.Is(got.err, io.ErrUnexpectedEOF) {
		t.Error(got)
	}
}

// Every call ends with the context's error when the server hangs, before and after the
// header.
func TestCancelHangingServer(t *testing.T) {
	for _, header := range []bool{false, true} {
		asked := make(chan struct{})
		conn := serve(t, func(w http.ResponseWriter, req *http.Request) {
			_, _ = io.Copy(io.Discard, req.Body) // the server sees a closed connection only then
			if header {
				_, _ = io.WriteString(w, `{"kind":`)
				_ = http.NewResponseController(w).Flush()
			}
			asked <- struct{}{}
			<-req.Context().Done()
		})
		r := newResource[*widget](t, conn, client.Options{})
		for verb := range calls(t.Context(), r) {
			ctx, cancel := context.WithCancel(t.Context())
			go func() { <-asked; cancel() }()
			if err := calls(ctx, r)[verb](); !errors.Is(err, context.Canceled) || !strings.HasPrefix(err.Error(), verb+" ") {
				t.Errorf("header %v: %s: %v", header, verb, err)
			}
			cancel()
		}
	}
}

// A transport that knows nothing of contexts does not keep a list going.
func TestCancelWithinList(t *testing.T) {
	items := make([]string, 1000)
	for i := range items {
		items[i] = widgetJSON(fmt.Sprint("w", i), i, i)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	_, err := newResource[*widget](t, bodies(listJSON(items...)), client.Options{}).List(ctx, metav1.ListOptions{},
		func(reflector.Event[*widget], error) bool {
			n++
			cancel()
			return true
		})
	if !errors.Is(err, context.Canceled) || n > 500 {
		t.Errorf("%d objects, %v", n, err)
	}
}

// The connection of every call is used again, whatever the result. The exceptions are lists and
// watches that end early.
func TestConnectionReuse(t *testing.T) {
	var opened atomic.Int32
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch {
		case req.URL.Query().Get("watch") != "":
			_, _ = io.WriteString(w, eventJSON("ADDED", full(widgetJSON("a", 1, 1))))
		case req.Method == http.MethodGet && strings.HasSuffix(req.URL.Path, "/widgets"):
			_, _ = io.WriteString(w, listJSON(widgetJSON("a", 1, 1)))
		case req.Method == http.MethodPut:
			http.Error(w, strings.Repeat("no", 10_000), http.StatusConflict)
		default:
			_, _ = io.WriteString(w, full(widgetJSON("a", 1, 1))+strings.Repeat(" ", 10_000))
		}
	}))
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			opened.Add(1)
		}
	}
	srv.Start()
	defer srv.Close()
	r := newResource[*widget](t, client.Connection{URL: srv.URL, HTTP: srv.Client()}, client.Options{})
	for range 3 {
		for verb, do := range calls(t.Context(), r) {
			if err := do(); (err != nil) != (verb == "update") {
				t.Error(verb, err)
			}
		}
	}
	if n := opened.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

func TestGzip(t *testing.T) {
	conn := serve(t, func(w http.ResponseWriter, req *http.Request) {
		if !strings.Contains(req.Header.Get("Accept-Encoding"), "gzip") {
			t.Error("gzip is not asked for")
		}
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = io.WriteString(z, listJSON(widgetJSON("a", 1, 1)))
		_ = z.Close()
	})
	if got := list(t.Context(), newResource[*widget](t, conn, client.Options{}), metav1.ListOptions{}); got.err != nil || len(got.events) != 1 {
		t.Error(got)
	}
}

func TestConcurrentUse(t *testing.T) {
	conn := serve(t, func(w http.ResponseWriter, req *http.Request) {
		switch {
		case req.URL.Query().Get("watch") != "":
			_, _ = io.WriteString(w, eventJSON("ADDED", full(widgetJSON("a", 1, 1))))
		case req.Method == http.MethodGet && strings.HasSuffix(req.URL.Path, "/widgets"):
			_, _ = io.WriteString(w, listJSON(widgetJSON("a", 1, 1), "null"))
		default:
			_, _ = io.WriteString(w, full(widgetJSON("a", 1, 1)))
		}
	})
	r := newResource[*widget](t, conn, client.Options{})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 5 {
				for verb, do := range calls(t.Context(), r) {
					if err := do(); err != nil {
						t.Error(verb, err)
					}
				}
			}
		})
	}
	wg.Wait()
}

// A transport that only says that its connection was closed does not hide the cause.
func TestCancelBehindAnotherError(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	conn := transport(func(*http.Request) (*http.Response, error) {
		cancel()
		return nil, net.ErrClosed
	}).connection()
	_, err := newResource[*widget](t, conn, client.Options{}).Get(ctx, types.NamespacedName{Name: "a"}, metav1.GetOptions{})
	if !errors.Is(err, context.Canceled) || !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}
