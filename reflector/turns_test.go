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
	wait time.Duration
	gone atomic.Int32
}

func (l *waitingLine) add(ctx context.Context, n int) {
	wait := l.wait
	for range n {
		go func() { l.b.takeTurn(ctx, l.why, time.Second, wait); l.gone.Add(1) }()
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

// Lists that broke off go on in turn, some at once and then one a second. A complete list lets two
// more go, and a watch that succeeds one, but not twice in half a minute. A reflector that ends leaves
// the line.
func TestListsInTurn(t *testing.T) {
	inBubble(t, func(t *testing.T, ctx context.Context, b *Breaker) {
		l := &waitingLine{t: t, b: b, why: pauseRetry}
		l.add(ctx, listBurst+19)
		l.went(listBurst, "at first")
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

// Watches that broke off go on in turn: forty at once, and then ten a second. Once none has broken for a
// moment, each answer lets one go before its turn, but not before its own wait is over.
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
		const every = turnEvery / watchTurns
		l.add(ctx, 40+40)
		l.went(41, "at first")
		time.Sleep(every - 1)
		l.went(0, "then")
		time.Sleep(1 + 9*every)
		l.went(10, "after a second")
		if got := b.turn(pauseResume, turnEvery); got != 30*every {
			t.Errorf("one more may wait for %v", got)
		}
		b.broke()
		time.Sleep(wellAfter - 1)
		answered(1)
		l.went(2, "an answer soon after a break")
		time.Sleep(time.Nanosecond)
		answered(20)
		l.went(20, "many answers")
		time.Sleep(time.Minute)
		l.went(7, "after a minute")
		l.wait = time.Second
		l.add(ctx, 2)
		l.wait = 0
		l.add(ctx, 1)
		l.went(1, "the one that need not wait is the first")
		answered(2)
		time.Sleep(time.Second - 1)
		l.went(0, "those that have to wait do so")
		time.Sleep(time.Nanosecond)
		l.went(2, "their wait is over")
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

// A long outage ends the waits in line, one after the other. A short one does not.
func TestOutageEndsTurns(t *testing.T) {
	for lasts, want := range map[time.Duration]int32{longOutage - 1: 0, longOutage: 1} {
		for _, why := range []pause{pauseResume, pauseRetry} {
			inBubble(t, func(t *testing.T, ctx context.Context, b *Breaker) {
				l := &waitingLine{t: t, b: b, why: why}
				line, _, _ := b.line(why, time.Second)
				line.pay(time.Now(), time.Hour)
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
		"a break after a second": {step{err: failure("eof", 0), pause: pauseResume}, func(r *Reflector[*metav1.PartialObjectMetadata]) {
			time.Sleep(turnEvery)
			r.core.breaker.watches.pay(time.Now(), time.Minute)
		}, 0},
		"its turn": {step{err: failure("eof", 0), pause: pauseResume}, func(r *Reflector[*metav1.PartialObjectMetadata]) {
			r.core.breaker.watches.pay(time.Now(), time.Minute)
		}, time.Minute - (resumeBurst-1)*turnEvery},
		"no answer, but others had one": {step{err: failure("reset", 0), pause: pauseAway}, func(r *Reflector[*metav1.PartialObjectMetadata]) {
			r.core.breaker.answered()
			r.core.breaker.watches.pay(time.Now(), time.Minute)
		}, time.Minute - (resumeBurst-1)*turnEvery},
		"lists without end": {step{err: failure("eof", 0), pause: pauseResume, relist: becauseFailing}, func(r *Reflector[*metav1.PartialObjectMetadata]) {
			for range resumeBurst {
				r.core.waits.relist.take(time.Now(), repeatEvery)
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
				r.core.carryOut(t.Context(), c.st, RequestError{}, began)
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
