package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// TestDebug looks at the debug page of the quickstart, in real time.
func TestDebug(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var body string
	out := &served{found: func(url string) {
		defer cancel()
		answer, err := http.Get(url + "state.json")
		if err != nil {
			t.Error(err)
			return
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Error(err)
		}
		body = string(text)
	}}
	var stderr bytes.Buffer
	status := command(ctx, strings.Fields("-for 0 -plain -pods 50 -debug 127.0.0.1:0"), out, &stderr)
	out.asking.Wait()
	for _, name := range []string{`"name":"pods"`, `"name":"summaries"`} {
		if !strings.Contains(body, name) {
			t.Errorf("the page lacks %s: %.300s", name, body)
		}
	}
	if status != 0 && !strings.Contains(stderr.String(), "too short") {
		t.Errorf("status %d, stderr %q", status, stderr.String())
	}
	http.DefaultClient.CloseIdleConnections()

	stderr.Reset()
	if status := command(t.Context(), strings.Fields("-debug 127.0.0.1:none"), io.Discard, &stderr); status != 1 || !strings.Contains(stderr.String(), "none") {
		t.Errorf("a wrong address: status %d, stderr %q", status, stderr.String())
	}
}

var pageLine = regexp.MustCompile(`(?m)^the debug page is at (http://.*)$`)

// served calls found once, in another goroutine, with the URL of the page when the program says it.
type served struct {
	found  func(url string)
	asking sync.WaitGroup
	text   bytes.Buffer
	said   bool
}

func (s *served) Write(b []byte) (int, error) {
	s.text.Write(b)
	if url := pageLine.FindSubmatch(s.text.Bytes()); url != nil && !s.said {
		s.said = true
		s.asking.Go(func() { s.found(string(url[1])) })
	}
	return len(b), nil
}
