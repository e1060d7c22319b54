package logs

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// limited runs f under virtual time with a log that has a limit. lines returns what was written
// since the last call.
func limited(t *testing.T, f func(l Log, lines func() []string)) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		to := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: noTime}))
		f(New(to, "part", "widgets"), func() []string {
			defer out.Reset()
			return strings.FieldsFunc(out.String(), func(r rune) bool { return r == '\n' })
		})
	})
}

func TestOneRecordAMinute(t *testing.T) {
	limited(t, func(l Log, lines func() []string) {
		for n := range 120 {
			l.KeyError("a/b", "work failed", fmt.Errorf("attempt %d", n))
			l.KeyError("a/c", "work failed", fmt.Errorf("attempt %d", n))
			time.Sleep(time.Second)
		}
		want := []string{
			`level=WARN msg="part: work failed" resource=widgets key=a/b error="attempt 0"`,
			`level=WARN msg="part: work failed" resource=widgets key=a/c error="attempt 0"`,
			`level=WARN msg="part: work failed" resource=widgets key=a/b error="attempt 60" omitted=59`,
			`level=WARN msg="part: work failed" resource=widgets key=a/c error="attempt 60" omitted=59`,
		}
		if got := lines(); strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

// Failures of another message, key, resource or type of error do not hide each other.
func TestTopics(t *testing.T) {
	limited(t, func(l Log, lines func() []string) {
		for range 2 {
			l.Error(known{errors.New("x")})
			l.Error(errors.New("x"))
			l.Error(&joined{errors.New("x")})
			l.KeyError("k", "one", errors.New("x"))
			l.KeyError("k", "another", errors.New("x"))
			l.KeyError("j", "one", errors.New("x"))
		}
		if got := lines(); len(got) != 6 {
			t.Errorf("%d records:\n%s", len(got), strings.Join(got, "\n"))
		}
	})
}

type joined struct{ error }

// A list of a million objects without a key is one record, and one in which each has a key is
// bounded.
func TestManyTopics(t *testing.T) {
	limited(t, func(l Log, lines func() []string) {
		for range 3 * maxTopics {
			l.Error(known{errors.New("no key")})
		}
		if got := lines(); len(got) != 1 {
			t.Errorf("%d records of one topic", len(got))
		}
		for n := range 3 * maxTopics {
			l.KeyError(fmt.Sprint(n), "work failed", errors.New("x"))
		}
		if got := lines(); len(got) != maxTopics {
			t.Errorf("%d records of many keys, want %d", len(got), maxTopics)
		}
		time.Sleep(period)
		l.KeyError("another", "work failed", errors.New("x"))
		if got := lines(); len(got) != 1 || strings.Contains(got[0], "omitted") {
			t.Errorf("a minute later: %q", got)
		}
		if n := len(l.limit.topics); n != 1 {
			t.Errorf("%d topics are kept", n)
		}
	})
}

// While there is no room, the other keys have one record in a minute, which counts them.
func TestNoRoom(t *testing.T) {
	limited(t, func(l Log, lines func() []string) {
		for n := range maxTopics - 1 {
			l.KeyError(fmt.Sprint("steady ", n), "work failed", errors.New("x"))
		}
		l.KeyError("more", "work failed", errors.New("x")) // takes the last place
		lines()
		for n := range 10 {
			l.KeyError(fmt.Sprint("new ", n), "work failed", errors.New("x"))
		}
		if got := lines(); len(got) != 1 || !strings.Contains(got[0], `"new 0"`) {
			t.Errorf("no room: %q", got)
		}
	})
}

func TestConcurrently(t *testing.T) {
	limited(t, func(l Log, lines func() []string) {
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() { l.Error(errors.New("x")) })
		}
		all.Wait()
		time.Sleep(period)
		l.Error(errors.New("x"))
		if got := lines(); len(got) != 2 || !strings.Contains(got[1], "omitted=7") {
			t.Errorf("got %q", got)
		}
	})
}
