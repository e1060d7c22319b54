package reflector

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/internal/longtest"
)

type metaObject = *metav1.PartialObjectMetadata

// course is how one watch goes. It is accepted unless it is refused, and brings nothing by itself.
type course struct {
	refused  string // the word of a failure in place of the header, or "hang"
	lasts    time.Duration
	err      string        // how it ends; "" is in order
	bookmark time.Duration // a bookmark comes every so often
	events   int           // that come at once
}

const asAsked = time.Duration(0)

// courses is a server whose lists work, and whose watches go as they are told.
type courses struct {
	breaker     *Breaker
	next        func(n int) course // n counts from 0
	check       string             // the word of the failure of lists of one object
	object      func() metaObject  // the only one; nil if there is none
	unversioned bool
	early       string // the version of the bookmark that ends a streaming list, if it is not the list's

	mu    sync.Mutex
	rv    int
	lists []time.Time
	n     int           // watches
	open  time.Duration // of watches, in all
}

func (s *courses) Breaker() *Breaker { return s.breaker }

// alone is a source that is no Server.
type alone struct{ Source[metaObject] }

func (s *courses) Resource() string { return "pods" }

func (s *courses) List(ctx context.Context, opts metav1.ListOptions, yield func(Event[metaObject], error) bool) (metav1.ListMeta, error) {
	attempt := AttemptOf(ctx)
	attempt.Send()
	attempt.Connected(nil)
	attempt.Answered()
	s.mu.Lock()
	defer s.mu.Unlock()
	if opts.Limit == 1 && s.check != "" {
		return metav1.ListMeta{}, failure(s.check, 0)
	}
	attempt.Accepted()
	if opts.Limit != 1 {
		s.lists = append(s.lists, time.Now())
	}
	if s.object != nil {
		o := s.object()
		if !yield(Event[metaObject]{Type: Added, Object: o, ResourceVersion: o.ResourceVersion}, nil) {
			return metav1.ListMeta{}, ErrListStopped
		}
	}
	if s.unversioned {
		return metav1.ListMeta{}, nil
	}
	return metav1.ListMeta{ResourceVersion: s.version()}, nil
}

func (s *courses) version() string { return fmt.Sprint(100 + s.rv) }

// accept begins the next watch, up to its header.
func (s *courses) accept(ctx context.Context) (course, error) {
	attempt := AttemptOf(ctx)
	attempt.Send()
	s.mu.Lock()
	c := s.next(s.n)
	s.n++
	s.mu.Unlock()
	attempt.Connected(nil)
	if c.refused == "hang" {
		<-ctx.Done()
		return c, ctx.Err()
	}
	attempt.Answered()
	if c.refused != "" {
		return c, failure(c.refused, 0)
	}
	attempt.Accepted()
	return c, nil
}

func (s *courses) Watch(ctx context.Context, opts metav1.ListOptions) iter.Seq2[Event[metaObject], error] {
	return func(yield func(Event[metaObject], error) bool) {
		c, err := s.accept(ctx)
		if err != nil {
			yield(Event[metaObject]{}, err)
			return
		}
		s.goes(ctx, c, opts, yield)
	}
}

// goes carries out a course after its acceptance.
func (s *courses) goes(ctx context.Context, c course, opts metav1.ListOptions, yield func(Event[metaObject], error) bool) {
	bookmark := func(endsList bool) bool {
		s.mu.Lock()
		rv := s.version()
		s.mu.Unlock()
		return yield(Event[metaObject]{Type: Bookmark, InitialEventsEnd: endsList, ResourceVersion: rv}, nil)
	}
	if opts.SendInitialEvents != nil {
		s.mu.Lock()
		s.lists = append(s.lists, time.Now())
		s.mu.Unlock()
		if s.object != nil {
			if o := s.object(); !yield(Event[metaObject]{Type: Added, Object: o, ResourceVersion: o.ResourceVersion}, nil) {
				return
			}
		}
		if s.early != "" {
			if !yield(Event[metaObject]{Type: Bookmark, InitialEventsEnd: true, ResourceVersion: s.early}, nil) {
				return
			}
		} else if !bookmark(true) {
			return
		}
	}
	for range c.events {
		s.mu.Lock()
		s.rv++
		o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "e" + s.version(), UID: types.UID(s.version()), ResourceVersion: s.version()}}
		s.mu.Unlock()
		if !yield(Event[metaObject]{Type: Added, Object: o, ResourceVersion: o.ResourceVersion}, nil) {
			return
		}
	}
	if c.lasts == asAsked {
		c.lasts = time.Duration(*opts.TimeoutSeconds) * time.Second
	}
	began, end := time.Now(), time.After(c.lasts)
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.open += time.Since(began)
	}()
	var tick <-chan time.Time
	if c.bookmark > 0 {
		ticker := time.NewTicker(c.bookmark)
		defer ticker.Stop()
		tick = ticker.C
	}
	for {
		select {
		case <-ctx.Done():
			yield(Event[metaObject]{}, ctx.Err())
			return
		case <-end:
			if c.err != "" {
				yield(Event[metaObject]{}, failure(c.err, 0))
			}
			return
		case <-tick:
			if !bookmark(false) {
				return
			}
		}
	}
}

