package reflector

import (
	"context"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestDyingServer: a hundred reflectors do not ask a dying server much, in whatever way it dies, and
// are right soon after it is well.
func TestDyingServer(t *testing.T) {
	for _, c := range []struct {
		name  string
		mode  mode
		mean  float64 // requests a second, over half a minute
		most  int     // requests in a second
		right time.Duration
	}{
		{"429", busyMode, 20, 130, 2 * time.Second},
		{"429 for a second", busySecond, 20, 130, 2 * time.Second},
		{"503 for a second", awaySecond, 20, 130, 2 * time.Second},
		{"503", unavailable, 20, 130, 2 * time.Second},
		{"500", brokenMode, 20, 130, 2 * time.Second},
		{"403", forbidden, 10, 110, 2 * time.Second},
		{"watches break", breaksWatches, 30, 300, time.Second},
		{"watches end", endsWatches, 35, 250, 4 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			withAndWithoutMetadata(t, func(t *testing.T, metadata bool) {
				f := newFleet(t, metadata, 100, 1)
				defer f.stop()
				time.Sleep(time.Minute)
				f.right("1")
				const lasts = 30 * time.Second
				began, before := time.Now(), f.count()
				f.turn(c.mode, true)
				time.Sleep(lasts)
				mean, most := float64(f.count()-before)/lasts.Seconds(), f.most(began, time.Now())
				f.turn(up, false)
				took := f.right(f.write())
				t.Logf("%.1f requests a second, %d in the worst; right after %v", mean, most, took)
				if mean > c.mean || most > c.most {
					t.Errorf("%.1f requests a second, %d in the worst; want at most %v and %d", mean, most, c.mean, c.most)
				}
				if took > c.right {
					t.Errorf("right after %v, want %v", took, c.right)
				}
			})
		})
	}
}

// TestNamedTime: a server that names a time is asked again at that time, even after a long wait.
// Many reflectors ask it four times a second together.
func TestNamedTime(t *testing.T) {
	for size, most := range map[int]int{1: 320, 10: 1400, 100: 2400} {
		synctest.Test(t, func(t *testing.T) {
			f := newFleet(t, true, size, 1)
			defer f.stop()
			time.Sleep(time.Minute)
			f.right("1")
			before := f.count()
			f.turn(awaySecond, true)
			time.Sleep(5 * time.Minute)
			if n := f.count() - before; n > most {
				t.Errorf("%d requests by %d in five minutes, want at most %d", n, size, most)
			}
			f.turn(up, false)
			if took := f.right(f.write()); took > 2*time.Second {
				t.Errorf("%d are right after %v", size, took)
			}
		})
	}
}

// TestBusyServerThatStreams: a hundred reflectors that get their first list from a server that was busy
// are right soon after it is well. The first whole list, which is the beginning of a watch, shows that.
func TestBusyServerThatStreams(t *testing.T) {
	for name, mode := range map[string]mode{"429": busyMode, "429 for a second": busySecond, "503": unavailable, "503 for a second": awaySecond, "500": brokenMode} {
		t.Run(name, func(t *testing.T) {
			withAndWithoutMetadata(t, func(t *testing.T, metadata bool) {
				f := newFleet(t, metadata, 0, 1)
				defer f.stop()
				f.streams = true
				f.turn(mode, false)
				for n := range 100 {
					f.join(rand.NewPCG(1, uint64(n)))
				}
				time.Sleep(20 * time.Second)
				f.turn(up, false)
				if took := f.right(f.write()); took > 2*time.Second {
					t.Errorf("right after %v", took)
				}
			})
		})
	}
}

