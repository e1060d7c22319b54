package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
)

// script answers the n-th request with the n-th answer, and all after the last with an
// object. It keeps when it was asked, and with which body.
type script struct {
	answers []func() (*http.Response, error)

	mu     sync.Mutex
	asked  []time.Duration // since the test began
	bodies []string
}

func (s *script) connection() client.Connection {
	begin := time.Now()
	return transport(func(req *http.Request) (*http.Response, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		n := len(s.asked)
		s.asked = append(s.asked, time.Since(begin))
		body := ""
		if req.Body != nil {
			b, err := io.ReadAll(req.Body)
			if err != nil {
				return nil, err
			}
			body = string(b)
		}
		s.bodies = append(s.bodies, body)
		if n < len(s.answers) {
			return s.answers[n]()
		}
		return response(strings.NewReader(full(widgetJSON("a", 1, 1)))), nil
	}).connection()
}

// refuse answers with a code, and a Retry-After header unless it is empty.
func refuse(code int, retryAfter string) func() (*http.Response, error) {
	return func() (*http.Response, error) {
		resp := response(strings.NewReader("go away"))
		resp.StatusCode = code
		if retryAfter != "" {
			resp.Header.Set("Retry-After", retryAfter)
		}
		return resp, nil
	}
}

// breaks fails as a connection does.
func breaks(err error) func() (*http.Response, error) {
	return func() (*http.Response, error) { return nil, err }
}

var errReset = &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}

func times(n int, answer func() (*http.Response, error)) []func() (*http.Response, error) {
	var all []func() (*http.Response, error)
	for range n {
		all = append(all, answer)
	}
	return all
}

// A delay beyond all bounds is a long one, not none and not a short one.
func TestAbsurdDelays(t *testing.T) {
	for header, want := range map[string]int{
		"2147483647": math.MaxInt32, "2147483648": math.MaxInt32, "4294967297": math.MaxInt32,
		"99999999999999999999": math.MaxInt32, "Fri, 31 Dec 9999 23:59:59 GMT": math.MaxInt32,
		"-99999999999999999999": 0, "-3": 0, "soon": 0,
	} {
		s := &script{answers: times(1, refuse(503, header))}
		r := newResource[*widget](t, s.connection(), client.Options{})
		_, err := r.Get(t.Context(), types.NamespacedName{Namespace: "ns", Name: "a"}, metav1.GetOptions{})
		if got, _ := apierrors.SuggestsClientDelay(err); got != want || err == nil {
			t.Errorf("%s: a delay of %d s, want %d: %v", header, got, want, err)
		}
	}
}

func TestRetries(t *testing.T) {
	const get, all = "get", ""
	for _, test := range []struct {
		name    string
		retries int
		answers []func() (*http.Response, error)
		verb    string // all but list and watch if empty
		asked   []time.Duration
		is      func(error) bool // nil: no error
	}{
		{name: "429", answers: times(1, refuse(429, "7")), asked: []time.Duration{0, 7 * time.Second}},
		{name: "503 and 500", answers: append(times(1, refuse(503, "1")), refuse(500, "2")), asked: []time.Duration{0, 1 * time.Second, 3 * time.Second}},
		{name: "429 without a delay", answers: times(1, refuse(429, "")), asked: []time.Duration{0}, is: apierrors.IsTooManyRequests},
		{name: "503 without a delay", answers: times(1, refuse(503, "-1")), asked: []time.Duration{0}, is: apierrors.IsServiceUnavailable},
		{name: "at once", answers: append(times(1, refuse(503, "0")), refuse(429, "Mon, 01 Jan 0001 00:00:00 GMT")), asked: []time.Duration{0, time.Second, 2 * time.Second}},
		{name: "404 with a delay", answers: times(1, refuse(404, "1")), asked: []time.Duration{0}, is: apierrors.IsNotFound},
		{name: "a minute", answers: times(1, refuse(429, "60")), asked: []time.Duration{0, time.Minute}},
		{name: "more than a minute", answers: times(1, refuse(429, "61")), asked: []time.Duration{0}, is: apierrors.IsTooManyRequests},
		{name: "more than fits", answers: times(1, refuse(429, "4294967297")), asked: []time.Duration{0}, is: apierrors.IsTooManyRequests},
		{name: "never", retries: -1, answers: times(1, refuse(429, "1")), asked: []time.Duration{0}, is: apierrors.IsTooManyRequests},
		{name: "twice", retries: 2, answers: times(9, refuse(429, "1")), asked: []time.Duration{0, time.Second, 2 * time.Second}, is: apierrors.IsTooManyRequests},
		{name: "read on a broken connection", verb: get, answers: times(2, breaks(errReset)), asked: []time.Duration{0, 100 * time.Millisecond, 300 * time.Millisecond}},
		{name: "read on an ended connection", verb: get, answers: times(1, breaks(io.EOF)), asked: []time.Duration{0, 100 * time.Millisecond}},
		{name: "read on a lost connection", verb: get, answers: times(1, breaks(errors.New("http2: client connection lost"))), asked: []time.Duration{0, 100 * time.Millisecond}},
		{
			name: "refused", answers: times(1, breaks(&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED})), asked: []time.Duration{0},
			is: func(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) },
		},
	} {
		for _, verb := range []string{"get", "create", "update", "patch", "apply", "delete", "deletecollection"} {
			if test.verb != all && verb != test.verb {
				continue
			}
			t.Run(test.name+"/"+verb, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := &script{answers: test.answers}
					conn := s.connection()
					conn.Retries = test.retries
					err := calls(t.Context(), newResource[*widget](t, conn, client.Options{}))[verb]()
					if test.is == nil && err != nil || test.is != nil && (err == nil || !test.is(err)) {
						t.Error(err)
					}
					if fmt.Sprint(s.asked) != fmt.Sprint(test.asked) {
						t.Errorf("asked after %v, want %v", s.asked, test.asked)
					}
					for _, body := range s.bodies {
						if body != s.bodies[0] || verb != "get" && body == "" {
							t.Errorf("bodies %q", s.bodies)
						}
					}
				})
			})
		}
	}
}

