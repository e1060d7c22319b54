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

// streamed sends a streaming list of one widget, whole, and returns without its end.
func streamed(w http.ResponseWriter, version string, size int) {
	w.Header().Set("Content-Type", "application/json")
	object := fmt.Sprintf(`{"kind":"Widget","apiVersion":"example.com/v1","metadata":{"name":"a","resourceVersion":%q,"uid":"1"},"spec":{"size":%d}}`, version, size)
	_, _ = io.WriteString(w, eventJSON("ADDED", object)+eventJSON("BOOKMARK", strings.Replace(initialJSON, `"21"`, strconv.Quote(version), 1)))
	_ = http.NewResponseController(w).Flush()
}

// breaksAfter accepts a watch, sends text and breaks the connection after a time.
func breaksAfter(after time.Duration, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, text)
		_ = http.NewResponseController(w).Flush()
		wait(req, after)
		panic(http.ErrAbortHandler)
	}
}

// wait returns after a time, or when the client has gone.
func wait(req *http.Request, d time.Duration) {
	select {
	case <-time.After(d):
	case <-req.Context().Done():
	}
}

// errorEvent answers a watch by an ERROR event, at once.
func errorEvent(code int, reason string) http.HandlerFunc {
	return answers(200, "application/json", eventJSON("ERROR", fmt.Sprintf(statusOf, reason, code)))
}

// waysToFail are those in which every watch may fail while lists work.
func waysToFail() map[string]http.HandlerFunc {
	const html, json = "text/html", "application/json"
	ways := map[string]http.HandlerFunc{
		"200 with HTML": answers(200, html, "<html>"),
		"200, empty":    answers(200, json, ""),
		"200, empty, in a while": func(w http.ResponseWriter, req *http.Request) {
			_ = http.NewResponseController(w).Flush()
			wait(req, 900*time.Millisecond)
		},
		"200 with a list":         answers(200, json, listAt("9", 1)),
		"200 with other JSON":     answers(200, json, `{"status":"up"}`),
		"200 with half an event":  answers(200, json, `{"type":"ADDED","obj`),
		"204":                     answers(204, json, ""),
		"206":                     answers(206, json, ""),
		"302":                     answers(302, html, "", "Location", "https://login.test/"),
		"reset before the header": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"reset after the header":  breaksAfter(0, ""),
		"reset after 0.3 s":       breaksAfter(300*time.Millisecond, ""),
		"reset after 5 s":         breaksAfter(5*time.Second, ""),
		"reset after 20 s":        breaksAfter(20*time.Second, ""),
		"no header":               func(_ http.ResponseWriter, req *http.Request) { <-req.Context().Done() },
		"504 after a minute": func(w http.ResponseWriter, req *http.Request) {
			wait(req, time.Minute)
			answers(504, html, "<html>")(w, req)
		},
		"504 after 20 s": func(w http.ResponseWriter, req *http.Request) {
			wait(req, 20*time.Second)
			answers(504, html, "<html>")(w, req)
		},
		"429, Retry-After 1":              answers(429, json, fmt.Sprintf(statusOf, "TooManyRequests", 429), "Retry-After", "1"),
		"503, Retry-After 1":              answers(503, json, fmt.Sprintf(statusOf, "ServiceUnavailable", 503), "Retry-After", "1"),
		"503 with HTML":                   answers(503, html, "<html>"),
		"an event that is too old":        answers(200, json, eventJSON("MODIFIED", full(widgetJSON("a", 1, 1)))),
		"an event without code":           answers(200, json, eventJSON("ERROR", `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no"}`)),
		"an event of no type":             answers(200, json, `{"object":{"kind":"Widget","apiVersion":"example.com/v1","metadata":{"name":"a","resourceVersion":"99"}}}`),
		"events without objects":          answers(200, json, `{"type":"MODIFIED","object":{}}`+"\n"+`{"type":"BOOKMARK","object":{}}`+"\n"),
		"an unusable event, then a reset": breaksAfter(300*time.Millisecond, eventJSON("ADDED", full(`{"metadata":{"name":"a"},"spec":{"size":"large"}}`))),
		"an ERROR event with a pod":       answers(200, json, eventJSON("ERROR", `{"kind":"Pod","apiVersion":"v1"}`)),
	}
	for code, reason := range map[int]string{
		400: "BadRequest", 401: "Unauthorized", 403: "Forbidden", 404: "NotFound", 405: "MethodNotAllowed", 408: "Timeout", 409: "Conflict",
		410: "Expired", 422: "Invalid", 425: "", 429: "TooManyRequests", 500: "InternalError", 501: "", 502: "", 503: "ServiceUnavailable", 504: "Timeout", 507: "",
	} {
		ways[fmt.Sprint(code)] = refuses(code, reason)
		ways[fmt.Sprint("event ", code)] = errorEvent(code, reason)
	}
	return ways
}

// TestListsWithoutWatches: whatever happens to every watch, lists keep the cache up to date, one every
// Backoff.Max or a little later. The reflector says so until a watch works.
func TestListsWithoutWatches(t *testing.T) {
	for name, watch := range waysToFail() {
		for kind, stream := range map[string]http.HandlerFunc{
			"no streams":                   refuses(422, "Invalid"),
			"streams fail alike":           watch,
			"streams break after the list": nil,
		} {
			t.Run(name+", "+kind, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { listsWithout(t, watch, stream) })
			})
		}
	}
}