// inTurn are courses that follow each other again and again.
func inTurn(all ...course) func(int) course {
	return func(n int) course { return all[n%len(all)] }
}

// told is what happened in a run.
type told struct {
	stats   Stats
	rewound int
	polling time.Duration // how long Stats.Polling was set
	longest time.Duration // Polling.Every at most
}

// rewinder counts how often it is told of a restored server.
type rewinder struct {
	sink[metaObject]
	n int
}

func (s *rewinder) Rewound(bool) { s.n++ }

// reflectorOf returns a reflector of a source, and its sink.
func reflectorOf(t *testing.T, source Source[metaObject], o Tuning) (*Reflector[metaObject], *rewinder) {
	t.Helper()
	to := new(rewinder)
	r, err := New[metaObject](source, to, Options{Tuning: o, OnError: func(error) {}})
	if err != nil {
		t.Fatal(err)
	}
	return r, to
}

// runs runs a reflector for a time, and looks at it each second.
func (s *courses) runs(t *testing.T, server bool, o Tuning, lasts time.Duration) (is told) {
	t.Helper()
	s.breaker = new(Breaker)
	var source Source[metaObject] = s
	if !server {
		source = alone{s}
	}
	r, to := reflectorOf(t, source, o)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- r.Run(ctx) }()
	for range lasts / time.Second {
		time.Sleep(time.Second)
		synctest.Wait()
		if p := r.Stats().Polling; p.Every != 0 {
			is.polling += time.Second
			is.longest = max(is.longest, p.Every)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	is.stats, is.rewound = r.Stats(), to.n
	return is
}

var listsOnly = Tuning{DisableWatchList: true}

// TestSilentWatches: watches that are accepted, bring nothing and end too early may work or not. So lists come
// in their place, but seldom, even if others fail between them, and Stats says so.
func TestSilentWatches(t *testing.T) {
	eof := func(lasts time.Duration) course { return course{lasts: lasts, err: "eof"} }
	for name, all := range map[string][]course{
		"empty in 2 s":                {{lasts: 2 * time.Second}},
		"empty in 20 s":               {{lasts: 20 * time.Second}},
		"eof in 60 s":                 {eof(time.Minute)},
		"eof in 2 s, eof in 60 s":     {eof(2 * time.Second), eof(time.Minute)},
		"eof at once, eof in 60 s":    {eof(1), eof(time.Minute)},
		"forbidden, eof in 60 s":      {{refused: "forbidden"}, eof(time.Minute)},
		"forbidden, empty in 20 s":    {{refused: "forbidden"}, {lasts: 20 * time.Second}},
		"eof in 29 s, eof in 31 s":    {eof(29 * time.Second), eof(31 * time.Second)},
		"hang, eof in 60 s":           {{refused: "hang"}, eof(time.Minute)},
		"3 eof in 9 s, empty in 2 s":  {eof(9 * time.Second), eof(9 * time.Second), eof(9 * time.Second), {lasts: 2 * time.Second}},
		"empty at once, eof in 20 s":  {{lasts: 1}, eof(20 * time.Second)},
		"internal in 29 s, and empty": {{lasts: 29 * time.Second, err: "internal"}, {lasts: time.Second}},
	} {
		for _, server := range []bool{true, false} {
			if !server && all[0].refused == "hang" {
				continue // cannot be told from silence
			}
			t.Run(fmt.Sprintf("%s, server %t", name, server), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := &courses{next: inTurn(all...)}
					is := s.runs(t, server, listsOnly, 2*time.Hour)
					last := s.lists[0]
					for _, at := range append(s.lists[1:], time.Now()) {
						if gap := at.Sub(last); gap > 12*time.Minute {
							t.Errorf("no list for %v", gap)
						}
						last = at
					}
					if is.polling < 105*time.Minute || is.longest > 12*time.Minute {
						t.Errorf("lists keep the sink up to date, and Polling says so for %v of 2 h, every %v at most", is.polling, is.longest)
					}
				})
			})
		}
	}
}

