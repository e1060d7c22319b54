package reflector

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// waitingLine is reflectors that wait for their turn.
type waitingLine struct {
	t    *testing.T
	b    *Breaker
	why  pause
	gone atomic.Int32
}

func (l *waitingLine) add(ctx context.Context, n int) {
	for range n {
		go func() { l.b.takeTurn(ctx, l.why, time.Second, 0); l.gone.Add(1) }()
		synctest.Wait()
	}
}

// went checks how many went since the last call.
func (l *waitingLine) went(want int32, when string) {
	l.t.Helper()
	synctest.Wait()
	if got := l.gone.Swap(0); got != want {
		l.t.Errorf("%s: %d of them went, want %d", when, got, want)
	}
}

// Lists that broke off go on in turn, one a second. A complete list lets two more go, and a watch
// that succeeds one, but not twice in a second. A reflector that ends leaves the line.
func TestListsInTurn(t *testing.T) {
	inBubble(t, func(t *testing.T, ctx context.Context, b *Breaker) {
		l := &waitingLine{t: t, b: b, why: pauseRetry}
		l.add(ctx, 20)
		l.went(1, "at first")
		time.Sleep(3*time.Second - 1)
		l.went(2, "after almost three seconds")
		time.Sleep(time.Nanosecond)
		l.went(1, "after three seconds")
		b.letListsGo(true)
		b.letListsGo(true)
		l.went(4, "after two complete lists")
		b.letListsGo(false)
		b.letListsGo(false)
		l.went(1, "after two watches")
		time.Sleep(2*time.Second - 1)
		l.went(0, "that one is not paid for yet")
		if got := b.turn(pauseRetry, time.Second); got != 1+11*time.Second {
			t.Errorf("one more would wait for %v", got)
		}
		time.Sleep(time.Nanosecond)
		l.went(1, "it is now")
		for range 8 {
			b.letListsGo(true)
		}
		l.went(10, "after more lists")
		b.letListsGo(false)
		ended, end := context.WithCancel(ctx)
		l.add(ended, 1)
		l.add(ctx, 1)
		end()
		l.went(1, "the first ends")
		time.Sleep(time.Second)
		l.went(1, "its place is free, and a success without anybody in line cost nothing")
		if n := len(b.lists.waiting); n != 0 {
			t.Errorf("%d are left", n)
		}
	})
}

// Watches of four reflectors that broke off go on at once, four or five for each, and then in turn,
// four a second. An answer brings the first one forward, but not soon after a break, and not by
// more than a second's worth.
func TestWatchesInTurn(t *testing.T) {
	inBubble(t, func(t *testing.T, ctx context.Context, b *Breaker) {
		l := &waitingLine{t: t, b: b, why: pauseResume}
		answered := func(n int) {
			for range n {
				_, a := b.begin(ctx, false, nil)
				a.Answered()
				a.end()
			}
		}
		var last [4]time.Time
		breaks := func() {
			for n := range last {
				b.broke(&last[n])
			}
		}
		breaks()
		breaks() // the same four
		l.add(ctx, 4*(resumeBurst-1)+1)
		l.went(4*(resumeBurst-1)+1, "at first")
		l.add(ctx, 4)
		l.went(0, "then")
		time.Sleep(wellAfter - 1)
		answered(1)
		l.went(0, "an answer soon after a break")
		time.Sleep(time.Nanosecond)
		answered(1)
		l.went(1, "an answer")
		time.Sleep(450*time.Millisecond - 1)
		l.went(0, "that one is not paid for yet")
		time.Sleep(time.Nanosecond)
		l.went(1, "it is now")
		breaks()
		time.Sleep(wellAfter)
		l.add(ctx, 3)
		answered(10)
		l.went(4, "many answers")
		l.add(ctx, 1)
		answered(1)
		l.went(0, "one more")
		time.Sleep(time.Minute)
		l.went(2, "later")
		for range resumeBurst {
			b.broke(&last[0])
			l.add(ctx, 1)
		}
		l.went(resumeBurst, "only one is left")
		l.add(ctx, 1)
		if got := b.turn(pauseResume, time.Second); got != 2*time.Second {
			t.Errorf("one more would wait for %v", got)
		}
		time.Sleep(time.Second - 1)
		l.went(0, "it has a turn a second")
		time.Sleep(time.Nanosecond)
		l.went(1, "now")
		time.Sleep(time.Minute)
		l.add(ctx, resumeBurst+5)
		l.went(resumeBurst, "after a minute")
		if got := b.turn(pauseResume, time.Second); got != 2*time.Second {
			t.Errorf("one more than the five that wait would wait for %v", got)
		}
	})
}

