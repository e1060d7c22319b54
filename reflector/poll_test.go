package reflector

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// watchless is a server whose lists work and whose watches all fail in one way, until they work.
type watchless struct {
	word      string // of failure, or "hang", "empty", "empty later", "events", "old events"
	server    bool
	versioned bool

	mu    sync.Mutex
	rv    int
	works bool
}

// source returns a source of the server, and the times of its lists.
func (s *watchless) source(b *Breaker) (*closures, *[]time.Time) {
	lists := new([]time.Time)
	c := &closures{list: func(ctx context.Context, opts metav1.ListOptions) (metav1.ListMeta, error) {
		AttemptOf(ctx).Connected(nil)
		AttemptOf(ctx).Answered()
		AttemptOf(ctx).Accepted()
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.versioned {
			*lists = append(*lists, time.Now())
			return metav1.ListMeta{}, nil
		}
		if opts.Limit != 1 {
			s.rv++
			*lists = append(*lists, time.Now())
		}
		return metav1.ListMeta{ResourceVersion: fmt.Sprint(5 + s.rv)}, nil
	}}
	if s.server {
		c.breaker = b
	}
	c.watch = func(ctx context.Context, _ metav1.ListOptions) error {
		attempt := AttemptOf(ctx)
		attempt.Send()
		s.mu.Lock()
		word := s.word
		if s.works {
			word = "works"
		}
		s.mu.Unlock()
		switch word {
		case "refused", "no-name", "dial-timeout", "untrusted":
			return failure(word, 0)
		}
		attempt.Connected(nil)
		switch word {
		case "reset":
			return failure(word, 0)
		case "hang":
			<-ctx.Done()
			return ctx.Err()
		}
		attempt.Answered()
		switch word {
		case "eof", "reset-later", "http2", "http2-lost", "unusable", "expired-event", "empty", "works":
			attempt.Accepted()
		}
		switch word {
		case "works":
			<-ctx.Done()
			return ctx.Err()
		case "empty":
			return nil
		case "busy-1", "unavailable-1":
			return failure(word[:len(word)-2], 1)
		case "expired-event":
			return failure("expired", 0)
		}
		return failure(word, 0)
	}
	return c, lists
}

// breakdowns are the words of the ways in which a watch may fail.
var breakdowns = []string{
	"expired", "expired-event", "expired-without-code", "unexplained", "mentions-too-large", "gone", "too-large", "too-large-1.17", "timeout", "busy", "busy-1", "refused", "eof", "reset",
	"reset-later", "no-name", "dial-timeout", "http2", "http2-lost", "untrusted", "store-read", "unknown", "internal", "forbidden", "unauthorized", "not-found", "bad-request",
	"invalid", "method-not-allowed", "not-implemented", "unavailable", "unavailable-1", "unreadable-delete", "out-of-order", "unsupported", "no-version", "unusable", "empty", "hang",
}

// TestListsInPlaceOfWatches: if all watches fail, however they do, reflectors list every Backoff.Max, and
// say so until watches work.
func TestListsInPlaceOfWatches(t *testing.T) {
	for _, word := range breakdowns {
		for _, c := range []struct {
			server    bool
			versioned bool
			size      int
			longest   time.Duration
			least     time.Duration // between two lists
			most      time.Duration
		}{
			{false, true, 1, 0, 30 * time.Second, 40 * time.Second},
			{true, true, 1, 0, 30 * time.Second, 40 * time.Second},
			{true, true, 20, 0, 25 * time.Second, time.Minute},       // the success of one may wake others
			{true, true, 100, 0, 25 * time.Second, 75 * time.Second}, // they send few requests together
			{false, false, 1, 0, 30 * time.Second, time.Minute},
			{true, true, 1, 100 * time.Millisecond, 100 * time.Millisecond, 3 * time.Second},
			{true, true, 1, 5 * time.Second, 5 * time.Second, 10 * time.Second},
			{true, true, 1, 2 * time.Minute, 2 * time.Minute, 150 * time.Second},
		} {
			away := slices.Contains([]string{"refused", "reset", "no-name", "dial-timeout"}, word)
			switch {
			case word == "hang" && !c.server:
				continue // cannot be told from silence
			case word == "hang" && c.longest == 0 && c.size == 1:
				c.most += 5 * time.Second
			case word == "hang" && c.longest > time.Minute:
				c.most += time.Minute
			case word == "hang" && c.longest > 0:
				c.least, c.most = answerLimit, 2*answerLimit+c.longest
			case c.size == 100 && word != "forbidden" && word != "unavailable-1" && word != "eof":
				continue
			case c.size > 1 && away: // one of them asks at a time, once a second
				c.most = 150 * time.Second
			}
			name := fmt.Sprintf("%s, server %t, versions %t, %d, %v", word, c.server, c.versioned, c.size, c.longest)
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := &watchless{word: word, server: c.server, versioned: c.versioned}
					opts := Options{Tuning: Tuning{DisableWatchList: true, Backoff: Backoff{Max: c.longest}}, OnError: func(error) {}}
					listsInPlace(t, s, opts, c.size, c.least, c.most)
				})
			})
		}
	}
}

