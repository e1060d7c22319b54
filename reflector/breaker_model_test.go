package reflector

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"
)

// breakerModel is what a Breaker knows, told plainly: every request has the time at which it is
// given up, and all requests are looked at whenever time passes.
type breakerModel struct {
	away, doubt, stale bool
	since, heard       time.Time // the outage began, and the last answer came
	tries, rounds      int
	round              time.Time
	restarts           uint64
	requests           []*modelRequest
}

type modelRequest struct {
	a   *Attempt
	ctx context.Context

	list                      bool
	began                     time.Time
	limited                   bool      // it had a limit at some time
	until                     time.Time // zero if it has none
	open, connected, answered bool
	heard                     bool // since the outage began
	cause                     error
}

func (m *breakerModel) begin(b *Breaker, list bool) {
	r := &modelRequest{list: list, began: time.Now(), open: true}
	r.ctx, r.a = b.begin(context.Background(), list, nil)
	m.requests = append(m.requests, r)
}

func (m *breakerModel) send(r *modelRequest) (fresh bool) {
	if (m.away || m.doubt) && !r.limited && !r.answered {
		m.tries++
		r.limit(2 * time.Second)
		if m.tries%4 == 0 {
			r.limit(8 * time.Second)
		}
	}
	fresh, m.stale = m.stale, false
	return fresh
}

func (r *modelRequest) limit(d time.Duration) { r.limited, r.until = true, time.Now().Add(d) }

func (m *breakerModel) connect(r *modelRequest) {
	if r.connected = true; r.limited && !r.answered {
		r.limit(time.Duration(m.rounds+1) * 10 * time.Second)
	}
}

func (m *breakerModel) answer(r *modelRequest) {
	if r.answered {
		return
	}
	r.answered, r.open, r.until, r.heard = true, false, time.Time{}, true
	m.back()
}

// back is an answer to anything.
func (m *breakerModel) back() {
	now := time.Now()
	m.doubt, m.tries, m.rounds, m.heard = false, 0, 0, now
	if !m.away {
		return
	}
	m.away = false
	long := now.Sub(m.since) >= 3*time.Second
	if long {
		m.restarts++
	}
	for _, r := range m.requests {
		switch left := r.began.Add(time.Second).Sub(now); {
		case r.open && r.list && r.connected:
			r.limit(10 * time.Second)
		case r.open && left > 0:
			r.limit(left)
		case r.open:
			r.give(errUnanswered)
		case r.answered && !r.list && long && r.began.Before(m.since) && !r.heard:
			r.give(errSilent)
		}
	}
}

func (r *modelRequest) give(cause error) {
	if r.cause == nil {
		r.cause = cause
	}
}

func (m *breakerModel) fail(began time.Time) {
	if m.away || began.Before(m.heard) {
		return
	}
	m.away, m.since, m.stale = true, time.Now(), true
	for _, r := range m.requests {
		r.heard = false
	}
}

// pass lets time pass, and gives up the requests whose time is over, in order.
func (m *breakerModel) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
	now := time.Now()
	for {
		var next *modelRequest
		for _, r := range m.requests {
			if !r.until.IsZero() && !r.until.After(now) && (next == nil || r.until.Before(next.until)) {
				next = r
			}
		}
		if next == nil {
			return
		}
		m.stale = true
		if next.connected && next.began.After(m.round) {
			m.rounds, m.round = m.rounds+1, next.until
		}
		next.give(errUnanswered)
		next.until, next.open = time.Time{}, false
	}
}

