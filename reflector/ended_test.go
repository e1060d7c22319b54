package reflector

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// endedReflector returns a reflector that watches from version 5, and whose server is away.
func endedReflector(t *testing.T) (*Reflector[string], *sink[string]) {
	s := new(sink[string])
	tuning := Tuning{Backoff: Backoff{Random: func() float64 { return 0 }}}
	r, err := New(&source[string]{}, s, Options{Tuning: tuning, OnError: func(error) {}})
	if err != nil {
		t.Fatal(err)
	}
	r.core.state.phase, r.core.state.rv, r.core.state.relisted = phaseWatching, "5", true
	r.core.breaker.failed(time.Now(), r.core.opts.Backoff)
	return r, s
}

// What follows the end of a watch that lasted for a certain time.
func TestEndOfWatch(t *testing.T) {
	for name, c := range map[string]struct {
		phase          phase // watching, if it is zero
		lived          time.Duration
		lasts          time.Duration // a minute, if it is zero
		err            error
		cut, silent    bool
		answered       bool  // the server is not away any more
		steady         bool  // the next list need not wait
		failed         bool  // it is reported
		next           phase // of the next request
		wantUnanswered bool
	}{
		"almost steady":   {lived: 30*time.Second - 1, err: failure("eof", 0), failed: true, next: phaseChecking},
		"steady":          {lived: 30 * time.Second, err: failure("eof", 0), failed: true, next: phaseChecking, steady: true},
		"in time":         {lived: 59 * time.Second, answered: true, next: phaseWatching, steady: true},
		"almost in time":  {lived: 59*time.Second - 1, answered: true, next: phaseChecking, steady: true},
		"too short":       {lived: time.Second - 1, lasts: time.Second, answered: true, failed: true, next: phaseChecking},
		"short":           {lived: time.Second, lasts: time.Second, answered: true, next: phaseWatching},
		"refused":         {err: failure("internal", 0), answered: true, failed: true, next: phaseChecking},
		"cut at once":     {cut: true, next: phaseChecking},
		"cut":             {lived: 90 * time.Second, cut: true, next: phaseWatching, steady: true},
		"silent":          {lived: 60 * time.Second, cut: true, silent: true, next: phaseChecking, steady: true},
		"stream refused":  {phase: phaseStreaming, err: failure("invalid", 0), answered: true, next: phaseListing},
		"stream cut":      {phase: phaseStreaming, lived: time.Minute, cut: true, failed: true, next: phaseListing},
		"stream silent":   {phase: phaseStreaming, lived: time.Minute, cut: true, silent: true, failed: true, next: phaseStreaming, wantUnanswered: true},
		"stream unlisted": {phase: phaseStreaming, lived: time.Minute, failed: true, answered: true, next: phaseListing},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, _ := endedReflector(t)
				var heard error
				r.core.opts.OnError = func(err error) { heard = err }
				if c.phase == phaseStreaming {
					r.core.state = r.core.state.relist("5")
				}
				began := time.Now().Add(-c.lived)
				w := &watchRequest{turn: t.Context(), guard: guard{asked: RequestError{Verb: "watch", ResourceVersion: "5"}}, began: began, listed: began, lasts: cmp.Or(c.lasts, time.Minute), silent: c.silent, end: watchEnd{rv: "5", err: c.err}}
				r.core.watchEnded(w, c.cut)
				if away := r.core.breaker.away(); away == c.answered {
					t.Errorf("away %v", away)
				}
				if (heard != nil) != c.failed || errors.Is(heard, errUnanswered) != c.wantUnanswered {
					t.Errorf("heard %v", heard)
				}
				if r.core.state.phase != c.next || c.phase != phaseStreaming && r.core.state.relisted == c.steady {
					t.Errorf("next %d, relisted %v", r.core.state.phase, r.core.state.relisted)
				}
			})
		})
	}
}