// A write whose outcome is not known is not repeated.
func TestWritesAreNotRepeatedBlindly(t *testing.T) {
	for _, verb := range []string{"create", "update", "patch", "apply", "delete", "deletecollection"} {
		s := &script{answers: times(1, breaks(errReset))}
		err := calls(t.Context(), newResource[*widget](t, s.connection(), client.Options{}))[verb]()
		if !errors.Is(err, syscall.ECONNRESET) || len(s.asked) != 1 {
			t.Errorf("%s: %v, asked %d times", verb, err, len(s.asked))
		}
	}
}

// A reflector waits by itself.
func TestListAndWatchAreNotRetried(t *testing.T) {
	for _, verb := range []string{"list", "watch"} {
		for _, answer := range []func() (*http.Response, error){refuse(429, "5"), breaks(errReset)} {
			s := &script{answers: times(1, answer)}
			err := calls(t.Context(), newResource[*widget](t, s.connection(), client.Options{}))[verb]()
			if err == nil || len(s.asked) != 1 {
				t.Errorf("%s: %v, asked %d times", verb, err, len(s.asked))
			}
		}
	}
}

// The default is a bounded number of tries, and the error says how many they were.
func TestRetriesEnd(t *testing.T) {
	for _, answer := range []func() (*http.Response, error){refuse(503, "1"), breaks(errReset)} {
		synctest.Test(t, func(t *testing.T) {
			s := &script{answers: times(100, answer)}
			r := newResource[*widget](t, s.connection(), client.Options{})
			_, err := r.Get(t.Context(), types.NamespacedName{Name: "a"}, metav1.GetOptions{})
			if len(s.asked) != 1+client.DefaultRetries || err == nil || !strings.Contains(err.Error(), "tried 11 times") ||
				!strings.HasPrefix(err.Error(), `get widgets.example.com "a": `) {
				t.Errorf("asked %d times: %v", len(s.asked), err)
			}
			for i := range len(s.asked) - 1 {
				if wait := s.asked[i+1] - s.asked[i]; wait > 5*time.Second {
					t.Errorf("waited %v", wait)
				}
			}
		})
	}
}

func TestRetryObeysContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		get := func(ctx context.Context, answer func() (*http.Response, error)) (time.Duration, error) {
			r := newResource[*widget](t, (&script{answers: times(3, answer)}).connection(), client.Options{})
			begin := time.Now()
			_, err := r.Get(ctx, types.NamespacedName{Name: "a"}, metav1.GetOptions{})
			return time.Since(begin), err
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(3*time.Second, cancel)
		took, err := get(ctx, refuse(429, "10"))
		if !errors.Is(err, context.Canceled) || !apierrors.IsTooManyRequests(err) || took != 3*time.Second {
			t.Errorf("cancelled: %v after %v", err, took)
		}

		// A wait that ends too late is not begun: what the server said is worth more.
		ctx, cancel = context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		took, err = get(ctx, refuse(429, "10"))
		if errors.Is(err, context.DeadlineExceeded) || !apierrors.IsTooManyRequests(err) || took != 0 {
			t.Errorf("deadline: %v after %v", err, took)
		}
		if seconds, ok := apierrors.SuggestsClientDelay(err); !ok || seconds != 10 {
			t.Errorf("%d s: %v", seconds, err)
		}
	})
}

// The limit belongs to the connection, whichever client and verb use it.
func TestLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{}
		conn := s.connection()
		conn.Limiter = rate.NewLimiter(10, 3)
		a, b := newResource[*widget](t, conn, client.Options{}), newResource[*plain](t, conn, client.Options{})
		for i := range 4 {
			if _, err := a.Get(t.Context(), types.NamespacedName{Name: "a"}, metav1.GetOptions{}); err != nil {
				t.Fatal(err)
			}
			if i%2 == 0 {
				list(t.Context(), b, metav1.ListOptions{})
			}
		}
		want := []time.Duration{0, 0, 0, 100 * time.Millisecond, 200 * time.Millisecond, 300 * time.Millisecond}
		if fmt.Sprint(s.asked) != fmt.Sprint(want) {
			t.Errorf("asked after %v, want %v", s.asked, want)
		}

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for verb, do := range calls(ctx, a) {
			if err := do(); !errors.Is(err, context.Canceled) || !strings.HasPrefix(err.Error(), subject(verb)+": ") {
				t.Errorf("%s: %v", verb, err)
			}
		}
		ctx, cancel = context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if err := calls(ctx, a)["get"](); err == nil || !strings.Contains(err.Error(), "rate limit") {
			t.Error(err)
		}
		if len(s.asked) != len(want) {
			t.Error("a call that did not get its turn was made")
		}
	})
}

// A retry takes a token like any request.
func TestRetriesAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{answers: times(2, breaks(&url.Error{Op: "Get", URL: "x", Err: io.EOF}))}
		conn := s.connection()
		conn.Limiter = rate.NewLimiter(rate.Every(time.Hour), 1)
		r := newResource[*widget](t, conn, client.Options{})
		if _, err := r.Get(t.Context(), types.NamespacedName{Name: "a"}, metav1.GetOptions{}); err != nil {
			t.Fatal(err)
		}
		if want := []time.Duration{0, time.Hour, 2 * time.Hour}; fmt.Sprint(s.asked) != fmt.Sprint(want) {
			t.Errorf("asked after %v, want %v", s.asked, want)
		}
	})
}
