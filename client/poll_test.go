package client_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/reflector"
)

// sizes is a sink: the widgets' sizes by name.
type sizes struct{ now, next map[string]int }

func (s *sizes) Listed(_ context.Context, ev reflector.Event[*widget]) error {
	if s.next == nil {
		s.next = map[string]int{}
	}
	s.next[ev.Object.Name] = ev.Object.Spec.Size
	return nil
}

func (s *sizes) Skipped(*reflector.ObjectError) {}

func (s *sizes) Replace(context.Context, string) error {
	s.now, s.next = s.next, nil
	return nil
}

func (s *sizes) Discard() { s.next = nil }

func (s *sizes) Apply(context.Context, reflector.Event[*widget]) error { return nil }

// cached keeps a sink equal to what serve says for a time, and returns the reflector's statistics at the
// end of it, and the sink's contents.
func cached(t *testing.T, serve http.HandlerFunc, during time.Duration) (reflector.Stats, map[string]int) {
	t.Helper()
	srv := servePlain(serve)
	defer srv.stop()
	conn := connect(t, "http://api.test", client.ConnectionOptions{DialContext: srv.dial})
	defer conn.HTTP.CloseIdleConnections()
	var s sizes
	r, err := reflector.New(newResource[*widget](t, conn, client.Options{}), &s, reflector.Options{OnError: func(error) {}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	time.Sleep(during)
	synctest.Wait()
	stats := r.Stats()
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	time.Sleep(time.Second) // for handlers that sleep
	return stats, s.now
}

// listAt is a list of one widget.
func listAt(version string, size int) string {
	return fmt.Sprintf(`{"kind":"WidgetList","apiVersion":"example.com/v1","metadata":{"resourceVersion":%q},"items":[{"metadata":{"name":"a","resourceVersion":%[1]q,"uid":"1"},"spec":{"size":%d}}]}`, version, size)
}

// A server whose lists have no version is listed again and again. It answers a watch by a list, as
// metrics-server does.
func TestPollServerWithoutVersions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		size := 0
		stats, objects := cached(t, func(w http.ResponseWriter, req *http.Request) {
			if req.URL.Query().Get("watch") == "" {
				size++
			}
			answers(200, "application/json", listAt("", size))(w, req)
		}, 61*time.Second)
		if p := stats.Polling; stats.Lists != 5 || p.Every != 15*time.Second || p.Since.IsZero() || stats.Failing.Err != nil || objects["a"] != 5 {
			t.Errorf("%v, %+v", objects, stats)
		}
	})
}

// A cache is kept up to date by lists if every watch is refused, reset or empty.
func TestListsWithoutWatches(t *testing.T) {
	for name, watch := range map[string]http.HandlerFunc{
		"forbidden":    refuses(403, "Forbidden"),
		"unauthorized": refuses(401, "Unauthorized"),
		"empty":        answers(200, "application/json", ""),
		"reset": func(w http.ResponseWriter, _ *http.Request) {
			panic(http.ErrAbortHandler)
		},
		"reset later": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(200)
			_ = http.NewResponseController(w).Flush()
			time.Sleep(300 * time.Millisecond)
			panic(http.ErrAbortHandler)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				size := 0
				stats, objects := cached(t, func(w http.ResponseWriter, req *http.Request) {
					switch q := req.URL.Query(); {
					case q.Get("watch") != "":
						watch(w, req)
						return
					case q.Get("fieldSelector") == "":
						size++
					}
					answers(200, "application/json", listAt(strconv.Itoa(5+size), size))(w, req)
				}, 10*time.Minute)
				if stats.Lists < 8 || stats.Lists > 40 || objects["a"] != size {
					t.Errorf("%v, %d lists, %+v", objects, stats.Lists, stats)
				}
				if stats.Polling.Every != 30*time.Second && name != "empty" {
					t.Errorf("%+v", stats.Polling)
				}
			})
		})
	}
}

// The bookmark that ends a streaming list may lack a version.
func TestEndWithoutVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stats, objects := cached(t, func(w http.ResponseWriter, req *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, eventJSON("ADDED", full(widgetJSON("a", 3, 1)))+eventJSON("BOOKMARK", strings.Replace(initialJSON, `"resourceVersion":"21",`, "", 1)))
			_ = http.NewResponseController(w).Flush()
			<-req.Context().Done()
		}, 30*time.Second)
		if stats.Lists != 1 || stats.WatchLists != 1 || objects["a"] != 1 {
			t.Errorf("%v, %+v", objects, stats)
		}
	})
}
