package store

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// waiting starts f and returns a function that says whether, and how, it has ended.
func waiting(f func() error) func() (bool, error) {
	ch := make(chan error, 1)
	go func() { ch <- f() }()
	return func() (bool, error) {
		synctest.Wait()
		select {
		case err := <-ch:
			return true, err
		default:
			return false, nil
		}
	}
}

func expect(t *testing.T, what string, ended func() (bool, error), want bool, wantErr error) {
	t.Helper()
	if done, err := ended(); done != want || !errors.Is(err, wantErr) {
		t.Fatalf("%s: ended %v with %v, want %v with %v", what, done, err, want, wantErr)
	}
}

func (r *Reader[K, T]) noWaits(t *testing.T) {
	t.Helper()
	if !r.waits.all.idle() || r.waits.keys != nil || r.waits.all.versions != nil {
		t.Error("a wait that ended is still registered")
	}
}

func TestWaitForRV(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, ^uint32(0), Options[*item]{})
		ctx := t.Context()
		if err := s.WaitForRV(ctx, ""); err != nil {
			t.Error(err)
		}
		if err := s.WaitForRV(ctx, "opaque"); !errors.Is(err, ErrResourceVersion) {
			t.Errorf("an opaque version: %v", err)
		}
		w10 := waiting(func() error { return s.WaitForRV(ctx, "10") })
		w11 := waiting(func() error { return s.Reader().WaitForRV(ctx, "11") })
		expect(t, "before", w10, false, nil)
		_ = s.Commit("9", nil)
		expect(t, "at 9", w10, false, nil)
		_ = s.Commit("10", nil)
		expect(t, "at 10", w10, true, nil)
		expect(t, "11 at 10", w11, false, nil)
		_ = s.Replace(nil, "100")
		expect(t, "11 at 100", w11, true, nil)
		if err := s.WaitForRV(ctx, "99"); err != nil {
			t.Error(err)
		}
		s.noWaits(t)
	})
}

func TestWaitForKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, ^uint32(0), Options[*item]{})
		ctx := t.Context()
		it := newItem(1)
		calls := 0
		exists := waiting(func() error {
			return s.WaitFor(ctx, it.id, func(got *item, ok bool) bool {
				calls++
				// The predicate may read the store, and even write to it.
				return s.Len() > 0 && ok && got == it
			})
		})
		expect(t, "before", exists, false, nil)
		mustSet(t, s, newItem(2), newItem(3))
		expect(t, "others", exists, false, nil)
		if calls != 1 {
			t.Errorf("asked %d times, though its key was not written", calls)
		}
		mustSet(t, s, it)
		expect(t, "written", exists, true, nil)

		gone := func() func() (bool, error) {
			return waiting(func() error {
				return s.WaitFor(ctx, it.id, func(_ *item, ok bool) bool { return !ok })
			})
		}
		w := gone()
		expect(t, "still there", w, false, nil)
		_, _, _ = s.Delete(it.id)
		expect(t, "deleted", w, true, nil)

		mustSet(t, s, it)
		w = gone()
		expect(t, "there again", w, false, nil)
		_ = s.Replace(nil, "")
		expect(t, "replaced", w, true, nil)

		mustSet(t, s, it)
		w = gone()
		expect(t, "there again", w, false, nil)
		ops := []Op[id, *item]{{Key: it.id, Delete: true}}
		for n := range 3000 { // a commit made aside
			o := newItem(n + 10)
			ops = append(ops, Op[id, *item]{Key: o.id, Object: o})
		}
		_ = s.Commit("", ops)
		expect(t, "deleted in a large commit", w, true, nil)
		s.noWaits(t)
	})
}

func TestWaitsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, ^uint32(0), Options[*item]{})
		never := func(*item, bool) bool { return false }
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		why := errors.New("why")
		caused, cause := context.WithCancelCause(t.Context())
		timed := waiting(func() error { return s.WaitFor(ctx, id{"a", 1}, never) })
		stopped := waiting(func() error { return s.WaitForRV(caused, "5") })
		closed := waiting(func() error { return s.WaitFor(t.Context(), id{"a", 1}, never) })
		closedRV := waiting(func() error { return s.WaitForRV(t.Context(), "5") })
		cause(why)
		expect(t, "cause", stopped, true, why)
		expect(t, "in time", timed, false, nil)
		time.Sleep(time.Minute)
		expect(t, "timed out", timed, true, context.DeadlineExceeded)
		expect(t, "open", closed, false, nil)
		s.Close()
		expect(t, "closed", closed, true, ErrClosed)
		expect(t, "closed", closedRV, true, ErrClosed)
		if err := s.WaitForRV(t.Context(), "5"); !errors.Is(err, ErrClosed) {
			t.Errorf("a wait that begins after Close: %v", err)
		}
		s.noWaits(t)
	})
}

