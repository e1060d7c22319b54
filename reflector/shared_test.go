package reflector

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// closures is a Source and Server of functions. It notes its requests.
type closures struct {
	breaker *Breaker
	list    func(ctx context.Context, opts metav1.ListOptions) (metav1.ListMeta, error)
	watch   func(ctx context.Context, opts metav1.ListOptions) error

	mu   sync.Mutex
	reqs []string
}

func (s *closures) note(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reqs = append(s.reqs, what)
}
func (s *closures) count() int        { s.mu.Lock(); defer s.mu.Unlock(); return len(s.reqs) }
func (s *closures) Resource() string  { return "pods" }
func (s *closures) Breaker() *Breaker { return s.breaker }
func (s *closures) List(ctx context.Context, opts metav1.ListOptions, _ func(Event[string], error) bool) (metav1.ListMeta, error) {
	s.note("list " + opts.ResourceVersion)
	return s.list(ctx, opts)
}
func (s *closures) Watch(ctx context.Context, opts metav1.ListOptions) iter.Seq2[Event[string], error] {
	return func(yield func(Event[string], error) bool) {
		s.note("watch " + opts.ResourceVersion)
		if err := s.watch(ctx, opts); err != nil {
			yield(Event[string]{}, err)
		}
	}
}

func closuresReflector(t *testing.T, s *closures, random func() float64) *Reflector[string] {
	if random == nil {
		random = func() float64 { return 0 }
	}
	r, err := New[string](s, &sink[string]{}, Options{Tuning: Tuning{DisableWatchList: true, Backoff: Backoff{Random: random}}, OnError: func(error) {}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A panic of the source, or of a projection in Map, leaves nothing in the breaker.
func TestPanicEndsAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := new(Breaker)
		s := &closures{breaker: b, list: func(context.Context, metav1.ListOptions) (metav1.ListMeta, error) { panic("projection") }}
		for range 3 { // as an informer that is restarted
			r := closuresReflector(t, s, nil)
			func() {
				defer func() { _ = recover() }()
				_ = r.Run(t.Context())
			}()
		}
		if n := len(b.unanswered); n != 0 {
			t.Errorf("%d attempts are left in the breaker after their reflectors are gone", n)
		}
	})
}

// A trace hook may report an answer after the request was given up. The attempt stays ended.
func TestAnsweredAfterEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := new(Breaker)
		_, a := b.begin(t.Context(), false, nil)
		a.end()
		a.Answered()
		if n := len(b.streams); n != 0 {
			t.Errorf("%d watches are left in the breaker", n)
		}
	})
}

// Send after the end of an attempt starts no timer that later reports a hung connection. Nor does
// it take the new connection that is meant for the next attempt.
func TestSendAfterEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := new(Breaker)
		b.broke()
		b.stale = true
		_, a := b.begin(t.Context(), false, nil)
		a.end()
		if a.Send() || !b.stale {
			t.Error("an attempt that ended takes a new connection")
		}
		b.stale = false
		time.Sleep(time.Minute)
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.stale {
			t.Error("an attempt that ended counts as hung")
		}
	})
}

// A user's Random that panics leaves no dead waiter in the queue.
func TestPanicInRandomBlocksNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := new(Breaker)
		back := Backoff{}.withDefaults()
		b.failed(time.Now(), back)
		bad := back
		bad.Random = func() float64 { panic("random") }
		func() {
			defer func() { _ = recover() }()
			b.admit(t.Context(), &bad)
		}()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		b.admit(ctx, &back)
		if ctx.Err() != nil {
			t.Error("another reflector waited an hour for its turn to probe")
		}
	})
}

// The end of Run is no success: it wakes no reflector that waits for a busy server.
func TestStopWakesNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := new(Breaker)
		busy := func(context.Context, metav1.ListOptions) (metav1.ListMeta, error) {
			return metav1.ListMeta{}, apierrors.NewInternalError(errors.New("busy"))
		}
		stopped := &closures{breaker: b, list: busy}
		other := &closures{breaker: b, list: busy}
		ctx, cancel := context.WithCancel(t.Context())
		rest, cancelRest := context.WithCancel(t.Context())
		defer cancelRest()
		go closuresReflector(t, stopped, nil).Run(ctx)
		go closuresReflector(t, other, nil).Run(rest)
		// Both fail at 0, 0.8, 2.4, 5.6, 12 and 24.8 s: the next is due at 50.4 s.
		time.Sleep(35 * time.Second)
		synctest.Wait()
		before := other.count()
		cancel()
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if after := other.count(); after != before {
			t.Errorf("a reflector that was stopped made another one send %d requests to a busy server", after-before)
		}
	})
}

