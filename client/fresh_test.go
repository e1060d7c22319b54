package client_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/reflector"
)

// freshServer serves a collection of widgets in each namespace.
type freshServer struct {
	*memServer

	mu      sync.Mutex
	version int
	written *sync.Cond
	watches map[string]int  // begun so far, by namespace
	breaks  map[string]bool // the watch of this namespace is to break off
	mutes   map[string]bool // the next watch of this namespace is not answered
	http2   bool            // all requests were
}

func newFreshServer(t *testing.T) *freshServer {
	s := &freshServer{version: 1, watches: map[string]int{}, breaks: map[string]bool{}, mutes: map[string]bool{}, http2: true}
	s.written = sync.NewCond(&s.mu)
	ca := newAuthority(t)
	cert, key := ca.issue(t, "api.test")
	s.memServer = serveTLS(t, cert, key, nil, s.serve)
	return s
}

func (s *freshServer) serve(w http.ResponseWriter, req *http.Request) {
	_, path, _ := strings.Cut(req.URL.Path, "/namespaces/")
	namespace, _, _ := strings.Cut(path, "/")
	w.Header().Set("Content-Type", "application/json")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.http2 = s.http2 && req.ProtoMajor == 2
	if req.URL.Query().Get("watch") == "" {
		_, _ = fmt.Fprintf(w, `{"kind":"WidgetList","apiVersion":"example.com/v1","metadata":{"resourceVersion":"%d"},"items":[]}`, s.version)
		return
	}
	s.watches[namespace]++
	stop := context.AfterFunc(req.Context(), s.written.Broadcast)
	defer stop()
	for muted := s.mutes[namespace]; muted && req.Context().Err() == nil; {
		s.mutes[namespace] = false
		s.written.Wait()
	}
	sent, _ := strconv.Atoi(req.URL.Query().Get("resourceVersion"))
	for req.Context().Err() == nil {
		_ = http.NewResponseController(w).Flush()
		for sent == s.version && !s.breaks[namespace] && req.Context().Err() == nil {
			s.written.Wait()
		}
		if s.breaks[namespace] {
			s.breaks[namespace] = false
			panic(http.ErrAbortHandler) // resets the stream
		}
		sent = s.version
		_, _ = io.WriteString(w, eventJSON("ADDED", full(widgetJSON("a", sent, 1))))
	}
}

// change changes something of the server.
func (s *freshServer) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	s.written.Broadcast()
}

// follower is a sink that knows only the version that it is at.
type follower struct {
	mu      sync.Mutex
	version string
}

func (f *follower) Apply(ctx context.Context, ev reflector.Event[*widget]) error {
	return f.Replace(ctx, ev.ResourceVersion)
}

func (f *follower) Replace(_ context.Context, version string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.version = version
	return nil
}

func (f *follower) Listed(context.Context, reflector.Event[*widget]) error { return nil }
func (f *follower) Skipped(*reflector.ObjectError)                         {}
func (f *follower) Discard()                                               {}

func (f *follower) at() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.version
}

// followers follow namespaces, in order. They share a connection.
func (s *freshServer) followers(t *testing.T, namespaces ...string) (all []*follower, stop func()) {
	t.Helper()
	all, end := follow(t, connect(t, apiURL, client.ConnectionOptions{Insecure: true, DialContext: s.dial}), namespaces...)
	return all, func() {
		end()
		if !s.http2 || s.dialed.Load() != 2 {
			t.Errorf("%d connections, all HTTP/2: %v; want 2", s.dialed.Load(), s.http2)
		}
		s.stop()
	}
}

// follow makes a follower for each namespace, in order.
func follow(t *testing.T, conn client.Connection, namespaces ...string) (all []*follower, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for _, namespace := range namespaces {
		f := &follower{}
		ref, err := reflector.New(newResource[*widget](t, conn, client.Options{Namespace: namespace}), f, reflector.Options{
			OnError: func(error) {},
			Tuning:  reflector.Tuning{DisableWatchList: true, TrustVersions: true, Backoff: reflector.Backoff{Random: func() float64 { return 0.5 }}},
		})
		if err != nil {
			t.Fatal(err)
		}
		running.Go(func() {
			if err := ref.Run(ctx); err != nil {
				t.Error(err)
			}
		})
		all = append(all, f)
		synctest.Wait() // so that the connection is there for the next one
	}
	return all, func() {
		cancel()
		running.Wait()
		conn.HTTP.CloseIdleConnections()
	}
}

// An HTTP/2 connection carries all requests. If it hangs, one request without an answer is enough:
// the next requests use their own connection, before pings show the loss.
func TestHungConnectionIsLeft(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newFreshServer(t)
		all, stop := s.followers(t, "broken", "silent", "too")
		s.change(func() { s.breaks["broken"] = true })
		synctest.Wait() // it waits for a moment before it begins its watch again
		s.hang()
		begin := time.Now()
		s.change(func() { s.version = 2 })
		for n, limit := range []time.Duration{11 * time.Second, 46 * time.Second, 46 * time.Second} {
			for all[n].at() != "2" && time.Since(begin) <= limit {
				time.Sleep(100 * time.Millisecond)
			}
			if rv := all[n].at(); rv != "2" {
				t.Errorf("follower %d is at %s after %v", n, rv, limit)
			}
		}
		stop()
	})
}

// A connection that was left for another because a request hung goes on carrying the watches
// that are on it.
func TestLeftConnectionGoesOn(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newFreshServer(t)
		all, stop := s.followers(t, "broken", "well")
		s.change(func() { s.breaks["broken"], s.mutes["broken"] = true, true })
		time.Sleep(time.Minute)
		s.change(func() { s.version = 2 })
		synctest.Wait()
		for n, f := range all {
			if rv := f.at(); rv != "2" {
				t.Errorf("follower %d is at %s", n, rv)
			}
		}
		if broken, well := s.watches["broken"], s.watches["well"]; broken != 3 || well != 1 {
			t.Errorf("%d and %d watches; want 3, of which one came to no answer, and 1", broken, well)
		}
		stop()
	})
}
