package reflector

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// asleep begins a sleep of an hour for the reason why. The returned function reports whether it has
// ended.
func asleep(ctx context.Context, b *Breaker, why pause) (woken func() bool) {
	ended := make(chan struct{})
	go func() {
		b.sleep(ctx, why, 0, time.Hour)
		close(ended)
	}()
	synctest.Wait()
	return func() bool {
		synctest.Wait()
		select {
		case <-ended:
			return true
		default:
			return false
		}
	}
}

// inBubble calls test in a bubble, with a context that ends with the test.
func inBubble(t *testing.T, test func(t *testing.T, ctx context.Context, b *Breaker)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer synctest.Wait()
		defer cancel()
		test(t, ctx, new(Breaker))
	})
}

// The end of an outage ends other waits too. A connection that breaks again and again is no better
// after a short outage.
func TestOutageEndsOtherWaits(t *testing.T) {
	for why, short := range map[pause]bool{pauseDenied: true, pauseBusy: true} {
		for _, lasts := range []time.Duration{longOutage - 1, longOutage} {
			inBubble(t, func(t *testing.T, ctx context.Context, b *Breaker) {
				woken := asleep(ctx, b, why)
				b.failed(time.Now(), Backoff{}.withDefaults())
				time.Sleep(lasts)
				if woken() {
					t.Errorf("%s: woken in the outage", pauses[why])
				}
				b.answered()
				long := lasts == longOutage
				if got, want := woken(), short || long; got != want {
					t.Errorf("%s: woken after %v of outage: %v, want %v", pauses[why], lasts, got, want)
				}
				if got := b.longOutageCount() == 1; got != long {
					t.Errorf("an outage of %v is long: %v", lasts, got)
				}
			})
		}
	}
}

// The success of a reflector wakes those that fail for the same reason, and not too often.
func TestWakeAlike(t *testing.T) {
	for why, every := range map[pause]time.Duration{pauseDenied: 5 * time.Second, pauseBusy: 30 * time.Second} {
		inBubble(t, func(t *testing.T, ctx context.Context, b *Breaker) {
			other := asleep(ctx, b, pauseDenied+pauseBusy-why)
			first := asleep(ctx, b, why)
			if b.wakeAlike(why); !first() {
				t.Errorf("%s: not woken", pauses[why])
			}
			second := asleep(ctx, b, why)
			time.Sleep(every - 1)
			if b.wakeAlike(why); second() {
				t.Errorf("%s: woken again before %v have passed", pauses[why], every)
			}
			time.Sleep(time.Nanosecond)
			if b.wakeAlike(why); !second() {
				t.Errorf("%s: not woken after %v", pauses[why], every)
			}
			if other() {
				t.Errorf("%s: a reflector was woken that fails for another reason", pauses[why])
			}
			b.failed(time.Now(), Backoff{}.withDefaults())
			if b.answered(); !other() {
				t.Errorf("%s: the other reflector was forgotten", pauses[why])
			}
		})
	}
}

func TestWakeDelay(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		n, all int
		want   time.Duration
	}{
		{0, 1, 0}, {1, 2, 10 * ms}, {9, 10, 90 * ms}, {99, 100, 990 * ms}, {100, 200, 500 * ms}, {999, 1000, 999 * ms},
	} {
		if got := wakeDelay(c.n, c.all); got != c.want {
			t.Errorf("number %d of %d waits %v, want %v", c.n, c.all, got, c.want)
		}
	}
}

// After a long outage, those that wait come first, and then the silent watches, one after the other
// and all within a second.
func TestReturnInTurn(t *testing.T) {
	for size, spacing := range map[int]time.Duration{2: wakeSpacing, 199: wakeWithin / 200} {
		inBubble(t, func(t *testing.T, ctx context.Context, b *Breaker) {
			var watches []*Attempt
			for range size {
				_, a := b.begin(ctx, false, nil)
				a.Answered()
				watches = append(watches, a)
				_, hung := b.begin(ctx, false, nil) // takes nobody's turn
				defer hung.end()
			}
			time.Sleep(time.Second)
			b.failed(time.Now(), Backoff{}.withDefaults())
			woken := asleep(ctx, b, pauseBusy)
			time.Sleep(longOutage)
			b.answered()
			if !woken() {
				t.Error("the one that waits is not the first")
			}
			var delays []time.Duration
			for _, a := range watches {
				delays = append(delays, a.end())
			}
			slices.Sort(delays)
			for n, delay := range delays {
				if want := time.Duration(n+1) * spacing; delay != want {
					t.Errorf("watch %d of %d begins again after %v, want %v", n, size, delay, want)
				}
			}
		})
	}
}