// A check (LIST limit=1) whose header came, and whose body hangs through a long outage, is
// repeated: it is no answer of a server that does not support the question.
func TestHungCheckIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := new(Breaker)
		back := Backoff{}.withDefaults()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s := &closures{breaker: b}
		s.list = func(ctx context.Context, opts metav1.ListOptions) (metav1.ListMeta, error) {
			AttemptOf(ctx).Answered()
			if opts.ResourceVersionMatch == "" {
				return metav1.ListMeta{ResourceVersion: "5"}, nil
			}
			<-ctx.Done() // the body hangs
			return metav1.ListMeta{}, ctx.Err()
		}
		watches := 0
		s.watch = func(ctx context.Context, _ metav1.ListOptions) error {
			AttemptOf(ctx).Answered()
			if watches++; watches == 1 {
				time.Sleep(2 * time.Second)
				return failure("eof", 0)
			}
			<-ctx.Done()
			return ctx.Err()
		}
		go closuresReflector(t, s, nil).Run(ctx)
		time.Sleep(5 * time.Second) // the check hangs
		b.failed(time.Now(), back)  // of another reflector
		time.Sleep(4 * time.Second)
		b.answered()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		s.mu.Lock()
		defer s.mu.Unlock()
		if last := s.reqs[len(s.reqs)-1]; last != "list 5" {
			t.Errorf("the check was not repeated: %q", s.reqs)
		}
	})
}

// A source that refuses streams by errors.ErrUnsupported, without a request, says nothing of the
// server.
func TestUnsupportedIsNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := new(Breaker)
		back := Backoff{}.withDefaults()
		s := &closures{breaker: b, watch: func(context.Context, metav1.ListOptions) error { return errors.ErrUnsupported },
			list: func(ctx context.Context, _ metav1.ListOptions) (metav1.ListMeta, error) {
				<-ctx.Done()
				return metav1.ListMeta{}, ctx.Err()
			}}
		b.failed(time.Now(), back)
		r, err := New[string](s, &sink[string]{}, Options{OnError: func(error) {}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go r.Run(ctx)
		time.Sleep(5 * time.Second)
		b.mu.Lock()
		away := b.outage.away
		b.mu.Unlock()
		cancel()
		synctest.Wait()
		if !away {
			t.Error("no server answered, and the breaker is closed")
		}
	})
}

// A streaming list that hangs through a long outage is begun again as one: the connection was to
// blame, and not the server's streaming.
func TestHungStreamIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := new(Breaker)
		s := &closures{breaker: b, watch: func(ctx context.Context, _ metav1.ListOptions) error {
			AttemptOf(ctx).Answered()
			<-ctx.Done() // nothing comes
			return ctx.Err()
		}}
		var heard []error
		r, err := New[string](s, &sink[string]{}, Options{OnError: func(err error) { heard = append(heard, err) }})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- r.Run(ctx) }()
		time.Sleep(time.Second)
		b.failed(time.Now(), Backoff{}.withDefaults()) // of another reflector
		time.Sleep(4 * time.Second)
		b.answered()
		time.Sleep(2 * time.Second)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if want := []string{"watch ", "watch "}; !slices.Equal(s.reqs, want) {
			t.Errorf("requests %q, want %q", s.reqs, want)
		}
		if len(heard) != 1 || !errors.Is(heard[0], errUnanswered) {
			t.Errorf("reported %v", heard)
		}
	})
}

// repeats is closures whose first watch has an event before watch is called.
type repeats struct {
	closures
	watches int
}

func (s *repeats) Watch(ctx context.Context, opts metav1.ListOptions) iter.Seq2[Event[string], error] {
	return func(yield func(Event[string], error) bool) {
		if s.watches++; s.watches == 1 {
			AttemptOf(ctx).Answered()
			if !yield(Event[string]{Type: Modified, Object: "a", ResourceVersion: "6"}, nil) {
				return
			}
		}
		for ev, err := range s.closures.Watch(ctx, opts) {
			if !yield(ev, err) {
				return
			}
		}
	}
}

