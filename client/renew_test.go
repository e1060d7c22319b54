package client_test

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/reflector"
)

// definedServer serves a widget whose size changes without a new version, as when the definition of
// widgets gets another default. Each watch can be resumed.
type definedServer struct {
	*memServer

	url string

	mu      sync.Mutex
	size    int
	lists   int
	watches int
	ends    chan struct{} // closed to end the watches that there are, in order
	closes  bool          // the connection of a watch takes no other requests
	refuses bool          // lists are refused
	lasts   time.Duration // a watch ends after so long; 0 means the time that it asked for
}

func newDefinedServer(t *testing.T, http2 bool) *definedServer {
	s := &definedServer{url: apiURL, size: 1, ends: make(chan struct{})}
	if http2 {
		cert, key := newAuthority(t).issue(t, "api.test")
		s.memServer = serveTLS(t, cert, key, nil, s.serve)
		return s
	}
	s.url, s.memServer = "http://api.test", servePlain(s.serve)
	return s
}

func (s *definedServer) serve(w http.ResponseWriter, req *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	s.mu.Lock()
	watch, ends, lasts := req.URL.Query().Get("watch") != "", s.ends, s.lasts
	switch {
	case watch:
		s.watches++
		if s.closes {
			w.Header().Set("Connection", "close")
		}
	case s.refuses:
		w.WriteHeader(http.StatusInternalServerError)
	default:
		if req.URL.Query().Get("limit") != "1" { // which would be the check for a restored server
			s.lists++
		}
		_, _ = fmt.Fprintf(w, `{"kind":"WidgetList","apiVersion":"example.com/v1","metadata":{"resourceVersion":"7"},"items":[%s]}`, widgetJSON("a", 5, s.size))
	}
	s.mu.Unlock()
	if !watch {
		return
	}
	_ = http.NewResponseController(w).Flush()
	if lasts == 0 {
		seconds, _ := strconv.Atoi(req.URL.Query().Get("timeoutSeconds"))
		lasts = time.Duration(seconds) * time.Second
	}
	over, bookmarks := time.After(lasts), time.NewTicker(50*time.Second)
	defer bookmarks.Stop()
	for {
		select {
		case <-ends:
			return
		case <-over:
			return
		case <-req.Context().Done():
			return
		case <-bookmarks.C:
			_, _ = fmt.Fprintln(w, `{"type":"BOOKMARK","object":{"kind":"Widget","apiVersion":"example.com/v1","metadata":{"resourceVersion":"7"}}}`)
			_ = http.NewResponseController(w).Flush()
		}
	}
}

// counts returns the lists and watches so far.
func (s *definedServer) counts() (lists, watches int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lists, s.watches
}

// set changes something of the server.
func (s *definedServer) set(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// define changes the definition: contents are new, and the watches end.
func (s *definedServer) define(size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.size = size
	close(s.ends)
	s.ends = make(chan struct{})
}

// latestSize is a sink that keeps the size of the widget in the newest list.
type latestSize struct {
	follower
	listed, whole int
}

func (s *latestSize) Listed(_ context.Context, ev reflector.Event[*widget]) error {
	s.listed = ev.Object.Spec.Size
	return nil
}

func (s *latestSize) Replace(_ context.Context, version string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version, s.whole = version, s.listed
	return nil
}

func (s *latestSize) size() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.whole
}

