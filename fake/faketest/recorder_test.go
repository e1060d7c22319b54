package faketest_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinform/kinform/fake/faketest"
	"github.com/kinform/kinform/reflector"
)

type expectation = faketest.Expectation[string, *pod]

func TestRecorder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r faketest.Recorder[string, *pod]
		p1, p2 := newPod("a", "p1"), newPod("a", "p1")
		q := newPod("a", "q")
		go func() {
			time.Sleep(time.Second)
			r.Added("p", p1)
			time.Sleep(time.Second)
			r.Added("q", q)
			r.Updated("p", p1, p2)
			r.Deleted("q", q)
		}()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		fromOld := func(ev faketest.Recorded[string, *pod]) error {
			if ev.Old != p1 || ev.Object != p2 {
				return errors.New("other objects")
			}
			return nil
		}
		// Keys in any order, each key in its own.
		check(t, r.Expect(ctx, expectation{Type: reflector.Added, Key: "q"}, expectation{Type: reflector.Added, Key: "p"},
			expectation{Type: reflector.Modified, Key: "p", Check: fromOld}))
		check(t, r.Expect(ctx, expectation{Type: reflector.Deleted, Key: "q"}))
		check(t, r.Expect(ctx))
		if n := len(r.Events()); n != 4 || r.History.Events() != 4 {
			t.Errorf("%d events", n)
		}
		r.Added("x", newPod("a", "x"))
		r.Deleted("y", newPod("a", "y"))
		r.Updated("p", p2, p1)
		for name, c := range map[string]struct {
			err  error
			want []string
		}{
			"left over": {r.Expect(ctx), []string{"event 1: ADDED x, not expected", "event 2: DELETED y, not expected", "deleted while absent"}},
			"nothing":   {r.Expect(ctx, expectation{Type: reflector.Added, Key: "z"}), []string{"0 of 1 events: context deadline exceeded", "no event: ADDED z"}},
		} {
			for _, want := range c.want {
				if c.err == nil || !strings.Contains(c.err.Error(), want) {
					t.Errorf("%s: %v, want %q", name, c.err, want)
				}
			}
		}
	})
}

func TestRecorderMismatches(t *testing.T) {
	var r faketest.Recorder[string, *pod]
	r.Added("p", newPod("a", "p"))
	r.Added("q", newPod("a", "q"))
	bad := func(faketest.Recorded[string, *pod]) error { return errors.New("not so") }
	err := r.Expect(t.Context(), expectation{Type: reflector.Deleted, Key: "p"}, expectation{Type: reflector.Added, Key: "q", Check: bad})
	if want := "event 1: ADDED p, want DELETED\nevent 2: ADDED q: not so"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
