//go:build e2e

package recovery_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/e2e/beside"
	"github.com/kinform/kinform/e2e/oracle"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/kind"
)

var dyingTime = flag.Duration("dying.time", 30*time.Second, "how long TestDyingServer has a server die, in virtual time")

// way is a way to die. It answers a request, or returns neither an answer nor an error to let it
// through.
type way struct {
	name   string
	answer func(req *http.Request) (*http.Response, error)
	lists  bool // the informers begin while the server dies
	// What 100 informers of Kinform may do in half a minute: requests in a second on average and at
	// most, and the time until they are right. The waits are random, so each is one and a half
	// times the most of twenty runs, or less. One more request by each informer fails the test.
	mean  float64
	most  int
	right time.Duration
}

func ways() []way {
	fails := func(op string, err syscall.Errno) func(*http.Request) (*http.Response, error) {
		return func(*http.Request) (*http.Response, error) {
			return nil, &net.OpError{Op: op, Net: "tcp", Err: os.NewSyscallError(op, err)}
		}
	}
	refuses := func(code int, header http.Header, body string) func(*http.Request) (*http.Response, error) {
		return func(req *http.Request) (*http.Response, error) {
			return respond(req, code, header, strings.NewReader(body)), nil
		}
	}
	second := http.Header{"Retry-After": {"1"}}
	return []way{
		{name: "connections are refused", answer: fails("dial", syscall.ECONNREFUSED), mean: 3, most: 20, right: 3 * time.Second},
		{name: "connections are reset", answer: fails("read", syscall.ECONNRESET), mean: 3, most: 20, right: 3 * time.Second},
		{name: "no answer", answer: hang, mean: 7, most: 150, right: 3 * time.Second},
		{name: "429", answer: refuses(429, nil, ""), mean: 25, most: 200, right: 3 * time.Second},
		{name: "429, Retry-After 1", answer: refuses(429, second, ""), mean: 25, most: 150, right: 3 * time.Second},
		{name: "503, Retry-After 1", answer: refuses(503, second, ""), mean: 25, most: 150, right: 3 * time.Second},
		{name: "503 with HTML", answer: refuses(503, http.Header{"Content-Type": {"text/html"}}, "<html>"), mean: 25, most: 200, right: 4 * time.Second},
		{name: "500", answer: refuses(500, nil, ""), mean: 25, most: 200, right: 4 * time.Second},
		{name: "401", answer: refuses(401, nil, ""), mean: 12, most: 160, right: 3 * time.Second},
		{name: "403", answer: refuses(403, nil, ""), mean: 12, most: 160, right: 3 * time.Second},
		{name: "watches break after the header", answer: breakWatch, mean: 35, most: 310, right: time.Second},
		{name: "watches end at once", answer: endWatch, mean: 45, most: 310, right: 4 * time.Second},
		{name: "lists break, streams are refused", answer: cutList, lists: true, mean: 15, most: 360, right: time.Second},
		{name: "lists are 200 and empty", answer: emptyList(200), lists: true, mean: 30, most: 350, right: 4 * time.Second},
		{name: "lists are 204", answer: emptyList(204), lists: true, mean: 30, most: 350, right: 4 * time.Second},
	}
}