func listsInPlace(t *testing.T, s *watchless, opts Options, size int, least, most time.Duration) {
	ctx, cancel := context.WithCancel(t.Context())
	var b Breaker
	var all []*[]time.Time
	var reflectors []*Reflector[string]
	ended := make(chan error, size)
	for range size {
		source, lists := s.source(&b)
		r, err := New[string](source, &sink[string]{}, opts)
		if err != nil {
			t.Fatal(err)
		}
		reflectors, all = append(reflectors, r), append(all, lists)
		go func() { ended <- r.Run(ctx) }()
	}
	long := opts.withDefaults().Backoff.Max
	settled := time.Now().Add(8 * max(long, 10*time.Second)) // the waits have grown
	time.Sleep(16 * max(long, 10*time.Second))
	synctest.Wait()
	s.mu.Lock()
	for i, lists := range all {
		worst, n := time.Duration(0), 0
		var gap time.Duration
		for k, at := range *lists {
			if k == 0 || at.Before(settled) {
				continue
			}
			gap = at.Sub((*lists)[k-1])
			n, worst = n+1, max(worst, gap)
			if gap < least-time.Millisecond || gap > most {
				t.Errorf("reflector %d: a list after %v", i, gap)
				break
			}
		}
		if n < 2 {
			t.Errorf("%d lists", n)
		}
		if p := reflectors[i].Stats().Polling; p.Since.IsZero() || p.Every != long {
			t.Errorf("reflector %d: lists every %v, and %+v", i, long, p)
		}
		if t.Failed() {
			break
		}
	}
	s.works = true
	s.mu.Unlock()
	time.Sleep(2*most + 2*long)
	synctest.Wait()
	for i, r := range reflectors {
		if p := r.Stats().Polling; p != (Polling{}) {
			t.Errorf("watches work, and reflector %d: %+v", i, p)
			break
		}
	}
	cancel()
	for range size {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// TestListIsDue: a list takes the place of the next watch once watches have failed for long enough. Lists that
// fail, too, make that longer, and so do InternalErrors before the first list.
func TestListIsDue(t *testing.T) {
	began := noon.Add(-time.Minute)
	for name, c := range map[string]struct {
		drought
		word string
		want time.Duration // since watches fail
	}{
		"first":                     {drought{dry: began, barren: began}, "eof", 30 * time.Second},
		"by lists":                  {drought{dry: began.Add(-time.Hour), barren: began, byLists: true}, "eof", 30 * time.Second},
		"internal error":            {drought{dry: began, barren: began}, "internal", time.Minute},
		"internal error, by lists":  {drought{dry: began, barren: began, byLists: true}, "internal", 30 * time.Second},
		"after a list that failed":  {drought{dry: began, barren: began, failedLists: 1}, "eof", time.Minute},
		"after lists that failed":   {drought{dry: began, barren: began, failedLists: 100}, "eof", 5 * time.Minute},
		"a watch brought something": {drought{}, "eof", 0},
	} {
		s := state{phase: phaseWatching, rv: "7", drought: c.drought, learned: learned{patience: 30 * time.Second, internalRetry: time.Minute, stream: streamSupported}}
		if s.listIsDue(began.Add(c.want-1), failure(c.word, 0)) || c.want > 0 != s.listIsDue(began.Add(c.want), failure(c.word, 0)) {
			t.Errorf("%s: a list is not due exactly after %v", name, c.want)
		}
	}
}

// TestInstead: the list comes after a check, if the server's history is in doubt, and asks the storage if
// there was no answer.
func TestInstead(t *testing.T) {
	for name, c := range map[string]struct {
		state
		verify bool
		checks bool
		from   string
	}{
		"confirmed":     {state{phase: phaseWatching, confirmed: true}, true, false, "7"},
		"not confirmed": {state{phase: phaseWatching}, true, true, "7"},
		"trusted":       {state{phase: phaseWatching}, false, false, "7"},
		"to be checked": {state{phase: phaseChecking}, true, true, "7"},
		"to repeat":     {state{phase: phaseWatching, replayRV: "6"}, true, true, "7"},
		"no answer":     {state{phase: phaseChecking, unverified: time.Minute}, true, true, ""},
	} {
		s := c.state
		s.rv, s.stream = "7", streamSupported
		next, why := s.instead(noon, c.verify)
		if c.checks {
			if why != noRelist || next.phase != phaseChecking {
				t.Errorf("%s: %s", name, next.text())
			}
			next.phase = phaseWatching
			next, why = next.verified()
		}
		if why != becauseFailing || next.phase != phaseListing || next.listRV != c.from || !next.relisted || next.trial != noon {
			t.Errorf("%s: %v, %s", name, why, next.text())
		}
		if whole, _ := next.pageListed(metav1.ListMeta{ResourceVersion: "8"}, false, ""); (c.from == "") != (whole.rewound == perhapsRewound) {
			t.Errorf("%s: the list is whole, and the server rewound: %v", name, whole.rewound)
		}
	}
	if next, why := (state{phase: phaseListing}).instead(noon, true); why != noRelist || next != (state{phase: phaseListing}) {
		t.Errorf("a list in place of a list: %s", next.text())
	}
}

// TestStreamsBreakWithoutTrace: a streaming list that is reset before its header falls back to LIST, even if
// the source does not say which requests have a connection, as over a transport without httptrace. A server
// that cannot be reached is asked for a stream again.
func TestStreamsBreakWithoutTrace(t *testing.T) {
	for word, falls := range map[string]bool{"reset": true, "refused": false, "no-name": false, "dial-timeout": false, "unanswered": false} {
		for _, traced := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, traced %t", word, traced), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					lists := 0
					s := &closures{breaker: new(Breaker), list: func(context.Context, metav1.ListOptions) (metav1.ListMeta, error) {
						lists++
						return metav1.ListMeta{ResourceVersion: "5"}, nil
					}}
					s.watch = func(ctx context.Context, opts metav1.ListOptions) error {
						if traced && falls {
							AttemptOf(ctx).Connected(nil)
						}
						if opts.SendInitialEvents != nil {
							return failure(word, 0)
						}
						<-ctx.Done()
						return ctx.Err()
					}
					r, err := New[string](s, &sink[string]{}, Options{OnError: func(error) {}})
					if err != nil {
						t.Fatal(err)
					}
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					if err := r.Run(ctx); err != nil || (lists > 0) != falls {
						t.Errorf("%d lists, %v", lists, err)
					}
				})
			})
		}
	}
}

