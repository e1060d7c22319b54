package reflector

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// outages is a server of courses that is away at times.
type outages struct {
	*courses
	down func(verb string) string // the word of the failure of a request; "" if it is served
	full []time.Time              // lists of all that were served
	log  []Event[metaObject]      // events so far, which watches from older versions repeat
}

func withOutages(s *courses, down func(verb string) string) *outages {
	z := &outages{courses: s, down: down}
	s.object = func() metaObject {
		if len(z.log) == 0 {
			return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "a", ResourceVersion: "100"}}
		}
		return z.log[len(z.log)-1].Object
	}
	return z
}

func (s *outages) fails(ctx context.Context, verb string) error {
	word := s.down(verb)
	if word == "" {
		return nil
	}
	a := AttemptOf(ctx)
	a.Send()
	switch word {
	case "refused":
		return failure("refused", 0)
	case "blackhole":
		select {
		case <-time.After(30 * time.Second):
			return failure("dial-timeout", 0)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	a.Connected(nil)
	a.Answered()
	return failure(word, 0)
}

func (s *outages) List(ctx context.Context, opts metav1.ListOptions, yield func(Event[metaObject], error) bool) (metav1.ListMeta, error) {
	verb := "list"
	if opts.Limit == 1 {
		verb = "check"
	}
	if err := s.fails(ctx, verb); err != nil {
		return metav1.ListMeta{}, err
	}
	if verb == "list" {
		s.full = append(s.full, time.Now())
	}
	return s.courses.List(ctx, opts, yield)
}

func (s *outages) Watch(ctx context.Context, opts metav1.ListOptions) iter.Seq2[Event[metaObject], error] {
	return func(yield func(Event[metaObject], error) bool) {
		if err := s.fails(ctx, "watch"); err != nil {
			yield(Event[metaObject]{}, err)
			return
		}
		c, err := s.accept(ctx)
		if err != nil {
			yield(Event[metaObject]{}, err)
			return
		}
		from, _ := strconv.Atoi(opts.ResourceVersion)
		for _, old := range s.log {
			if n, _ := strconv.Atoi(old.ResourceVersion); n > from && !yield(old, nil) {
				return
			}
		}
		s.goes(ctx, c, opts, func(ev Event[metaObject], err error) bool {
			if err == nil && ev.Type == Added {
				s.log = append(s.log, ev)
			}
			return yield(ev, err)
		})
	}
}

// runMany runs reflectors that share a breaker, except for sources that have one already.
func runMany(t *testing.T, n int, lasts time.Duration, o Tuning, make func(began time.Time) *outages) (all []*outages, rs []*Reflector[metaObject], to []*rewinder) {
	began, breaker := time.Now(), new(Breaker)
	ctx, cancel := context.WithTimeout(t.Context(), lasts)
	defer cancel()
	var running sync.WaitGroup
	for range n {
		s := make(began)
		if s.breaker == nil {
			s.breaker = breaker
		}
		r, sk := reflectorOf(t, s, o)
		all, rs, to = append(all, s), append(rs, r), append(to, sk)
		running.Go(func() { _ = r.Run(ctx) })
	}
	running.Wait()
	return all, rs, to
}

// TestOutageCostsNoLists: an outage of some minutes does not cost each reflector a list when it ends, even
// where each has its own breaker and finds out for itself.
func TestOutageCostsNoLists(t *testing.T) {
	for _, word := range []string{"refused", "blackhole", "unavailable", "busy"} {
		for _, outage := range []time.Duration{time.Minute, 12 * time.Minute} {
			for _, events := range []int{0, 4} {
				for _, which := range []string{"", "trust", "alone"} {
					if which == "alone" && word != "refused" {
						continue // watches fail, and the server is there
					}
					t.Run(fmt.Sprintf("%s %v events %d %s", word, outage, events, which), func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) {
							o := listsOnly
							o.TrustVersions = which == "trust"
							from := 10 * time.Minute
							all, rs, to := runMany(t, 50, time.Hour, o, func(began time.Time) *outages {
								s := &courses{}
								if which == "alone" {
									s.breaker = new(Breaker)
								}
								down := func() bool { at := time.Since(began); return at >= from && at < from+outage }
								s.next = func(n int) course {
									at := time.Since(began)
									c := course{bookmark: time.Minute}
									if n == 0 {
										c.events = events
									}
									if at < from { // until the outage
										c.lasts, c.err = from-at, "eof"
										if at < from-9*time.Minute {
											c.lasts, c.err = from-9*time.Minute-at, ""
										}
									}
									return c
								}
								return withOutages(s, func(string) string {
									if down() {
										return word
									}
									return ""
								})
							})
							lists, rewound, polling := 0, 0, 0
							for k, s := range all {
								lists += len(s.full) - 1
								rewound += to[k].n
								if rs[k].Stats().Polling.Every != 0 {
									polling++
								}
							}
							if lists > 15 || rewound > 10 || polling > 0 { // a few take the place of a probe
								t.Errorf("%d lists after the outage, %d rewound, %d polling at the end", lists, rewound, polling)
							}
						})
					})
				}
			}
		}
	}
}

