package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kinform/kinform/examples/quickstart/internal/live"
	"github.com/kinform/kinform/reflector"
)

// brokenTransport fails every request.
type brokenTransport struct{ err error }

func (b brokenTransport) RoundTrip(*http.Request) (*http.Response, error) { return nil, b.err }

func TestJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &journal{start: time.Now()}
		var all []live.Note
		seen := 0
		for i := range 3 * journalSize {
			time.Sleep(time.Second)
			text := fmt.Sprint("note ", i)
			if i%2 == 0 {
				j.note(text)
			} else {
				j.failed(errors.New(text))
			}
			all = append(all, live.Note{At: time.Duration(i+1) * time.Second, Text: text})
			if i%7 == 0 {
				var got []live.Note
				got, n := j.since(seen, 5)
				if n != len(all) {
					t.Errorf("after %d notes there are %d", len(all), n)
				}
				want := all[max(seen, len(all)-5):]
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("notes after %d (-want +got):\n%s", seen, diff)
				}
				seen = n
			}
		}
		got, _ := j.since(0, len(all))
		if diff := cmp.Diff(all[len(all)-journalSize:], got); diff != "" {
			t.Errorf("what is kept (-want +got):\n%s", diff)
		}
		if got, n := j.since(len(all), 5); len(got) != 0 || n != len(all) {
			t.Errorf("news where there are none: %v, %d", got, n)
		}
		if n, last := j.failures(); n != 3*journalSize/2 || last.Error() != all[len(all)-1].Text {
			t.Errorf("%d failures, the last %v", n, last)
		}
	})
}

func TestDescribe(t *testing.T) {
	list := func(err error) error {
		return &reflector.RequestError{Verb: "list", Resource: "pods", ResourceVersion: "0", RetryIn: 1234567 * time.Microsecond, Err: err}
	}
	refused := errors.New("connection refused")
	for _, tt := range []struct {
		err  error
		want string
	}{
		{refused, "connection refused"},
		{list(refused), "list pods, again in 1.235s: connection refused"},
		{list(fmt.Errorf("list pods: %w", refused)), "list pods, again in 1.235s: connection refused"},
		{list(fmt.Errorf("list pods: %w", &url.Error{Op: "Get", URL: "http://a.example/long", Err: refused})),
			"list pods, again in 1.235s: connection refused"},
		{&reflector.ObjectError{Resource: "pods", Key: "a/b", Err: refused}, `pods: object "a/b" skipped: connection refused`},
	} {
		if got := describe(tt.err); got != tt.want {
			t.Errorf("describe(%v) = %q, want %q", tt.err, got, tt.want)
		}
	}
}