// listsWithout checks what follows if each watch is answered by watch, and each streaming list by
// stream. A nil stream sends the list and breaks.
func listsWithout(t *testing.T, watch, stream http.HandlerFunc) {
	const settles, lasts = 4 * time.Minute, 20 * time.Minute
	const least, most = 30 * time.Second, 45 * time.Second
	var mu sync.Mutex
	var lists []time.Time
	size, works := 0, false
	next := func() (version string, n int, well bool) {
		mu.Lock()
		defer mu.Unlock()
		lists, size = append(lists, time.Now()), size+1
		return strconv.Itoa(5 + size), size, works
	}
	srv := servePlain(func(w http.ResponseWriter, req *http.Request) {
		q := req.URL.Query()
		mu.Lock()
		well, last := works, size
		mu.Unlock()
		switch {
		case q.Get("sendInitialEvents") != "" && (stream == nil || well):
			version, n, well := next()
			streamed(w, version, n)
			if well {
				<-req.Context().Done()
			}
			panic(http.ErrAbortHandler)
		case q.Get("sendInitialEvents") != "":
			stream(w, req)
		case q.Get("watch") != "" && well:
			_ = http.NewResponseController(w).Flush()
			<-req.Context().Done()
		case q.Get("watch") != "":
			watch(w, req)
		case q.Get("fieldSelector") != "":
			answers(200, "application/json", listAt(strconv.Itoa(5+last), last))(w, req)
		default:
			version, n, _ := next()
			answers(200, "application/json", listAt(version, n))(w, req)
		}
	})
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
	time.Sleep(settles)
	began, seen, worst := time.Now(), 0, time.Duration(0)
	for time.Since(began) < lasts {
		time.Sleep(time.Second)
		synctest.Wait()
		mu.Lock()
		n, gap := len(lists), time.Duration(0)
		if n > 1 {
			gap = lists[n-1].Sub(lists[n-2])
		}
		mu.Unlock()
		if n == seen {
			continue
		}
		seen = n
		worst = max(worst, gap)
		if gap < least || gap > most {
			t.Errorf("%v after the beginning: a list after %v", time.Since(began), gap)
		}
		if p := r.Stats().Polling; p.Since.IsZero() || p.Every != least {
			t.Errorf("%v after the beginning: %+v", time.Since(began), p)
		}
		if t.Failed() {
			break
		}
	}
	t.Logf("a list every %v at most", worst)
	if seen < 10 && !t.Failed() {
		t.Errorf("%d lists: %v", seen, r.Stats())
	}
	mu.Lock()
	works = true
	mu.Unlock()
	time.Sleep(time.Minute + 2*time.Second) // the next watch begins
	for range 60 {
		if time.Sleep(time.Second); r.Stats().Polling.Every == 0 {
			break
		}
	}
	synctest.Wait()
	stats := r.Stats()
	if cancel(); stats.Polling != (reflector.Polling{}) || stats.Failing.Err != nil {
		t.Errorf("watches work, and %+v, %v", stats.Polling, stats.Failing)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if s.now["a"] != size {
		t.Errorf("%v, want %d", s.now, size)
	}
	time.Sleep(time.Minute) // for handlers that sleep
}

// A version that has expired is followed by a list at once, even if the Status that says so has no kind, or
// one of another group.
func TestExpiredWithoutKind(t *testing.T) {
	for form, meta := range map[string]string{
		"no kind": `"apiVersion":"v1"`, "neither": `"metadata":{}`, "kind alone": `"kind":"Status"`,
		"meta.k8s.io/v1": `"kind":"Status","apiVersion":"meta.k8s.io/v1"`, "meta.k8s.io/v1 without kind": `"apiVersion":"meta.k8s.io/v1"`,
	} {
		status := fmt.Sprintf(`{%s,"status":"Failure","message":"too old resource version: 5 (9)","reason":"Expired","code":410}`, meta)
		for as, body := range map[string]string{"event": eventJSON("ERROR", status), "body": status} {
			for _, code := range []int{200, 410} {
				t.Run(fmt.Sprintf("%s as %s with %d", form, as, code), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { listsAfter(t, answers(code, "application/json", body)) })
				})
			}
		}
	}
}

// listsAfter checks that a list follows within a second if the first watch is answered by watch.
func listsAfter(t *testing.T, watch http.HandlerFunc) {
	var watches, size int
	stats, objects := cached(t, func(w http.ResponseWriter, req *http.Request) {
		switch q := req.URL.Query(); {
		case q.Get("sendInitialEvents") != "":
			refuses(422, "Invalid")(w, req)
		case q.Get("watch") == "":
			size++
			answers(200, "application/json", listAt(strconv.Itoa(5+size), size))(w, req)
		case watches == 0:
			watches++
			watch(w, req)
		default:
			_ = http.NewResponseController(w).Flush()
			<-req.Context().Done()
		}
	}, time.Second)
	if watches != 1 || stats.Lists != 2 || objects["a"] != 2 {
		t.Errorf("after a second: %v, %+v", objects, stats)
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
