package reflector

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestWatchdogReacts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var heard []time.Duration
		d := newWatchdog(time.Second, nil, func(quiet time.Duration) { heard = append(heard, quiet) })
		expect := func(want ...time.Duration) {
			t.Helper()
			synctest.Wait()
			for i := range want {
				want[i] *= time.Second
			}
			if !slices.Equal(heard, want) {
				t.Errorf("after %v: %v, want %v", time.Since(noon), heard, want)
			}
			heard = nil
		}
		time.Sleep(3500 * time.Millisecond)
		expect(1, 2, 3)
		d.received()
		d.handled()
		time.Sleep(3 * time.Second) // the look at 4 s sees it
		expect(1, 2)
		d.received()
		time.Sleep(time.Minute) // handled all the time
		expect()
		d.handled()
		time.Sleep(2 * time.Second)
		expect(1)
		d.stop()
		d.stop()
		time.Sleep(time.Minute)
		expect()
	})
	(*watchdog)(nil).stop()
}

// A patience too short to divide does not make the watchdog look without a pause.
func TestWatchdogPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		looks := 0
		d := newWatchdog(0, nil, func(time.Duration) {
			if looks++; looks > 1000 {
				panic("looks without a pause")
			}
		})
		time.Sleep(100 * time.Millisecond)
		d.stop()
		if looks < 10 || looks > 100 {
			t.Errorf("%d looks in 100 ms", looks)
		}
	})
}

// TestWatchdogKnowsHowLong plays random events. The silence that the watchdog reports is never
// longer than the real one, and shorter by one look at most.
func TestWatchdogKnowsHowLong(t *testing.T) {
	for seed := range uint64(200) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 4))
			const every = time.Second
			var since atomic.Int64 // when the last event was handled; 0 in between
			since.Store(time.Now().UnixNano())
			d := newWatchdog(every, nil, func(quiet time.Duration) {
				last := since.Load()
				if last == 0 {
					t.Errorf("seed %d: a reaction while an event is handled", seed)
					return
				}
				if truly := time.Duration(time.Now().UnixNano() - last); quiet > truly || truly >= quiet+every {
					t.Errorf("seed %d: quiet for %v, the watchdog says %v", seed, truly, quiet)
				}
			})
			for range 50 {
				time.Sleep(time.Duration(r.IntN(7000))*time.Millisecond + 1) // never at the moment of a look
				since.Store(0)
				d.received()
				time.Sleep(time.Duration(r.IntN(3)*r.IntN(3000)) * time.Millisecond)
				d.handled()
				since.Store(time.Now().UnixNano())
			}
			d.stop()
		})
	}
}

// TestWatchdogStopWaits: nothing of a watchdog is left when stop returns.
func TestWatchdogStopWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		done := false
		d := newWatchdog(time.Second, nil, func(time.Duration) {
			time.Sleep(time.Minute)
			done = true
		})
		time.Sleep(2 * time.Second)
		d.stop()
		if !done {
			t.Error("stop came back before the reaction did")
		}
	})
}

// TestWatchdogSurvivesItsReaction: one that ends its goroutine is not the last.
func TestWatchdogSurvivesItsReaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n atomic.Int64
		d := newWatchdog(time.Second, nil, func(time.Duration) {
			n.Add(1)
			runtime.Goexit()
		})
		time.Sleep(10500 * time.Millisecond)
		if d.stop(); n.Load() != 10 {
			t.Errorf("%d reactions, want 10", n.Load())
		}
	})
}

// TestBusySinkIsNotIdle: a watch whose sink takes long is not given up.
func TestBusySinkIsNotIdle(t *testing.T) {
	for _, stream := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			// A minute less than five hours: the last watch must not be given up at the moment of
			// the end.
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Hour-time.Minute)
			defer cancel()
			requests := 0
			initial := []Event[string]{added("a", 1), {Type: Bookmark, InitialEventsEnd: true, ResourceVersion: "3"}}
			src := &source[string]{list: objects("3", added("a", 1))}
			src.watch = func(ctx context.Context, opts metav1.ListOptions) iter.Seq2[Event[string], error] {
				return func(yield func(Event[string], error) bool) {
					if requests++; requests > 1 {
						<-ctx.Done()
						return
					}
					evs := []Event[string]{added("b", 4), added("c", 5)}
					if opts.SendInitialEvents != nil {
						evs = append(initial, evs...)
					}
					for _, ev := range evs {
						if ctx.Err() != nil || !yield(ev, nil) {
							return
						}
					}
					<-ctx.Done()
				}
			}
			s := &slowSink{}
			r, err := New(src, s, Options{Tuning: Tuning{WatchTimeout: 10 * time.Hour, DisableWatchList: !stream, TrustVersions: true}, OnError: func(err error) { t.Error(err) }})
			if err != nil {
				t.Fatal(err)
			}
			if err := r.Run(ctx); err != nil {
				t.Fatal(err)
			}
			// Each of the calls took an hour: the rest is idle.
			if s.nApply != 2 || s.nListed != 1 || s.nReplace != 1 {
				t.Errorf("stream %v: %+v", stream, s.sink)
			}
			if got := r.Stats(); got.IdleWatches != uint64(requests)-1 || requests < 10 || requests > 25 {
				t.Errorf("stream %v: %d requests, stats %+v", stream, requests, got)
			}
		})
	}
}

