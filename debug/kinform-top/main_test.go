package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/kinform/kinform/debug"
	"github.com/kinform/kinform/queue"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestOnce(t *testing.T) {
	page := debug.New(debug.Options{})
	q := queue.New(queue.Options[string]{})
	if err := page.AddQueue("work\x1b[31m", q); err != nil {
		t.Fatal(err)
	}
	q.Add("a")
	server := httptest.NewServer(page)
	defer server.Close()
	defer http.DefaultClient.CloseIdleConnections()
	for _, address := range []string{server.URL, server.URL + "/state.json"} {
		var out strings.Builder
		if err := top(context.Background(), &out, address, ""); err != nil {
			t.Fatal(err)
		}
		if text := out.String(); !strings.Contains(text, `work\x1b[31m  1 `) || strings.Contains(text, "\x1b") {
			t.Errorf("got %q", text)
		}
	}
	for _, bad := range []string{"localhost:80", "%", "file:///etc"} {
		if err := top(context.Background(), new(strings.Builder), bad, ""); err == nil {
			t.Errorf("%s: no error", bad)
		}
	}
}

// A key in a loop has a line with all that is known, whatever is in it.
func TestLoopingKeys(t *testing.T) {
	text := "16 reconciles in 15s, 16 after " + strings.Repeat("x", 100) + "\x1b changed spec.a, written by this controller"
	s := debug.State{Controllers: []debug.Queue{{Name: "work", LoopingKeys: []debug.Key{{Key: "a/one", Error: text, Seconds: 90}}}}}
	want := "\nIn a loop in work\n  a/one  " + strings.ReplaceAll(text, "\x1b", "?") + ", found 1m30s ago\n"
	if got := render(s); !strings.Contains(got, want) {
		t.Errorf("got %q", got)
	}
}

// Keys that run, wait or fail come with their newest causes, five of each, and informers with their last errors.
func TestCauses(t *testing.T) {
	var keys []debug.Key
	for range 7 {
		keys = append(keys, debug.Key{Key: "a/b", Cause: "secrets a/b\x1b updated 1 → 2"})
	}
	text := render(debug.State{
		Informers: []debug.Informer{{Name: "pods", LastError: &debug.PastError{Age: 90, Error: "refused\x1b"}}},
		Controllers: []debug.Queue{{
			Name: "c", NoWorkers: "this process does not lead; web-1\x1b does", FailingKeys: keys[:1], RunningKeys: keys[:1],
			QueuedKeys: append([]debug.Key{{Key: "unknown", Seconds: 1.5}}, keys[:3]...), DelayedKeys: keys,
		}},
	})
	const line = "  because: secrets a/b? updated 1 → 2\n"
	want := "\nLast error of pods, 1m30s ago: refused?\n\nNo workers of c: this process does not lead; web-1? does\n" +
		"\nFailing in c\n  a/b  " + line + "\nRunning in c\n  a/b" + line +
		"\nQueued in c\n  unknown  for 1.5s\n" + strings.Repeat("  a/b"+line, 3) + "\nDelayed in c\n" + strings.Repeat("  a/b"+line, 5)
	if !strings.HasSuffix(text, want) {
		t.Errorf("got %s", text)
	}
}

// What is wrong with an informer, and what needs the memory, is in words.
func TestTroubles(t *testing.T) {
	for80 := 80.0
	text := render(debug.State{
		Memory: debug.Memory{Heap: 731e6, Total: 2.5e9},
		Informers: []debug.Informer{
			{Name: "pods", State: "busy", Bytes: 46e6, Handlers: []debug.Handler{{Name: "billing\x1b", Stuck: &for80, Lag: 7}, {Name: "well"}}},
			{Name: "jobs", Quiet: &for80, Failing: &debug.Failing{Since: 80, Error: strings.Repeat("x", 100)}, Bytes: 999},
		},
		Controllers: []debug.Queue{{Name: "c", RunningKeys: []debug.Key{{Key: "a/b", Seconds: 80}}}},
	})
	want := "\npods does not answer, as while a function of an index does not return\n\nHandler billing? of pods has not returned for 1m20s, 7 behind\n" +
		"\njobs has been failing for 1m20s: " + strings.Repeat("x", 100) + "\n\nThe list of jobs is slow: nothing has come for 1m20s\n" +
		"\nRunning in c\n  a/b  for 1m20s\n"
	if !strings.HasSuffix(text, want) || !strings.HasPrefix(text, "00:00:00  heap 731 MB, from the system 2.5 GB, objects in caches about 46 MB\n") || !strings.Contains(text, "999 B") {
		t.Errorf("got %s", text)
	}
}

// cancelling ends after a number of writes, as a person does.
type cancelling struct {
	strings.Builder
	left   int
	cancel func()
}

func (c *cancelling) Write(b []byte) (int, error) { return c.WriteString(string(b)) }

func (c *cancelling) WriteString(s string) (int, error) {
	if c.left--; c.left == 0 {
		c.cancel()
	}
	return c.Builder.WriteString(s)
}

func TestRedraws(t *testing.T) {
	server := httptest.NewServer(debug.New(debug.Options{}))
	defer server.Close()
	defer http.DefaultClient.CloseIdleConnections()
	ctx, cancel := context.WithCancel(context.Background())
	out := &cancelling{left: 2, cancel: cancel}
	if err := top(ctx, out, server.URL, "q"); err != nil || strings.Count(out.String(), "\x1b[2J") != 2 {
		t.Errorf("got %v, %q", err, out.String())
	}
}

func TestNotAPage(t *testing.T) {
	for _, h := range []http.HandlerFunc{http.NotFound, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }} {
		server := httptest.NewServer(h)
		if err := top(context.Background(), new(strings.Builder), server.URL, ""); err == nil {
			t.Error("no error")
		}
		server.Close()
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestQuits(t *testing.T) {
	for _, c := range []struct {
		in         string
		keys, want bool
	}{{"x\n q \n", false, true}, {"q", false, true}, {"x\nxq\n", false, false}, {"xq", true, true}, {"Q", true, true}, {"x", true, false}} {
		if got := quits(strings.NewReader(c.in), c.keys); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// Keys that fail and keys that were given up come with their errors, five of each, and long times are in days.
func TestRenderFailed(t *testing.T) {
	var keys []debug.Key
	for range 7 {
		keys = append(keys, debug.Key{Key: "a/b\x1b", Failures: 3, Error: "no"})
	}
	last := 300000.0
	text := render(debug.State{
		Informers:   []debug.Informer{{Name: "pods", LastEvent: &last}},
		Controllers: []debug.Queue{{Name: "c", FailingKeys: keys[:1], GivenUpKeys: keys}},
	})
	const line = "  a/b?  3 times  no\n"
	if want := "\nFailing in c\n" + line + "\nGiven up in c\n" + strings.Repeat(line, 5); !strings.HasSuffix(text, want) || !strings.Contains(text, "3.5 days") {
		t.Errorf("got %s", text)
	}
}
