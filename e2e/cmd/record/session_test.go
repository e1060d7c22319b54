package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/kinform/kinform/e2e/oracle"
)

// sessionWith returns a session on its own server.
func sessionWith(t *testing.T, handler http.HandlerFunc) *session {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return &session{api: &oracle.Client{URL: server.URL, HTTP: server.Client()}, tape: new(tape)}
}

func TestRecordKeepsBytesAndRequest(t *testing.T) {
	const raw = "\x1f\x8b not really gzip \xff\r\n"
	s := sessionWith(t, func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Accept-Encoding"); got != "identity" {
			t.Errorf("Accept-Encoding %q: the bytes may be compressed", got)
		}
		body, _ := io.ReadAll(r.Body)
		if got, want := string(body), `{"a":1}`; got != want {
			t.Errorf("request body %q, want %q", got, want)
		}
		w.Header().Set("Content-Type", "application/vnd.kubernetes.protobuf;stream=watch")
		w.Header().Set("Retry-After", "7")
		w.Header().Set("Audit-Id", "different each time")
		w.WriteHeader(http.StatusTooManyRequests)
		fmt.Fprint(w, raw)
	})
	r := request{
		name: "n", about: "what", path: "/p", query: url.Values{"b": {"2"}, "a": {"1"}}, format: protobufFormat(),
		method: http.MethodPut, body: map[string]int{"a": 1}, want: http.StatusTooManyRequests,
	}
	if err := s.record(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	e := s.tape.entries[0]
	got := fmt.Sprint(e.File, e.About, e.Method, e.Path, e.Accept, e.RequestBody, e.Status, len(e.Header), e.Header.Get("Retry-After"))
	want := fmt.Sprint("n.pb", "what", "PUT", "/p?a=1&b=2", "application/vnd.kubernetes.protobuf", `{"a":1}`, 429, 2, "7")
	if got != want {
		t.Errorf("entry %s, want %s", got, want)
	}
	if !bytes.Equal(s.tape.bodies["n.pb"], []byte(raw)) {
		t.Errorf("body %q, want %q", s.tape.bodies["n.pb"], raw)
	}
	r.name, r.want = "other", http.StatusOK
	if err := s.record(t.Context(), r); err == nil || !strings.Contains(err.Error(), "status 429, want 200") {
		t.Errorf("another status than wanted: %v", err)
	}
}

// The server answers the first request only after the last one has come. Nevertheless it is first
// on the tape.
func TestRecordTogether(t *testing.T) {
	last := make(chan struct{})
	s := sessionWith(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/0":
			<-last
		case "/9":
			close(last)
		}
		fmt.Fprint(w, r.URL.Path)
	})
	var reqs []request
	for i := range 10 {
		reqs = append(reqs, request{name: fmt.Sprint(i), path: fmt.Sprint("/", i)})
	}
	if err := s.recordTogether(t.Context(), reqs...); err != nil {
		t.Fatal(err)
	}
	for i, e := range s.tape.entries {
		if got, want := string(s.tape.bodies[e.File]), fmt.Sprint("/", i); got != want || e.Path != want {
			t.Errorf("recording %d is %s with body %s", i, e.Path, got)
		}
	}
	if err := s.recordTogether(t.Context(), reqs[1]); err == nil {
		t.Error("a second recording of the same name: no error")
	}
}

func TestUntilRefused(t *testing.T) {
	n := 0
	s := sessionWith(t, func(w http.ResponseWriter, r *http.Request) {
		if n++; n == 5 {
			http.Error(w, "too many", http.StatusTooManyRequests)
			return
		}
		fmt.Fprint(w, "{}")
	})
	if err := s.untilRefused(t.Context(), request{name: "n"}); err != nil {
		t.Fatal(err)
	}
	if got := s.tape.entries[0]; n != 5 || got.Status != 429 || got.File != "n.txt" {
		t.Errorf("after %d requests: %+v", n, got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.untilRefused(ctx, request{name: "n"}); !errors.Is(err, context.Canceled) {
		t.Errorf("after the context: %v", err)
	}
}

func TestInFormats(t *testing.T) {
	var got []string
	for _, r := range inFormats(request{name: "a"}, request{name: "b", as: "Kind"}) {
		got = append(got, r.name+" "+r.format.accept)
	}
	want := []string{
		"a application/json", "a application/vnd.kubernetes.protobuf",
		"b application/json;as=Kind;g=meta.k8s.io;v=v1",
		"b application/vnd.kubernetes.protobuf;as=Kind;g=meta.k8s.io;v=v1",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s, want\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestExtension(t *testing.T) {
	for _, tt := range []struct{ contentType, body, want string }{
		{"application/json", "{}", "json"},
		{"application/json", "404 page not found", "txt"},
		{"text/plain; charset=utf-8", "{}", "txt"},
		{"application/vnd.kubernetes.protobuf;stream=watch", "", "pb"},
		{"", "", "txt"},
	} {
		if got := extension(tt.contentType, []byte(tt.body)); got != tt.want {
			t.Errorf("extension(%q, %q) = %q, want %q", tt.contentType, tt.body, got, tt.want)
		}
	}
}