// slowSink takes an hour for everything.
type slowSink struct{ sink[string] }

func (s *slowSink) wait(ctx context.Context) error {
	select {
	case <-time.After(time.Hour):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *slowSink) Listed(ctx context.Context, _ Event[string]) error {
	s.nListed++
	return s.wait(ctx)
}

func (s *slowSink) Replace(ctx context.Context, _ string) error {
	s.nReplace++
	return s.wait(ctx)
}

func (s *slowSink) Apply(ctx context.Context, ev Event[string]) error {
	s.nApply++
	return s.wait(ctx)
}

// TestSlowListIsReported has a stream that stops, and an OnError that misbehaves.
func TestSlowListIsReported(t *testing.T) {
	mute := &source[string]{list: objects[string]("3"), watch: hang[string]}
	t.Run("fields", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			var got SlowListError
			r, err := New(mute, &sink[string]{}, Options{Tuning: Tuning{FirstVersion: new("7")}, OnError: func(err error) {
				slow := &SlowListError{}
				if !errors.As(err, &slow) {
					t.Errorf("reported %v", err)
					return
				}
				got = *slow
			}})
			if err != nil {
				t.Fatal(err)
			}
			if err := r.Run(ctx); err != nil {
				t.Fatal(err)
			}
			if want := (SlowListError{Resource: "pods", ResourceVersion: "7", Quiet: 10 * time.Second}); got != want {
				t.Errorf("reported %+v, want %+v", got, want)
			}
		})
	})
	t.Run("panic", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r, err := New(mute, &sink[string]{}, Options{OnError: func(err error) {
				if errors.As(err, new(*SlowListError)) {
					panic("mine")
				}
			}})
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			defer func() {
				if value := recover(); value != "mine" || time.Since(began) != 10*time.Second {
					t.Errorf("after %v Run panics with %v, want that of OnError at once", time.Since(began), value)
				}
			}()
			t.Errorf("Run returned %v", r.Run(t.Context()))
		})
	})
	t.Run("slow", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			over := false
			r, err := New(mute, &sink[string]{}, Options{OnError: func(error) {
				time.Sleep(time.Minute)
				over = true
			}})
			if err != nil {
				t.Fatal(err)
			}
			if err := r.Run(ctx); err != nil || !over {
				t.Errorf("Run returned %v, OnError came back: %v", err, over)
			}
		})
	})
}

// TestPanicStopsTheWatchdog: no watchdog is left after a sink's panic has left Run.
func TestPanicStopsTheWatchdog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &source[string]{watch: events(added("a", 1))}
		r, err := New(src, &panickySink{}, Options{OnError: func(err error) { t.Errorf("reported %v", err) }})
		if err != nil {
			t.Fatal(err)
		}
		func() {
			defer func() {
				if value := recover(); value != "mine" {
					t.Errorf("Run panics with %v", value)
				}
			}()
			t.Errorf("Run returned %v", r.Run(t.Context()))
		}()
		time.Sleep(time.Hour)
	})
}

// panickySink panics at the first object of a list.
type panickySink struct{ sink[string] }

func (*panickySink) Listed(context.Context, Event[string]) error { panic("mine") }

// TestFilteredStreamIsNotSilent: a streaming list of which nothing is kept continues, however
// many filters there are.
func TestFilteredStreamIsNotSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		src := &source[string]{list: objects[string]("1")}
		src.watch = func(ctx context.Context, _ metav1.ListOptions) iter.Seq2[Event[string], error] {
			return func(yield func(Event[string], error) bool) {
				for range 40 {
					time.Sleep(2500 * time.Millisecond) // 100 s in all: longer than a silence may be
					if ctx.Err() != nil || !yield(added("a", 1), nil) {
						return
					}
				}
				if yield(Event[string]{Type: Bookmark, ResourceVersion: "2", InitialEventsEnd: true}, nil) {
					<-ctx.Done()
				}
			}
		}
		none := Filter(src, func(string) bool { return false })
		all := Filter(Map(none, func(s string) (string, error) { return s, nil }), func(string) bool { return true })
		r, err := New(all, &sink[string]{}, Options{OnError: func(err error) { t.Error(err) }})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Run(ctx); err != nil {
			t.Error(err)
		}
		if s := r.Stats(); s.Lists != 1 || s.WatchLists != 1 {
			t.Errorf("%+v", s)
		}
	})
}