// A watch that has to repeat events and has no answer within two seconds says that the server is
// away, and one that was answered does not: the server may only be slow.
func TestHungReplay(t *testing.T) {
	for _, answers := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			b := new(Breaker)
			s := &repeats{closures: closures{breaker: b}}
			s.list = func(ctx context.Context, opts metav1.ListOptions) (metav1.ListMeta, error) {
				AttemptOf(ctx).Answered()
				if opts.ResourceVersionMatch == "" {
					return metav1.ListMeta{ResourceVersion: "5"}, nil
				}
				return metav1.ListMeta{ResourceVersion: "6"}, nil
			}
			s.watch = func(ctx context.Context, _ metav1.ListOptions) error {
				if s.watches == 1 {
					return failure("eof", 0)
				}
				if answers {
					AttemptOf(ctx).Answered()
				}
				<-ctx.Done()
				return ctx.Err()
			}
			var heard []error
			r, err := New[string](s, &sink[string]{}, Options{
				Tuning:  Tuning{DisableWatchList: true, Backoff: Backoff{Random: func() float64 { return 0 }}},
				OnError: func(err error) { heard = append(heard, err) },
			})
			if err != nil {
				t.Fatal(err)
			}
			ended := make(chan error)
			go func() { ended <- r.Run(ctx) }()
			time.Sleep(replayPatience + time.Millisecond)
			synctest.Wait()
			if b.away() == answers {
				t.Errorf("answered %v: away %v", answers, b.away())
			}
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if got := len(heard) == 2 && errors.Is(heard[1], errUnanswered); got == answers {
				t.Errorf("answered %v: heard %v", answers, heard)
			}
		})
	}
}

// Watches that may be half open after a long outage begin again one after the other, without a
// report.
func TestSilentWatchesBeginAgainInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		b := new(Breaker)
		s := &closures{breaker: b, list: func(ctx context.Context, _ metav1.ListOptions) (metav1.ListMeta, error) {
			AttemptOf(ctx).Answered()
			return metav1.ListMeta{ResourceVersion: "5"}, nil
		}}
		var begun []time.Duration // watches, since the server is back
		var back time.Time
		s.watch = func(ctx context.Context, _ metav1.ListOptions) error {
			AttemptOf(ctx).Answered()
			if !back.IsZero() {
				s.mu.Lock()
				begun = append(begun, time.Since(back))
				s.mu.Unlock()
			}
			<-ctx.Done()
			return ctx.Err()
		}
		var running sync.WaitGroup
		var all []*Reflector[string]
		for range 3 {
			r, err := New[string](s, &sink[string]{}, Options{
				Tuning: Tuning{DisableWatchList: true, TrustVersions: true}, OnError: func(err error) { t.Error(err) },
			})
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, r)
			running.Go(func() { _ = r.Run(ctx) })
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		b.failed(time.Now(), Backoff{}.withDefaults()) // of another reflector
		time.Sleep(longOutage)
		back = time.Now()
		b.answered()
		time.Sleep(time.Second)
		synctest.Wait()
		if want := []time.Duration{0, wakeSpacing, 2 * wakeSpacing}; !slices.Equal(begun, want) {
			t.Errorf("watches began after %v, want %v", begun, want)
		}
		cancel()
		running.Wait()
		for _, r := range all {
			if got := r.Stats(); got.Failures != 0 || got.IdleWatches != 0 {
				t.Errorf("%+v", got)
			}
		}
	})
}

// A watch that hung until another request was answered failed for the breaker's reason, whatever
// its source returns.
func TestHungWatchIsUnanswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		b := new(Breaker)
		s := &closures{breaker: b, list: func(context.Context, metav1.ListOptions) (metav1.ListMeta, error) {
			return metav1.ListMeta{ResourceVersion: "5"}, nil
		}}
		s.watch = func(ctx context.Context, _ metav1.ListOptions) error { // no answer
			<-ctx.Done()
			return ctx.Err()
		}
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