func respond(req *http.Request, code int, header http.Header, body io.Reader) *http.Response {
	all := http.Header{"Content-Type": {"application/json"}}
	for name, values := range header {
		all[name] = values
	}
	return &http.Response{
		StatusCode: code, Status: fmt.Sprint(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: all, Body: io.NopCloser(body), ContentLength: -1, Request: req,
	}
}

// hang says nothing until the limit of both libraries for a handshake of TLS.
func hang(req *http.Request) (*http.Response, error) {
	select {
	case <-time.After(10 * time.Second):
		return nil, &net.OpError{Op: "read", Net: "tcp", Err: os.ErrDeadlineExceeded}
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
}

func isWatch(req *http.Request) bool { return req.URL.Query().Get("watch") != "" }

// broken is a body that breaks.
type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func breakWatch(req *http.Request) (*http.Response, error) {
	if !isWatch(req) {
		return nil, nil
	}
	return respond(req, http.StatusOK, nil, broken{}), nil
}

func endWatch(req *http.Request) (*http.Response, error) {
	if !isWatch(req) {
		return nil, nil
	}
	return respond(req, http.StatusOK, nil, strings.NewReader("")), nil
}

// refuseStream answers a streaming list as a server without them.
func refuseStream(req *http.Request) *http.Response {
	if req.URL.Query().Get("sendInitialEvents") == "" {
		return nil
	}
	const invalid = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422,"message":"sendInitialEvents is forbidden"}`
	return respond(req, http.StatusUnprocessableEntity, nil, strings.NewReader(invalid))
}

func cutList(req *http.Request) (*http.Response, error) {
	if isWatch(req) {
		return refuseStream(req), nil
	}
	const begin = `{"kind":"ThingList","apiVersion":"recovery.example.com/v1","metadata":{"resourceVersion":"1"},"items":[`
	return respond(req, http.StatusOK, nil, io.MultiReader(strings.NewReader(begin), broken{})), nil
}

func emptyList(code int) func(*http.Request) (*http.Response, error) {
	return func(req *http.Request) (*http.Response, error) {
		if isWatch(req) {
			return refuseStream(req), nil
		}
		return respond(req, code, nil, strings.NewReader("")), nil
	}
}

// dyingServer is a server that dies in some way. It is a transport, so that both libraries can use
// it in virtual time.
type dyingServer struct {
	well http.RoundTripper

	mu   sync.Mutex
	way  *way // nil while it is well
	sent []time.Time
	open map[*watchBody]struct{}
}

func (s *dyingServer) RoundTrip(req *http.Request) (*http.Response, error) {
	s.mu.Lock()
	s.sent = append(s.sent, time.Now())
	w := s.way
	s.mu.Unlock()
	select {
	case <-time.After(2 * time.Millisecond):
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
	if w != nil {
		if resp, err := w.answer(req); resp != nil || err != nil {
			return resp, err
		}
	}
	if !isWatch(req) {
		return s.well.RoundTrip(req)
	}
	ctx, cancel := context.WithCancel(req.Context())
	resp, err := s.well.RoundTrip(req.WithContext(ctx))
	if err != nil {
		cancel()
		return nil, err
	}
	b := &watchBody{ReadCloser: resp.Body, server: s, cancel: cancel}
	s.mu.Lock()
	s.open[b] = struct{}{}
	s.mu.Unlock()
	resp.Body = b
	return resp, nil
}

// die makes the server die in a way, and its watches break; nil makes it well.
func (s *dyingServer) die(w *way) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.way = w; w == nil {
		return
	}
	for b := range s.open {
		b.cut = true
		b.cancel()
	}
}

// count returns the requests since began, and the most of them in a second.
func (s *dyingServer) count(began time.Time) (all, most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := 0
	for first < len(s.sent) && s.sent[first].Before(began) {
		first++
	}
	all = len(s.sent) - first
	for i := first; i < len(s.sent); i++ {
		for s.sent[i].Sub(s.sent[first]) >= time.Second {
			first++
		}
		most = max(most, i-first+1)
	}
	return all, most
}

// watchBody is the body of a watch that may be cut.
type watchBody struct {
	io.ReadCloser
	server *dyingServer
	cancel context.CancelFunc
	cut    bool // guarded by server.mu
}

func (b *watchBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.server.mu.Lock()
	defer b.server.mu.Unlock()
	if err != nil && b.cut {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

func (b *watchBody) Close() error {
	b.server.mu.Lock()
	delete(b.server.open, b)
	b.server.mu.Unlock()
	b.cancel()
	return b.ReadCloser.Close()
}

// TestDyingServer prints how many requests 100 informers of each library send to a server that dies
// in 15 ways, and how soon they are right once it is well. All is in virtual time, on a server in
// this process. For longer, and all ways:
//
//	go test -tags e2e -run TestDyingServer -v ./recovery -args -dying.time 5m
func TestDyingServer(t *testing.T) {
	var b strings.Builder
	b.WriteString("| the server dies | Kinform | client-go |\n| --- | ---: | ---: |\n")
	for _, w := range ways() {
		fmt.Fprintf(&b, "| %s |", w.name)
		for _, lib := range []func([]beside.Kind, beside.Options) (*beside.Side, error){beside.Kinform, beside.ClientGo} {
			synctest.Test(t, func(t *testing.T) {
				side, mean, most, right := die(t, &w, lib)
				fmt.Fprintf(&b, " %.1f/s, %d in the worst second; %.2f s |", mean, most, right.Seconds())
				if side != beside.KinformName || *dyingTime != 30*time.Second {
					return
				}
				if mean > w.mean || most > w.most || right > w.right {
					t.Errorf("%s: %.1f requests a second, at most %d, right after %v; want at most %v, %d, %v",
						w.name, mean, most, right, w.mean, w.most, w.right)
				}
			})
		}
		b.WriteString("\n")
	}
	t.Logf("\n%s", &b)
}

// die measures one library.
func die(t *testing.T, w *way, lib func([]beside.Kind, beside.Options) (*beside.Side, error)) (name string, mean float64, most int, right time.Duration) {
	api := fake.New(fake.Options{})
	s := &dyingServer{well: api.Client().Transport, open: map[*watchBody]struct{}{}}
	opts := beside.Options{URL: fake.URL, Transport: s}
	for i := range 10 {
		opts.Namespaces = append(opts.Namespaces, oracle.NamespaceName(i))
	}
	var kinds []beside.Kind
	for i := range 10 {
		gvr := schema.GroupVersionResource{Group: "recovery.example.com", Version: "v1", Resource: fmt.Sprintf("thing%ds", i)}
		kinds = append(kinds, beside.Custom(gvr, fmt.Sprintf("Thing%d", i), nil))
		k := kind.Of[*unstructured.Unstructured](gvr.GroupVersion(), gvr.Resource).Named(kinds[i].Name)
		if err := fake.Register(api, k, fake.Rules{}); err != nil {
			t.Fatal(err)
		}
	}
	admin := &oracle.Client{URL: fake.URL, HTTP: api.Client()}
	write := func(object string) {
		for _, k := range kinds {
			for _, namespace := range opts.Namespaces {
				obj := k.Object(object)
				if _, err := oracle.Create(t.Context(), admin, k.Path(namespace, ""), &obj); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	write("before")
	l, err := lib(kinds, opts)
	if err != nil {
		t.Fatal(err)
	}
	until := func(object string) time.Duration {
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		if err := l.Await(ctx, func(c beside.Cache) bool {
			return c.Version(beside.Key{Namespace: c.Namespace(), Name: object}) != ""
		}); err != nil {
			t.Error(err)
		}
		return time.Since(began)
	}
	if w.lists {
		s.die(w)
	}
	began := time.Now()
	l.Start()
	if !w.lists {
		until("before")
		time.Sleep(time.Minute)
		began = time.Now()
		s.die(w)
	}
	time.Sleep(*dyingTime)
	all, most := s.count(began)
	s.die(nil)
	write("after")
	right = until("after")
	if err := l.Stop(); err != nil {
		t.Error(err)
	}
	return l.Name(), float64(all) / dyingTime.Seconds(), most, right
}