// follow follows the widgets. stop ends that and the server.
func (s *definedServer) follow(t *testing.T) (f *latestSize, ref *reflector.Reflector[*widget], stop func()) {
	t.Helper()
	f = &latestSize{}
	conn := connect(t, s.url, client.ConnectionOptions{Insecure: true, DialContext: s.dial})
	ref, err := reflector.New(newResource[*widget](t, conn, client.Options{}), f, reflector.Options{
		OnError: func(error) {},
		Tuning:  reflector.Tuning{DisableWatchList: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := ref.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	return f, ref, func() {
		cancel()
		running.Wait()
		conn.HTTP.CloseIdleConnections()
		s.stop()
	}
}

// A definition that changes ends the watches and not the connection. Contents are new at unchanged
// versions, and no watch shows it.
func TestNewDefinitionIsListed(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		t.Run(fmt.Sprintf("HTTP/2 %v", http2), func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				s := newDefinedServer(t, http2)
				f, ref, stop := s.follow(t)
				defer stop()
				for size := 2; size <= 4; size++ {
					time.Sleep(10 * time.Second)
					s.define(size)
					time.Sleep(time.Second)
					if got := f.size(); got != size {
						t.Fatalf("size %d, want %d; %+v", got, size, ref.Stats().Relists)
					}
				}
				if lists, watches := s.counts(); lists != 4 || watches != 4 || s.dialed.Load() != 1 || ref.Stats().Relists.Ended != 3 {
					t.Errorf("%d lists, %d watches, %d connections, %+v", lists, watches, s.dialed.Load(), ref.Stats().Relists)
				}
			})
		})
	}
}

// A server that is restarted ends watches in order, too, and its connections with them. A list of
// each client would be a lot to ask of it.
func TestRestartIsNotListed(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		t.Run(fmt.Sprintf("HTTP/2 %v", http2), func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				s := newDefinedServer(t, http2)
				s.closes = true
				f, ref, stop := s.follow(t)
				defer stop()
				for range 3 {
					time.Sleep(10 * time.Second)
					s.define(1)
				}
				time.Sleep(10 * time.Second)
				lists, watches := s.counts()
				if stats := ref.Stats(); stats.Lists != 1 || watches != 4 || stats.Failures != 0 {
					t.Errorf("%d lists, %d watches, %+v", stats.Lists, watches, stats)
				}
				// HTTP/1.1 may have sent the request before it is given up.
				if http2 && lists != 1 {
					t.Errorf("the server was asked for %d lists, want 1", lists)
				}
				// Nor is there one when a later watch ends, on a connection that goes on.
				s.set(func() { s.closes = false })
				s.define(1)
				time.Sleep(12 * time.Minute)
				if again := ref.Stats(); again.Lists != 1 || again.Watches < 6 || again.IdleWatches > 0 {
					t.Errorf("after later watches: %d lists, %+v", again.Lists, again)
				}
				s.define(4)
				time.Sleep(time.Second)
				if got := f.size(); got != 4 {
					t.Errorf("size %d, want 4", got)
				}
			})
		})
	}
}

// A list that was given up is none of those that may follow watches at once.
func TestNewDefinitionAfterRestarts(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newDefinedServer(t, true)
		s.closes = true
		f, _, stop := s.follow(t)
		defer stop()
		for range 6 {
			time.Sleep(10 * time.Second)
			s.define(1)
		}
		s.set(func() { s.closes = false })
		time.Sleep(10 * time.Second)
		s.define(1) // the next watch leaves the connection open
		time.Sleep(10 * time.Second)
		s.define(2)
		time.Sleep(time.Second)
		if got := f.size(); got != 2 {
			t.Errorf("size %d, want 2", got)
		}
	})
}

// If such a list is refused, the watch goes on, and the list follows the next watch.
func TestNewDefinitionListRefused(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newDefinedServer(t, true)
		f, _, stop := s.follow(t)
		defer stop()
		time.Sleep(10 * time.Second)
		s.set(func() { s.refuses = true })
		s.define(2)
		time.Sleep(time.Minute)
		s.set(func() { s.refuses = false })
		if lists, watches := s.counts(); lists != 1 || watches != 2 {
			t.Errorf("%d lists, %d watches, want 1 and 2", lists, watches)
		}
		time.Sleep(10 * time.Minute) // the watch lasts as long as it asked for
		if got := f.size(); got != 2 {
			t.Errorf("size %d, want 2", got)
		}
	})
}

// A proxy that ends each watch after a minute must not cost a list a minute.
func TestEndedWatchesAreSeldomListed(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newDefinedServer(t, true)
		s.lasts = time.Minute
		_, _, stop := s.follow(t)
		time.Sleep(2 * time.Hour)
		stop()
		synctest.Wait()
		if lists, watches := s.counts(); watches < 110 || lists > 18 {
			t.Errorf("%d lists, %d watches", lists, watches)
		}
	})
}