// A server that is away once more before a waiter's turn has come keeps it waiting.
func TestAwayAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, ctx context.Context, b *Breaker) {
		back := Backoff{Random: none}.withDefaults()
		fails := func() {
			b.failed(time.Now(), back)
			b.mu.Lock()
			defer b.mu.Unlock()
			b.outage.next = time.Now().Add(time.Hour)
		}
		fails()
		admitted := make(chan struct{}, 2)
		for range 2 {
			go func() { b.admit(ctx, &back); admitted <- struct{}{} }()
		}
		synctest.Wait()
		time.Sleep(time.Millisecond)
		b.answered()
		synctest.Wait()
		fails() // the first has gone, and the second waits for its turn
		time.Sleep(time.Minute)
		if synctest.Wait(); len(admitted) != 1 {
			t.Errorf("%d of two may ask a server that is away again, want the first alone", len(admitted))
		}
		b.answered()
		time.Sleep(time.Second)
		if synctest.Wait(); len(admitted) != 2 {
			t.Errorf("%d of two are back", len(admitted))
		}
	})
}

// A wait for a server that is away ends with the context. Not in a bubble: a wait that spins would
// stop the clock.
func TestAdmitEndsWithContext(t *testing.T) {
	back := Backoff{Random: none, Initial: time.Hour, Max: time.Hour}.withDefaults()
	for _, when := range []string{"before", "meanwhile"} {
		var b Breaker
		b.failed(time.Now(), back)
		b.outage.next = time.Now().Add(time.Hour)
		ctx, cancel := context.WithCancel(t.Context())
		if when == "before" {
			cancel()
		}
		ended := make(chan struct{})
		go func() {
			b.admit(ctx, &back)
			close(ended)
		}()
		for when == "meanwhile" && ctx.Err() == nil {
			b.mu.Lock()
			if len(b.queued) == 1 {
				cancel()
			}
			b.mu.Unlock()
		}
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			t.Errorf("the context ended %s, and the wait did not", when)
			b.answered()
			<-ended
		}
		cancel()
	}
}

// What is reported as the wait is never less than none.
func TestFailedLongAfterTheProbe(t *testing.T) {
	inBubble(t, func(t *testing.T, _ context.Context, b *Breaker) {
		back := Backoff{Random: none}.withDefaults()
		if wait, _ := b.failed(time.Now(), back); wait != awayInitial {
			t.Errorf("wait %v for the first probe, want %v", wait, awayInitial)
		}
		time.Sleep(time.Minute) // nobody probes
		if wait, _ := b.failed(time.Now(), back); wait != 0 {
			t.Errorf("wait %v for a probe that is due, want none", wait)
		}
	})
}

// A request that was overdue when another was answered is given up at once.
func TestOverdueIsGivenUp(t *testing.T) {
	inBubble(t, func(t *testing.T, ctx context.Context, b *Breaker) {
		request, a := b.begin(ctx, true, nil)
		defer a.end()
		b.failed(time.Now(), Backoff{}.withDefaults())
		time.Sleep(overdueAfter)
		if b.answered(); !errors.Is(context.Cause(request), errUnanswered) {
			t.Errorf("cause %v", context.Cause(request))
		}
	})
}

// A source that is used without a Breaker has no attempt.
func TestNilAttempt(t *testing.T) {
	a := AttemptOf(t.Context())
	if a.Send() || !a.progress().answered || a.end() != 0 {
		t.Error("no attempt does something")
	}
	a.Connected(nil)
	a.Answered()
	a.Accepted()
	a.received()
}

// The context of a request ends with its attempt.
func TestEndOfAttempt(t *testing.T) {
	var b Breaker
	ctx, a := b.begin(t.Context(), false, nil)
	if a.Accepted(); a.progress().answered || ctx.Err() != nil {
		t.Errorf("answered %v, %v", a.progress().answered, ctx.Err())
	}
	if a.Answered(); !a.progress().answered || ctx.Err() != nil {
		t.Errorf("after Answered: %v, %v", a.progress().answered, ctx.Err())
	}
	if a.end(); ctx.Err() == nil {
		t.Error("the attempt ended, and its context did not")
	}
}

// A timer that fires while the answer comes, or while the attempt ends, finds nothing to give up.
func TestTimeOutMeetsEnd(t *testing.T) {
	for name, meets := range map[string]func(*Attempt){"answer": (*Attempt).Answered, "end": func(a *Attempt) { a.end() }} {
		var b Breaker
		b.broke()
		ctx, a := b.begin(t.Context(), false, nil)
		a.Send()
		meets(a)
		a.timeOut()
		if b.stale || errors.Is(context.Cause(ctx), errUnanswered) {
			t.Errorf("%s: stale %v, cause %v", name, b.stale, context.Cause(ctx))
		}
		a.end()
	}
}