// TestSilenceCostsLittle: a quiet collection behind a proxy that ends each watch is listed seldom, whatever
// Backoff.Max is, and not at all if bookmarks come, or if watches last as long as asked.
func TestSilenceCostsLittle(t *testing.T) {
	for _, longest := range []time.Duration{10 * time.Millisecond, time.Second, 30 * time.Second, 61 * time.Second, 10 * time.Minute} {
		for name, c := range map[string]struct {
			course
			most int // lists in three hours
		}{
			"eof in 25 s":                 {course{lasts: 25 * time.Second, err: "eof"}, 36},
			"empty in 25 s":               {course{lasts: 25 * time.Second}, 36},
			"eof in 60 s":                 {course{lasts: time.Minute, err: "eof"}, 36},
			"eof in 90 s, bookmarks":      {course{lasts: 90 * time.Second, err: "eof", bookmark: time.Minute}, 0},
			"empty in 90 s, bookmarks":    {course{lasts: 90 * time.Second, bookmark: time.Minute}, 0},
			"as long as asked":            {course{lasts: asAsked}, 0},
			"as long as asked, then eof":  {course{lasts: asAsked, err: "eof"}, 0},
			"as long as asked, bookmarks": {course{lasts: asAsked, bookmark: time.Minute}, 0},
		} {
			if c.most > 0 && longest > c.lasts && c.err != "" {
				continue // it fails
			}
			t.Run(fmt.Sprintf("%v, %s", longest, name), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := &courses{next: inTurn(c.course)}
					o := listsOnly
					o.Backoff.Max = longest
					is := s.runs(t, true, o, 3*time.Hour)
					if n := len(s.lists) - 1; n > c.most || c.most == 0 && is.polling > 0 {
						t.Errorf("%d lists, and Polling for %v", n, is.polling)
					}
				})
			})
		}
	}
}

// TestSilenceIsSpread: if a hundred reflectors lose their watches together again and again, as with a
// connection, not all of them list together.
func TestSilenceIsSpread(t *testing.T) {
	for _, err := range []string{"eof", ""} {
		t.Run(err, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const size = 100
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				began, all, breaker := time.Now(), make([]*courses, size), new(Breaker)
				var running sync.WaitGroup
				for k := range all {
					all[k] = &courses{breaker: breaker, next: func(int) course { return course{lasts: time.Minute - time.Since(began)%time.Minute, err: err} }}
					r, _ := reflectorOf(t, all[k], listsOnly)
					running.Go(func() { _ = r.Run(ctx) })
				}
				running.Wait()
				seconds, most := map[int64]int{}, 0
				for _, s := range all {
					for _, at := range s.lists[1:] {
						seconds[at.Unix()]++
						most = max(most, seconds[at.Unix()])
					}
				}
				if most > size/2 || len(seconds) < 5 {
					t.Errorf("%d of %d list in one second, %d seconds in all", most, size, len(seconds))
				}
			})
		})
	}
}