// A turn that is due at once has its jitter first.
func TestTurnWithJitter(t *testing.T) {
	inBubble(t, func(t *testing.T, ctx context.Context, b *Breaker) {
		began := time.Now()
		b.takeTurn(ctx, pauseResume, time.Second, resumeJitter)
		if took := time.Since(began); took != resumeJitter {
			t.Errorf("went on after %v", took)
		}
	})
}

// Those that broke off in this second or in the one before share the turns.
func TestBreaks(t *testing.T) {
	var k breaks
	var last [3]time.Time
	for n, c := range []struct {
		at        time.Duration
		which     int
		now, last int
	}{
		{0, 0, 1, 0}, {0, 1, 2, 0}, {999 * time.Millisecond, 0, 2, 0}, {time.Second, 0, 1, 2}, {1500 * time.Millisecond, 2, 2, 2},
		{2 * time.Second, 2, 1, 2}, {4*time.Second - 1, 1, 1, 1}, {6*time.Second - 1, 1, 1, 0},
	} {
		at := noon.Add(c.at)
		k.add(at, last[c.which])
		if last[c.which] = at; k.now != c.now || k.last != c.last || k.at != at {
			t.Errorf("break %d: %+v", n, k)
		}
	}
}

// A long outage ends the waits in line, one after the other. A short one does not.
func TestOutageEndsTurns(t *testing.T) {
	for lasts, want := range map[time.Duration]int32{longOutage - 1: 0, longOutage: 1} {
		for _, why := range []pause{pauseResume, pauseRetry} {
			inBubble(t, func(t *testing.T, ctx context.Context, b *Breaker) {
				l := &waitingLine{t: t, b: b, why: why}
				b.line(why).pay(time.Now(), time.Hour)
				l.add(ctx, 2)
				b.failed(time.Now(), Backoff{}.withDefaults())
				time.Sleep(lasts)
				b.answered()
				l.went(want, "at first")
				time.Sleep(wakeSpacing - 1)
				l.went(0, "a moment later")
				time.Sleep(time.Nanosecond)
				l.went(want, "then")
			})
		}
	}
}

// What a reflector waits for, before its next request, after failures that leave it in line.
func TestWaitsInLine(t *testing.T) {
	for name, c := range map[string]struct {
		st      step
		prepare func(r *Reflector[*metav1.PartialObjectMetadata])
		want    time.Duration
	}{
		"its turn": {step{err: failure("eof", 0), pause: pauseResume}, func(r *Reflector[*metav1.PartialObjectMetadata]) {
			r.breaker.watches.pay(time.Now(), time.Minute)
		}, time.Minute - (resumeBurst-1)*turnEvery},
		"no answer, but others had one": {step{err: failure("reset", 0), pause: pauseAway}, func(r *Reflector[*metav1.PartialObjectMetadata]) {
			r.breaker.answered()
			r.breaker.watches.pay(time.Now(), time.Minute)
		}, time.Minute - (resumeBurst-1)*turnEvery},
		"lists without end": {step{err: failure("eof", 0), pause: pauseResume, relist: becauseFailing}, func(r *Reflector[*metav1.PartialObjectMetadata]) {
			for range resumeBurst {
				r.waits.relist.take(time.Now())
			}
		}, repeatEvery},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newIdle(t)
				began := time.Now()
				time.Sleep(time.Millisecond)
				c.prepare(r)
				at := time.Now()
				r.carryOut(t.Context(), c.st, RequestError{}, began)
				if took := time.Since(at); took < c.want || took > c.want+resumeJitter {
					t.Errorf("went on after %v, want %v", took, c.want)
				}
			})
		})
	}
}

// Once a list is complete, the next ones that break off begin again at once.
func TestCompleteListForgetsBreaks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		n := 0
		s := &closures{breaker: new(Breaker)}
		s.list = func(context.Context, metav1.ListOptions) (metav1.ListMeta, error) {
			if n++; n%(retryBurst+1) != 0 {
				return metav1.ListMeta{}, failure("eof", 0)
			}
			return metav1.ListMeta{ResourceVersion: "1"}, nil
		}
		s.watch = func(context.Context, metav1.ListOptions) error {
			if n > retryBurst+1 {
				cancel()
			}
			return failure("expired", 0)
		}
		began := time.Now()
		if err := closuresReflector(t, s, nil).Run(ctx); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("two lists took %v", took)
		}
	})
}