// TestCloseWakesAll closes stores with many waits in the act of looking, to catch one
// that is woken before it can see why and then sleeps for ever.
func TestCloseWakesAll(t *testing.T) {
	for range max(steps(2000), 100) {
		s := newStore(t, ^uint32(0), Options[*item]{})
		errs := make(chan error, 6)
		for n := range cap(errs) {
			go func() {
				if n%2 == 0 {
					errs <- s.WaitForRV(t.Context(), "5")
					return
				}
				errs <- s.WaitFor(t.Context(), id{"a", n}, func(*item, bool) bool { return false })
			}()
		}
		s.Close()
		for range cap(errs) {
			if err := <-errs; !errors.Is(err, ErrClosed) {
				t.Fatal(err)
			}
		}
	}
}

// TestFrozenWaits checks that waits on a state that never changes return at once.
func TestFrozenWaits(t *testing.T) {
	s := newStore(t, ^uint32(0), Options[*item]{})
	mustSet(t, s, newItem(1))
	_ = s.Commit("5", nil)
	frozen := s.Freeze()
	_ = s.Commit("7", nil)
	there := func(_ *item, ok bool) bool { return ok }
	for what, c := range map[string]struct{ got, want error }{
		"version reached":     {frozen.WaitForRV(t.Context(), "5"), nil},
		"version not reached": {frozen.WaitForRV(t.Context(), "7"), ErrClosed},
		"key there":           {frozen.WaitFor(t.Context(), newItem(1).id, there), nil},
		"key not there":       {frozen.WaitFor(t.Context(), newItem(2).id, there), ErrClosed},
	} {
		if !errors.Is(c.got, c.want) {
			t.Errorf("%s: %v, want %v", what, c.got, c.want)
		}
	}
	if err := s.WaitForRV(t.Context(), "7"); err != nil {
		t.Errorf("the store itself: %v", err)
	}
	frozen.noWaits(t)
}

// TestEndWaits: a writer finds out that somebody waits, and can end the waits.
func TestEndWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, ^uint32(0), Options[*item]{})
		ctx, no := t.Context(), errors.New("no")
		awaited := func(when string, ch <-chan struct{}, want bool) {
			t.Helper()
			synctest.Wait()
			select {
			case <-ch:
			default:
				if want {
					t.Errorf("%s: nobody waits", when)
				}
				return
			}
			if !want {
				t.Errorf("%s: somebody waits", when)
			}
		}
		first, second := s.Awaited(), s.Awaited()
		awaited("before", first, false)
		_ = s.WaitForRV(ctx, "") // is there
		awaited("after a wait for what is there", first, false)
		version := waiting(func() error { return s.WaitForRV(ctx, "10") })
		awaited("with a wait", first, true)
		awaited("with a wait", second, true)
		awaited("with a wait", s.Awaited(), true)
		never := func(*item, bool) bool { return false }
		object := waiting(func() error { return s.Reader().WaitFor(ctx, id{"1", 1}, never) })
		s.EndWaits(no)
		expect(t, "a version", version, true, no)
		expect(t, "an object", object, true, no)
		expect(t, "a later wait", waiting(func() error { return s.WaitFor(ctx, id{"1", 1}, never) }), true, no)
		_ = s.Commit("9", nil)
		expect(t, "what is there", waiting(func() error { return s.WaitForRV(ctx, "9") }), true, nil)
		s.EndWaits(nil)
		third := s.Awaited()
		awaited("afterwards", third, false)
		object = waiting(func() error { return s.WaitFor(ctx, id{"1", 1}, never) })
		expect(t, "afterwards", object, false, nil)
		awaited("afterwards", third, true)
		s.Close()
		s.EndWaits(nil)
		expect(t, "closed", object, true, ErrClosed)
		expect(t, "after closing", waiting(func() error { return s.WaitForRV(ctx, "10") }), true, ErrClosed)
		s.noWaits(t)
	})
}