// TestListsInPlaceShowRestores: a server is restored and comes back with later versions, while watches bring
// nothing. The sink must learn of it, even if a list takes the place of the watch that would have shown it.
func TestListsInPlaceShowRestores(t *testing.T) {
	for name, c := range map[string]struct {
		course
		from, to time.Duration // of the restore, in steps
		check    string
	}{
		"silent":                  {course{lasts: time.Minute, err: "eof"}, 270 * time.Second, 11 * time.Minute, ""},
		"failing":                 {course{lasts: 4 * time.Second, err: "eof"}, 20 * time.Second, 80 * time.Second, ""},
		"failing, no check":       {course{lasts: 4 * time.Second, err: "eof"}, 20 * time.Second, 80 * time.Second, "busy"},
		"may not watch":           {course{refused: "forbidden"}, 2 * time.Minute, 5 * time.Minute, ""},
		"may not watch, no check": {course{refused: "forbidden"}, 2 * time.Minute, 5 * time.Minute, "forbidden"},
		"unauthorized":            {course{refused: "unauthorized"}, 2 * time.Minute, 5 * time.Minute, ""},
		"silent, and no check is": {course{lasts: time.Minute, err: "eof"}, 270 * time.Second, 11 * time.Minute, "forbidden"},
	} {
		for after := c.from; after < c.to; after += (c.to - c.from) / 12 {
			t.Run(fmt.Sprintf("%s, after %v", name, after), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					began := time.Now()
					s := &courses{next: inTurn(c.course), check: c.check}
					s.object = func() metaObject {
						version := "90"
						if time.Since(began) > after {
							s.rv, version = 50, "60"
						}
						return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "a", ResourceVersion: version}}
					}
					if is := s.runs(t, true, listsOnly, 40*time.Minute); is.rewound == 0 {
						t.Errorf("the sink was never told that the server was restored: %+v", is.stats.Relists)
					}
				})
			})
		}
	}
}

// TestRestartsAreNoSilence: servers are restarted one after the other, so watches end early and in order, and the
// next may find its version expired. Then all is well, with and without bookmarks.
func TestRestartsAreNoSilence(t *testing.T) {
	for _, bookmark := range []time.Duration{0, time.Minute} {
		for _, expired := range []bool{true, false} {
			for _, idle := range []time.Duration{0, -1} {
				t.Run(fmt.Sprintf("bookmarks %v, expired %t, idle %v", bookmark, expired, idle), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						began, told := time.Now(), false
						s := &courses{next: func(n int) course {
							if n > 0 && expired && !told {
								told = true
								return course{refused: "expired"}
							}
							for _, next := range []time.Duration{100 * time.Second, 140 * time.Second, 180 * time.Second} {
								if at := time.Since(began); at < next {
									return course{lasts: next - at, bookmark: bookmark}
								}
							}
							return course{bookmark: bookmark}
						}}
						o := listsOnly
						o.IdleTimeout = idle
						if is := s.runs(t, true, o, time.Hour); is.polling > 0 {
							t.Errorf("Polling for %v", is.polling)
						}
					})
				})
			}
		}
	}
}

// TestSilenceWithoutChecks: lists come even if the server refuses the lists of one object, which show whether
// it was restored.
func TestSilenceWithoutChecks(t *testing.T) {
	for _, check := range []string{"", "forbidden", "busy", "eof", "bad-request", "internal", "unusable", "reset", "too-large"} {
		for _, c := range []course{{lasts: 20 * time.Second}, {lasts: 1500 * time.Millisecond}, {lasts: 4 * time.Second, err: "eof"}, {lasts: 20 * time.Second, err: "eof"}} {
			for _, events := range []int{0, 4} {
				t.Run(fmt.Sprintf("check %s, watch %v %s, events %d", check, c.lasts, c.err, events), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						s := &courses{check: check, next: func(n int) course {
							if n == 0 && events > 0 {
								return course{lasts: 10 * time.Second, events: events}
							}
							return c
						}}
						is := s.runs(t, true, listsOnly, time.Hour)
						if n := len(s.lists); n < 3 || n > 200 {
							t.Errorf("%d lists: %+v", n, is.stats.Relists)
						}
					})
				})
			}
		}
	}
}