// TestPollingInOutage: Polling does not say that lists keep the sink up to date while no list works.
func TestPollingInOutage(t *testing.T) {
	for _, word := range []string{"refused", "blackhole", "unavailable", "busy", "forbidden", "unauthorized", "eof"} {
		for _, trust := range []bool{false, true} {
			for _, which := range []string{"all", "watch+check", "lists", "silent, no lists"} {
				t.Run(fmt.Sprintf("%s trust %t %s", word, trust, which), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						o := listsOnly
						o.TrustVersions = trust
						began, breaker := time.Now(), new(Breaker)
						s := withOutages(&courses{breaker: breaker, next: func(n int) course {
							if which == "silent, no lists" {
								return course{lasts: time.Minute, err: "eof"}
							}
							return course{lasts: time.Minute, events: 2, err: "eof"}
						}}, nil)
						s.down = func(verb string) string {
							if time.Since(began) < 30*time.Second {
								return ""
							}
							switch which {
							case "all":
								return word
							case "watch+check":
								return ""
							case "silent, no lists":
								if verb == "list" {
									return word
								}
								return ""
							}
							if verb == "watch" {
								return ""
							}
							return word
						}
						ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
						defer cancel()
						r, _ := reflectorOf(t, s, o)
						ended := make(chan error)
						go func() { ended <- r.Run(ctx) }()
						var on time.Duration
						var p Polling
						for range 3500 {
							time.Sleep(time.Second)
							synctest.Wait()
							if q := r.Stats().Polling; q.Every != 0 {
								on, p = on+time.Second, q
							}
						}
						cancel()
						<-ended
						if on > 0 && len(s.full) == 1 {
							t.Errorf("Polling (%v) for %v, with %d lists", p, on, len(s.full))
						}
					})
				})
			}
		}
	}
}

// TestManySilentAllList: of many reflectors with silent watches on one breaker, each lists, although requests of
// the others show again and again that the server is back.
func TestManySilentAllList(t *testing.T) {
	for name, c := range map[string][]course{
		"eof 60 s":            {{lasts: time.Minute, err: "eof"}},
		"empty 60 s":          {{lasts: time.Minute}},
		"forbidden, eof 60 s": {{refused: "forbidden"}, {lasts: time.Minute, err: "eof"}},
		"busy, eof 60 s":      {{refused: "busy"}, {lasts: time.Minute, err: "eof"}},
		"unavailable, 60 s":   {{refused: "unavailable"}, {lasts: time.Minute, err: "unavailable"}},
		"internal 60 s":       {{lasts: time.Minute, err: "internal"}},
	} {
		for _, trust := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s trust %t", name, trust), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					o := listsOnly
					o.TrustVersions = trust
					all, _, to := runMany(t, 50, 2*time.Hour, o, func(began time.Time) *outages {
						return withOutages(&courses{next: inTurn(c...)}, func(string) string { return "" })
					})
					bad, longest, rewound := 0, time.Duration(0), 0
					for k, s := range all {
						last, m := s.full[0], time.Duration(0)
						for _, at := range append(s.full[1:], time.Now()) {
							m = max(m, at.Sub(last))
							last = at
						}
						if m > 25*time.Minute {
							bad++
						}
						longest = max(longest, m)
						rewound += to[k].n
					}
					if bad > 0 || rewound > 0 {
						t.Errorf("%d of 50 went without a list for up to %v, rewound %d", bad, longest, rewound)
					}
				})
			})
		}
	}
}

// TestListInPlaceHangs: a list in place of a silent watch has no answer. The watch goes on.
func TestListInPlaceHangs(t *testing.T) {
	for _, c := range []course{{lasts: time.Minute, err: "eof"}, {lasts: 20 * time.Second}} {
		for _, trust := range []bool{false, true} {
			t.Run(fmt.Sprint(c, trust), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					h := &hangs{outages: withOutages(&courses{breaker: new(Breaker), next: inTurn(c)}, func(string) string { return "" })}
					ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
					defer cancel()
					o := listsOnly
					o.TrustVersions = trust
					r, _ := reflectorOf(t, h, o)
					ended := make(chan error)
					go func() { ended <- r.Run(ctx) }()
					<-ctx.Done()
					<-ended
					if h.hung == 0 || h.hung > 20*time.Minute {
						t.Errorf("no watch and no list for %v of an hour", h.hung)
					}
				})
			})
		}
	}
}

type hangs struct {
	*outages
	n    int
	hung time.Duration
}

func (s *hangs) List(ctx context.Context, opts metav1.ListOptions, yield func(Event[metaObject], error) bool) (metav1.ListMeta, error) {
	if opts.Limit != 1 {
		if s.n++; s.n > 1 {
			a := AttemptOf(ctx)
			a.Send()
			a.Connected(nil)
			began := time.Now()
			<-ctx.Done()
			s.hung += time.Since(began)
			return metav1.ListMeta{}, ctx.Err()
		}
	}
	return s.outages.List(ctx, opts, yield)
}