// The first event of a watch is an answer of the server, and each is a success.
func TestEventIsASuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := endedReflector(t)
		r.core.carryOut(t.Context(), failedStep(failure("eof", 0)), RequestError{Verb: "watch"}, time.Now())
		w := &watchRequest{turn: t.Context(), end: watchEnd{rv: "5"}}
		w.guard.request = t.Context()
		w.dog = r.core.guardWatch(w)
		defer w.dog.stop()
		if more, err := receivePair(&r.transfer, w, added("a", 6), nil); !more || err != nil || s.nApply != 1 {
			t.Errorf("received: %v, %v, %d applied", more, err, s.nApply)
		}
		if r.core.breaker.away() || !w.end.heard || r.Stats().Failing.Err != nil {
			t.Errorf("away %v, heard %v, %+v", r.core.breaker.away(), w.end.heard, r.Stats().Failing)
		}
		r.core.breaker.failed(time.Now(), r.core.opts.Backoff)
		if _, _ = receivePair(&r.transfer, w, added("a", 7), nil); !r.core.breaker.away() {
			t.Error("an event of before is taken for an answer")
		}
		if more, _ := receivePair(&r.transfer, w, Event[string]{}, failure("eof", 0)); more {
			t.Error("the watch goes on after an error")
		}
	})
}

// A whole list is a success, even if nothing follows.
func TestListIsASuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := endedReflector(t)
		r.core.carryOut(t.Context(), failedStep(failure("internal", 0)), RequestError{Verb: "list"}, time.Now())
		if r.Stats().Failing.Err == nil {
			t.Fatal("a refused list is no failure")
		}
		r.core.beginList("list")
		if err := r.core.replace(t.Context()); err != nil || r.Stats().Failing.Err != nil {
			t.Errorf("%v, %+v", err, r.Stats().Failing)
		}
	})
}

// A status is an answer of the server, whatever it says.
func TestStatusIsAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := endedReflector(t)
		r.core.breaker.failed(time.Now(), r.core.opts.Backoff)
		r.core.carryOut(t.Context(), failedStep(failure("internal", 0)), RequestError{Verb: "list"}, time.Now())
		if r.core.breaker.away() {
			t.Error("a server that refuses is away")
		}
	})
}

// A streaming list with an object that cannot be used is not empty.
func TestSkippedIsNotEmpty(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := endedReflector(t)
		r.core.state.phase, r.core.emptyList = phaseStreaming, true
		w := &watchRequest{turn: t.Context()}
		w.dog = r.core.guardWatch(w)
		defer w.dog.stop()
		bad := &ObjectError{Type: Added, Err: errors.New("bad")}
		if more, err := receivePair(&r.transfer, w, Event[string]{}, bad); !more || err != nil || r.core.emptyList {
			t.Errorf("received: %v, %v, empty %v", more, err, r.core.emptyList)
		}
	})
}

// A short IdleTimeout applies to a streaming list, too.
func TestImpatientStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		var listed time.Duration
		src := &source[string]{watch: hang[string], list: func(context.Context, metav1.ListOptions, func(Event[string], error) bool) (metav1.ListMeta, error) {
			if listed == 0 {
				listed = time.Since(began)
			}
			return metav1.ListMeta{ResourceVersion: "3"}, nil
		}}
		r, err := New(src, &sink[string]{}, Options{Tuning: Tuning{IdleTimeout: 4 * time.Second}, OnError: func(error) {}})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Run(ctx); err != nil || listed != 4*time.Second {
			t.Errorf("Run returned %v, LIST after %v", err, listed)
		}
	})
}

// countdown is a context that ends when it has been looked at so many times.
type countdown struct {
	context.Context
	left int
}

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// Wherever Run is when its context ends, the sink keeps no half of a list.
func TestEndAnywhereDiscards(t *testing.T) {
	for looks := range 40 {
		synctest.Test(t, func(t *testing.T) {
			s := new(sink[string])
			begun, more := 0, true
			src := &source[string]{watch: events[string](), list: func(_ context.Context, opts metav1.ListOptions, yield func(Event[string], error) bool) (metav1.ListMeta, error) {
				if opts.Continue == "" {
					begun++
				}
				more = yield(added("a", 1), nil)
				return metav1.ListMeta{ResourceVersion: "3", Continue: map[bool]string{true: "more"}[opts.Continue == ""]}, nil
			}}
			r, err := New(src, s, Options{Tuning: Tuning{DisableWatchList: true, TrustVersions: true}, OnError: func(error) {}})
			if err != nil {
				t.Fatal(err)
			}
			if err := r.Run(&countdown{t.Context(), looks}); err != nil || !more {
				t.Error(err, more)
			}
			if s.nReplace+s.nDiscard < begun {
				t.Errorf("after %d looks at the context: %d lists begun, %d whole, %d discarded", looks, begun, s.nReplace, s.nDiscard)
			}
		})
	}
}