// Random requests that come to an answer, or do not, against the model.
func TestBreakerAgainstModel(t *testing.T) {
	steps := 20_000
	if testing.Short() {
		steps = 4_000
	}
	for seed := range uint64(4) {
		synctest.Test(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 7))
			back := Backoff{Random: none}.withDefaults()
			var b Breaker
			var m breakerModel
			hung, silent, restarted := 0, 0, false
			for step := range steps {
				// No two things happen at one time, so their order is known.
				m.pass(time.Duration(1 + rnd.Int64N(int64(50*time.Millisecond)<<rnd.IntN(9))))
				var r *modelRequest
				if len(m.requests) > 0 {
					r = m.requests[rnd.IntN(len(m.requests))]
				}
				switch op := rnd.IntN(12); {
				case r == nil || op < 2 && len(m.requests) < 12:
					m.begin(&b, rnd.IntN(3) == 0)
				case op < 4:
					if fresh := r.a.Send(); fresh != m.send(r) {
						t.Fatalf("step %d: Send() = %v", step, fresh)
					}
				case op < 6:
					r.a.Connected(nil)
					m.connect(r)
				case op == 6 && rnd.IntN(2) == 0:
					r.a.Answered()
					m.answer(r)
				case op == 7:
					r.a.received()
					r.heard = true
				case op == 8:
					b.failed(r.began, back)
					m.fail(r.began)
				case op == 9:
					b.broke()
					m.doubt = true
				case op == 10 && rnd.IntN(4) == 0:
					b.answered()
					m.back()
				case op == 11:
					r.a.end()
					m.requests = deleteRequest(m.requests, r)
				}
				for _, r := range m.requests {
					if got := context.Cause(r.ctx); !errors.Is(got, r.cause) || got != nil && r.cause == nil {
						t.Fatalf("step %d: a request was given up for %v, want %v", step, got, r.cause)
					}
					if r.cause == errSilent {
						silent++
					} else if r.cause != nil {
						hung++
					}
				}
				if got := b.longOutageCount(); got != m.restarts || b.outage.away != m.away {
					t.Fatalf("step %d: %d restarts, away %v; want %d, %v", step, got, b.outage.away, m.restarts, m.away)
				}
				restarted = m.restarts > 0
			}
			if hung == 0 || silent == 0 || !restarted {
				t.Errorf("seed %d: %d hung, %d silent, restarted %v: a case did not come", seed, hung, silent, restarted)
			}
			for _, r := range m.requests {
				r.a.end()
			}
			if n := len(b.unanswered) + len(b.streams); n != 0 {
				t.Errorf("%d requests are left", n)
			}
		})
	}
}

func deleteRequest(all []*modelRequest, gone *modelRequest) (rest []*modelRequest) {
	for _, r := range all {
		if r != gone {
			rest = append(rest, r)
		}
	}
	return rest
}

// Whoever waits for a server that is away goes on when it is back, one after the other within
// a second; a server that is found back while the user's random number is made counts, too.
func TestBreakerWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b Breaker
		back := Backoff{Random: none}.withDefaults()
		b.failed(time.Now(), back)
		const waiters = 50
		at := make(chan time.Duration, 2*waiters)
		began := time.Now()
		hold := Backoff{Random: none, Max: time.Hour, Initial: time.Hour}.withDefaults()
		b.outage.next = began.Add(time.Hour)
		for range waiters {
			go func() { b.admit(t.Context(), &hold); at <- time.Since(began) }()
			go func() { b.sleep(t.Context(), pauseBusy, 0, time.Hour); at <- time.Since(began) }()
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if wait, _ := b.failed(time.Now(), back); wait < time.Hour-time.Second+waiters*b.outage.wait {
			t.Errorf("one more would wait for %v", wait)
		}
		b.answered()
		seen := map[time.Duration]bool{}
		for range 2 * waiters {
			seen[<-at] = true
		}
		if took := time.Since(began) - time.Second; took > wakeWithin || len(seen) < 2*waiters {
			t.Errorf("all are back after %v, at %d moments", took, len(seen))
		}
		b.failed(time.Now(), back)
		wait := b.outage.wait
		random := back
		random.Random = func() float64 { b.answered(); return 0 }
		if b.admit(t.Context(), &random); b.outage.away || b.outage.wait != wait {
			t.Errorf("a server that is back was probed: %+v", b.outage)
		}
	})
}