// TestSilenceAtRandom: watches end in random ways, none in time, and bring nothing. Lists come nevertheless.
func TestSilenceAtRandom(t *testing.T) {
	refusals := []string{"busy", "refused", "eof", "unknown", "internal", "forbidden", "unauthorized", "unavailable", "timeout"}
	failures := []string{"eof", "internal", "http2", "unavailable", "timeout", "unknown"}
	pick := func(r *rand.Rand, words []string) string { return words[r.IntN(len(words))] }
	for seed := range uint64(longtest.N(40, 2000)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				random := rand.New(rand.NewPCG(seed, 1))
				kinds := make([]course, 1+random.IntN(4))
				for k := range kinds {
					limit := []time.Duration{time.Second, 5 * time.Second, 40 * time.Second, 110 * time.Second}[random.IntN(4)]
					c := course{lasts: 1 + time.Duration(random.Int64N(int64(limit)))}
					switch random.IntN(5) {
					case 0:
						c.err = pick(random, failures)
					case 1:
						c.err = "eof"
					case 2:
						c.refused = pick(random, refusals)
					}
					kinds[k] = c
				}
				events, first := random.IntN(3), time.Second+time.Duration(random.Int64N(int64(time.Minute)))
				s := &courses{check: pick(random, []string{"", "", "forbidden", "busy", "eof", "internal"}), next: func(n int) course {
					if n == 0 && events > 0 {
						return course{lasts: first, events: events}
					}
					return kinds[random.IntN(len(kinds))]
				}}
				o := Tuning{DisableWatchList: random.IntN(2) == 0, TrustVersions: random.IntN(3) == 0}
				is := s.runs(t, random.IntN(2) == 0, o, 90*time.Minute)
				gap := time.Since(s.lists[len(s.lists)-1])
				for k, at := range s.lists[1:] {
					gap = max(gap, at.Sub(s.lists[k]))
				}
				if gap > 14*time.Minute || len(s.lists) > 200 {
					t.Errorf("%v without a list, %d lists, %d watches, kinds %+v, %+v", gap, len(s.lists), s.n, kinds, is.stats.Relists)
				}
			})
		})
	}
}

// TestSilenceWithoutVersions: a source without versions can only watch after a list, so its watches end in lists
// anyway. They must not be kept from watching.
func TestSilenceWithoutVersions(t *testing.T) {
	for _, c := range []course{{lasts: 20 * time.Second}, {lasts: time.Minute}, {lasts: time.Minute, err: "eof"}, {lasts: 1500 * time.Millisecond}} {
		t.Run(fmt.Sprintf("%v %s", c.lasts, c.err), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &courses{unversioned: true, next: inTurn(c)}
				s.runs(t, false, Tuning{DisableWatchList: true, TrustVersions: true}, time.Hour)
				if s.open < 25*time.Minute || c.lasts >= 20*time.Second && s.open < 50*time.Minute {
					t.Errorf("a watch is open for %v of an hour", s.open)
				}
			})
		})
	}
}

// TestRepairsInSilence: an expired version leads to a list at once, as a stream if the server has streams, and
// so do two watches in a row that end at once and empty, even after silent watches.
func TestRepairsInSilence(t *testing.T) {
	for _, quiet := range []time.Duration{0, 20 * time.Minute} {
		for _, word := range []string{"expired", "empty"} {
			t.Run(fmt.Sprintf("%s after %v", word, quiet), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					began := time.Now()
					var first time.Time
					s := new(courses)
					s.next = func(n int) course {
						switch {
						case time.Since(began) < quiet || n == 0:
							return course{lasts: time.Minute, err: "eof"}
						case first.IsZero():
							first = time.Now()
						case s.lists[len(s.lists)-1].After(first):
							return course{bookmark: time.Minute}
						}
						if word == "expired" {
							return course{refused: word}
						}
						return course{lasts: 1}
					}
					s.runs(t, true, Tuning{}, 30*time.Minute)
					if took := s.lists[len(s.lists)-1].Sub(first); took < 0 || took > 10*time.Second {
						t.Errorf("right after %v", took)
					}
				})
			})
		}
	}
}

// TestEarlyEndIsNoRestore: a server that sends live changes before the bookmark that ends a streaming list may
// give it the version of the list's beginning. Nothing in the whole run takes that for a restored server, in
// whatever way its watches end.
func TestEarlyEndIsNoRestore(t *testing.T) {
	for name, c := range map[string]course{
		"eof at once":  {lasts: 1, err: "eof"},
		"eof in 60 s":  {lasts: time.Minute, err: "eof"},
		"empty in 2 s": {lasts: 2 * time.Second},
		"as asked":     {bookmark: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &courses{next: inTurn(c), early: "80"}
				s.object = func() metaObject {
					return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "a", ResourceVersion: "100"}}
				}
				if is := s.runs(t, true, Tuning{}, 2*time.Hour); is.stats.Restores > 0 || is.rewound > 0 || is.stats.WatchLists == 0 {
					t.Errorf("%d restores, told %d times, %d streams", is.stats.Restores, is.rewound, is.stats.WatchLists)
				}
			})
		})
	}
}