// TestListsInVain: a reflector whose lists never come whole asks for few of them in an hour. A
// complete list makes the waits short again.
func TestListsInVain(t *testing.T) {
	for name, mode := range map[string]mode{"cut": cutsLists, "empty": emptyLists} {
		t.Run(name, func(t *testing.T) {
			withAndWithoutMetadata(t, func(t *testing.T, metadata bool) {
				f := newFleet(t, metadata, 0, 1)
				defer f.stop()
				for range 2 {
					f.turn(mode, true)
					f.reflectors = nil
					f.join(rand.NewPCG(1, 1))
					began, before := time.Now(), f.count()
					time.Sleep(time.Hour)
					if n := f.count() - before; n > 120 {
						t.Errorf("%d requests in an hour", n)
					}
					f.turn(up, false)
					f.right(f.write())
					t.Logf("right after %v", time.Since(began)-time.Hour)
				}
			})
		})
	}
}

// A reflector fails while watches are accepted in vain. That ends when one has lasted for a second,
// though nothing comes.
func TestWatchHasToLast(t *testing.T) {
	for name, ends := range map[string]error{"in order": nil, "broken": failure("eof", 0)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				s := &closures{breaker: new(Breaker), list: func(context.Context, metav1.ListOptions) (metav1.ListMeta, error) {
					return metav1.ListMeta{ResourceVersion: "5"}, nil
				}}
				watches, last := 0, make(chan struct{})
				s.watch = func(ctx context.Context, _ metav1.ListOptions) error {
					AttemptOf(ctx).Answered()
					AttemptOf(ctx).Accepted()
					if watches++; watches <= 1 { // two would lead to a list
						return ends
					}
					close(last)
					<-ctx.Done()
					return ctx.Err()
				}
				r, err := New[string](s, &sink[string]{}, Options{Tuning: Tuning{DisableWatchList: true, TrustVersions: true}, OnError: func(error) {}})
				if err != nil {
					t.Fatal(err)
				}
				ended := make(chan error)
				go func() { ended <- r.Run(ctx) }()
				<-last
				synctest.Wait()
				if r.Stats().Failing.Err == nil {
					t.Error("a watch that was accepted counts as a success")
				}
				time.Sleep(lastingAfter - time.Millisecond)
				synctest.Wait()
				if r.Stats().Failing.Err == nil {
					t.Error("the watch has not lasted yet")
				}
				time.Sleep(2 * time.Millisecond)
				synctest.Wait()
				if got := r.Stats().Failing.Err; got != nil {
					t.Errorf("the watch lasts, and Failing is %v", got)
				}
				cancel()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A source reports the acceptance of a watch twice. The failure after it goes on all the same.
func TestAcceptedTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := &closures{breaker: new(Breaker), list: func(context.Context, metav1.ListOptions) (metav1.ListMeta, error) {
			return metav1.ListMeta{ResourceVersion: "5"}, nil
		}}
		watches := 0
		s.watch = func(ctx context.Context, _ metav1.ListOptions) error {
			if watches++; watches > 2 {
				return failure("forbidden", 0)
			}
			AttemptOf(ctx).Answered()
			for range 2 {
				AttemptOf(ctx).Accepted()
			}
			if watches == 2 { // it has to last, and does not
				time.Sleep(lastingAfter / 2)
			}
			return failure("eof", 0)
		}
		r, err := New[string](s, &sink[string]{}, Options{Tuning: Tuning{DisableWatchList: true, TrustVersions: true}, OnError: func(error) {}})
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error)
		go func() { ended <- r.Run(ctx) }()
		for range 200 {
			time.Sleep(10 * time.Millisecond)
			if synctest.Wait(); r.Stats().Failing.Err == nil {
				t.Errorf("%d watches have failed, and Failing is zero", watches)
				break
			}
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// A call that is delayed is made once, or not at all, and stop waits for it.
func TestDelayed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		call := func() { time.Sleep(time.Second); calls++ }
		for lasts, want := range map[time.Duration]int{time.Second: 0, 5 * time.Second / 2: 1, 10 * time.Second: 1} {
			calls = 0
			d := later(2*time.Second, call)
			time.Sleep(lasts)
			d.stop()
			d.stop()
			if calls != want {
				t.Errorf("%d calls by a stop after %v, want %d", calls, lasts, want)
			}
		}
		(*delayed)(nil).stop()
	})
}