// Nothing of a list is left when its source has panicked.
func TestPanicInListStopsTheWatchdog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		src := &source[string]{list: func(context.Context, metav1.ListOptions, func(Event[string], error) bool) (metav1.ListMeta, error) {
			panic("boom")
		}}
		r, err := New(src, &sink[string]{}, Options{Tuning: Tuning{DisableWatchList: true}, OnError: func(err error) { t.Error(err) }})
		if err != nil {
			t.Fatal(err)
		}
		func() {
			defer func() { _ = recover() }()
			_ = r.Run(ctx)
		}()
		cancel()
		time.Sleep(time.Hour)
	})
}

// A list that hung until another request was answered failed for the breaker's reason.
func TestHungListIsUnanswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		b := new(Breaker)
		s := &closures{breaker: b, list: func(ctx context.Context, _ metav1.ListOptions) (metav1.ListMeta, error) {
			<-ctx.Done()
			return metav1.ListMeta{}, ctx.Err()
		}}
		var heard []error
		r, err := New[string](s, &sink[string]{}, Options{Tuning: Tuning{DisableWatchList: true}, OnError: func(err error) { heard = append(heard, err) }})
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error)
		go func() { ended <- r.Run(ctx) }()
		time.Sleep(time.Second)
		b.failed(time.Now(), Backoff{}.withDefaults()) // of another reflector
		time.Sleep(4 * time.Second)
		b.answered()
		synctest.Wait()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if len(heard) != 1 || !errors.Is(heard[0], errUnanswered) {
			t.Errorf("reported %v", heard)
		}
	})
}

// speaking is closures whose watch has an event each second.
type speaking struct{ closures }

func (s *speaking) Watch(ctx context.Context, opts metav1.ListOptions) iter.Seq2[Event[string], error] {
	return func(yield func(Event[string], error) bool) {
		s.note("watch " + opts.ResourceVersion)
		AttemptOf(ctx).Answered()
		for rv := 6; ctx.Err() == nil && yield(added("a", rv), nil); rv++ {
			time.Sleep(time.Second)
		}
	}
}

// A watch that brings something in a long outage is not given up after it.
func TestSpeakingWatchGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		b := new(Breaker)
		s := &speaking{closures{breaker: b, list: func(context.Context, metav1.ListOptions) (metav1.ListMeta, error) {
			return metav1.ListMeta{ResourceVersion: "5"}, nil
		}}}
		r, err := New[string](s, &sink[string]{}, Options{Tuning: Tuning{DisableWatchList: true}, OnError: func(err error) { t.Error(err) }})
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error)
		go func() { ended <- r.Run(ctx) }()
		time.Sleep(time.Minute)
		b.failed(time.Now(), Backoff{}.withDefaults()) // of another reflector
		time.Sleep(longOutage + time.Second/2)
		b.answered()
		time.Sleep(time.Minute)
		cancel()
		if err := <-ended; err != nil || s.count() != 2 {
			t.Errorf("Run returned %v after %q", err, s.reqs)
		}
	})
}

// The attempt of a list has ended when the list is reported, and while its reflector waits.
func TestListEndsItsAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		b := new(Breaker)
		s := &closures{breaker: b, list: func(context.Context, metav1.ListOptions) (metav1.ListMeta, error) {
			return metav1.ListMeta{}, failure("internal", 0)
		}}
		r, err := New[string](s, &sink[string]{}, Options{Tuning: Tuning{DisableWatchList: true}, OnError: func(error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			if n := len(b.unanswered); n != 0 {
				t.Errorf("%d attempts are left in the breaker", n)
			}
			cancel()
		}})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Run(ctx); err != nil || s.count() != 1 {
			t.Errorf("Run returned %v after %d requests", err, s.count())
		}
	})
}