// A check that does not end is given up, after a shorter time where it follows a watch that went
// on without an answer: there is no watch meanwhile.
func TestSlowChecksAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var checks, watches []time.Duration // how long they lasted
		lasted := func(all *[]time.Duration, began time.Time) { *all = append(*all, time.Since(began)) }
		s := &closures{breaker: new(Breaker)}
		s.list = func(ctx context.Context, opts metav1.ListOptions) (metav1.ListMeta, error) {
			AttemptOf(ctx).Answered()
			if opts.ResourceVersionMatch == "" {
				return metav1.ListMeta{ResourceVersion: "5"}, nil
			}
			defer lasted(&checks, time.Now())
			<-ctx.Done() // the body hangs
			return metav1.ListMeta{}, ctx.Err()
		}
		s.watch = func(ctx context.Context, opts metav1.ListOptions) error {
			defer lasted(&watches, time.Now())
			AttemptOf(ctx).Answered()
			if len(watches) == 0 {
				time.Sleep(2 * time.Second)
				return failure("eof", 0)
			}
			select {
			case <-time.After(time.Duration(*opts.TimeoutSeconds) * time.Second):
			case <-ctx.Done():
			}
			return nil
		}
		r := closuresReflector(t, s, nil)
		ended := make(chan error)
		go func() { ended <- r.Run(ctx) }()
		time.Sleep(5 * time.Minute)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if want := []time.Duration{checkTimeout, checkTimeout, checkTimeout, recheckTimeout}; len(checks) < len(want) || !slices.Equal(checks[:len(want)], want) {
			t.Errorf("the checks lasted %v, want %v", checks, want)
		}
		if want := []time.Duration{2 * time.Second, unverifiedTimeout, unverifiedTimeout}; len(watches) < len(want) || !slices.Equal(watches[:len(want)], want) {
			t.Errorf("the watches lasted %v, want %v", watches, want)
		}
		if n := r.Stats().Lists; n != 1 {
			t.Errorf("%d lists", n)
		}
	})
}

// A check that does not get an answer is given up after eight tries, because a proxy may let only watches
// pass. It is not given up while there is no connection: a watch would have none either.
func TestChecksWithoutAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		server, traced bool
		connects       bool
		word           string // how the check ends, or "hang"
		tries          int    // after which the watch goes on at last; zero for never
	}{
		"reset, no server":        {false, false, true, "reset", maxHung},
		"refused, no server":      {false, false, false, "refused", 0},
		"no name, no server":      {false, false, false, "no-name", 0},
		"reset, not traced":       {true, false, true, "reset", maxHung},
		"hangs, not traced":       {true, false, true, "hang", maxHung},
		"refused, not traced":     {true, false, false, "refused", 0},
		"reset":                   {true, true, true, "reset", maxHung},
		"hangs":                   {true, true, true, "hang", maxHung},
		"resets before TLS":       {true, true, false, "reset", 0},
		"no connection for 2 s":   {true, true, false, "hang", 0},
		"connecting fails":        {true, true, false, "dial-timeout", 0},
		"question never sent":     {true, true, false, "unknown", maxTries},
		"certificate not trusted": {true, true, false, "untrusted", 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				connected := func(ctx context.Context) *Attempt {
					a := AttemptOf(ctx)
					if a.Send(); c.traced {
						a.Connected(nil)
					}
					return a
				}
				checks, watches := 0, 0
				s := &closures{list: func(ctx context.Context, opts metav1.ListOptions) (metav1.ListMeta, error) {
					if opts.ResourceVersionMatch == "" {
						connected(ctx).Answered()
						return metav1.ListMeta{ResourceVersion: "5"}, nil
					}
					if watches == 1 {
						checks++
					}
					if c.connects {
						connected(ctx)
					} else {
						AttemptOf(ctx).Send()
					}
					if c.word == "hang" {
						<-ctx.Done()
						return metav1.ListMeta{}, ctx.Err()
					}
					return metav1.ListMeta{}, failure(c.word, 0)
				}}
				if c.server {
					s.breaker = new(Breaker)
				}
				s.watch = func(ctx context.Context, _ metav1.ListOptions) error {
					a := connected(ctx)
					a.Answered()
					a.Accepted()
					if watches++; watches == 1 {
						time.Sleep(2 * time.Second)
						return failure("eof", 0)
					}
					<-ctx.Done()
					return ctx.Err()
				}
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
				defer cancel()
				if err := closuresReflector(t, s, nil).Run(ctx); err != nil {
					t.Error(err)
				}
				if goesOn := watches > 1; goesOn != (c.tries > 0) || goesOn && checks > c.tries || !goesOn && checks <= maxHung {
					t.Errorf("%d checks, and then a watch: %t", checks, goesOn)
				}
			})
		})
	}
}