// TestListsAreSpread: reflectors whose watches begin together and fail in the same way do not list together
// for long. Without jitter they do.
func TestListsAreSpread(t *testing.T) {
	for _, word := range []string{"hang", "empty", "unusable"} {
		for _, jitter := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, jitter %v", word, jitter), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					const size = 100
					ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
					defer cancel()
					s := &watchless{word: word, server: true, versioned: true}
					random := rand.New(rand.NewPCG(1, 2))
					var mu sync.Mutex
					opts := Options{Tuning: Tuning{DisableWatchList: true, Backoff: Backoff{Random: func() float64 {
						if !jitter {
							return 0
						}
						mu.Lock()
						defer mu.Unlock()
						return random.Float64()
					}}}, OnError: func(error) {}}
					var running sync.WaitGroup
					var all []*[]time.Time
					for range size {
						source, lists := s.source(new(Breaker))
						r, err := New[string](source, &sink[string]{}, opts)
						if err != nil {
							t.Fatal(err)
						}
						all = append(all, lists)
						running.Go(func() { _ = r.Run(ctx) })
					}
					settled := time.Now().Add(5 * time.Minute)
					running.Wait()
					seconds, most := map[int64]int{}, 0
					for _, lists := range all {
						for _, at := range *lists {
							if at.After(settled) {
								seconds[at.Unix()]++
								most = max(most, seconds[at.Unix()])
							}
						}
					}
					t.Logf("%d of %d list in one second", most, size)
					if jitter == (most == size) || jitter && most > size/4 {
						t.Errorf("%d of %d list in one second", most, size)
					}
				})
			})
		}
	}
}
