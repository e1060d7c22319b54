package deltafifo

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/kinform/kinform/internal/memtest"
	"github.com/kinform/kinform/internal/waittest"
)

// recorder is a function for Process that fails for some keys.
type recorder struct {
	keys  []int
	fails map[int]bool
}

func (r *recorder) process(key int, _ []Delta[int]) error {
	r.keys = append(r.keys, key)
	if r.fails[key] {
		return errFails
	}
	return nil
}

// want fails the test unless the keys so far, which it forgets, are these.
func (r *recorder) want(t *testing.T, keys ...int) {
	t.Helper()
	if !slices.Equal(r.keys, keys) {
		t.Errorf("got keys %v, want %v", r.keys, keys)
	}
	r.keys = nil
}

func TestProcessRetriesFailed(t *testing.T) {
	f := New[int, int](nil, Options{})
	must(t, f.Add(never, 1, 10, ""), f.Add(never, 2, 20, ""), f.Add(never, 3, 30, ""))
	r := &recorder{fails: map[int]bool{1: true, 3: true}}
	err := f.Process(t.Context(), r.process)
	r.want(t, 1, 2, 3)
	var failed *ProcessError[int]
	if !errors.As(err, &failed) || !slices.Equal(failed.Failed, []Failure[int]{{Key: 1, Err: errFails}, {Key: 3, Err: errFails}}) {
		t.Errorf("got error %v", err)
	}
	if msg := err.Error(); !strings.Contains(msg, "key 1: fails") || !strings.Contains(msg, "1 keys more") {
		t.Errorf("got message %q", msg)
	}
	if errors.Is(err, errFails) {
		t.Error("a failure can be taken for one of the queue's errors")
	}
	f.check(t)
	if f.inFlight != nil {
		t.Error("the batch is still in flight")
	}

	r.fails[3] = false
	must(t, f.Update(never, 3, 31, ""), f.Update(never, 2, 21, ""))
	err = f.Process(t.Context(), r.process)
	r.want(t, 1, 3, 2)
	if !errors.As(err, &failed) || err.Error() != "processing key 1: fails" {
		t.Errorf("got error %v", err)
	}
	r.fails[1] = false
	must(t, f.Process(t.Context(), r.process))
	r.want(t, 1)
}

// The function may use the queue, even to give back its own key, which is done once.
func TestProcessUsesQueue(t *testing.T) {
	f := New[int, int](nil, Options{})
	must(t, f.Add(never, 1, 10, ""))
	err := f.Process(t.Context(), func(key int, _ []Delta[int]) error {
		return errors.Join(f.Update(never, key, 11, ""), f.Requeue(key), errFails)
	})
	var failed *ProcessError[int]
	if !errors.As(err, &failed) || f.Len() != 2 {
		t.Errorf("got error %v, %d deltas pending", err, f.Len())
	}
	f.check(t)
}

func TestProcessStops(t *testing.T) {
	f := New[int, int](nil, Options{})
	must(t, f.Replace(never, Replacement[int, int]{Objects: objectsOf(keyedObject[int, int]{1, 10}, keyedObject[int, int]{2, 20}, keyedObject[int, int]{3, 30})}))
	r := &recorder{fails: map[int]bool{1: true}}
	if err := f.Process(never, r.process); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v", err)
	}
	r.want(t)
	ctx, cancel := context.WithCancel(t.Context())
	err := f.Process(ctx, func(key int, deltas []Delta[int]) error {
		if key == 2 {
			cancel()
		}
		return r.process(key, deltas)
	})
	r.want(t, 1, 2)
	var failed *ProcessError[int]
	if !errors.Is(err, context.Canceled) || !errors.As(err, &failed) || len(failed.Failed) != 1 {
		t.Errorf("got error %v", err)
	}
	f.check(t)
	wantSynced(t, f, false)
	must(t, f.Add(never, 4, 40, ""))
	r.fails = nil
	must(t, f.Process(t.Context(), r.process))
	r.want(t, 1, 3, 4)
	wantSynced(t, f, true)
}

// A panic, and the end of the goroutine, lose nothing.
func TestProcessIsLeft(t *testing.T) {
	for name, leave := range map[string]func(){
		"panic":  func() { panic("leave") },
		"Goexit": runtime.Goexit,
	} {
		f := New[int, int](nil, Options{})
		must(t, f.Replace(never, Replacement[int, int]{Objects: objectsOf(keyedObject[int, int]{1, 10}, keyedObject[int, int]{2, 20}, keyedObject[int, int]{3, 30})}))
		var wg sync.WaitGroup
		wg.Go(func() {
			defer func() { _ = recover() }()
			_ = f.Process(t.Context(), func(key int, _ []Delta[int]) error {
				if key == 2 {
					leave()
				}
				return nil
			})
			t.Errorf("%s: Process has returned", name)
		})
		wg.Wait()
		f.check(t)
		wantSynced(t, f, false)
		r := &recorder{}
		must(t, f.Process(t.Context(), r.process))
		r.want(t, 2, 3)
		wantSynced(t, f, true)
	}
}

// What fails for ever does not keep a closed queue from its end.
func TestProcessAfterClose(t *testing.T) {
	f := New[int, int](nil, Options{})
	must(t, f.Add(never, 1, 10, ""), f.Add(never, 2, 20, ""), f.Add(never, 3, 30, ""))
	ctx, cancel := context.WithCancel(t.Context())
	var failed *ProcessError[int]
	err := f.Process(ctx, func(key int, _ []Delta[int]) error {
		if key == 2 {
			f.Close()
			cancel()
		}
		return errFails
	})
	want := []Failure[int]{{Key: 1, Err: errFails}, {Key: 2, Err: errFails, Dropped: true}}
	if !errors.As(err, &failed) || !slices.Equal(failed.Failed, want) {
		t.Errorf("got error %v, want %v", err, want)
	}
	r := &recorder{fails: map[int]bool{1: true, 3: true}}
	if err := f.Process(t.Context(), r.process); !errors.As(err, &failed) || !failed.Failed[0].Dropped {
		t.Errorf("got error %v", err)
	}
	r.want(t, 1, 3) // what was given back before, and what was not reached
	if err := f.Process(t.Context(), r.process); !errors.Is(err, ErrClosed) {
		t.Errorf("got error %v", err)
	}
	r.want(t)
}

func TestProcessWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newWaitQueue(1)
		r := &recorder{}
		ctx, cancel := context.WithCancel(t.Context())
		process := waittest.Start(func() error { return q.Process(ctx, r.process) })
		process.Waits(t)
		cancel()
		process.Want(t, context.Canceled)
		process = waittest.Start(func() error { return q.Process(t.Context(), r.process) })
		q.add(t.Context(), 1).Want(t, nil)
		process.Want(t, nil)
		r.want(t, 1)
		process = waittest.Start(func() error { return q.Process(t.Context(), r.process) })
		process.Waits(t)
		q.Close()
		process.Want(t, ErrClosed)
	})
}

// Producers go on while a key is being processed: no lock is held.
func TestProcessHoldsNoLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newWaitQueue(1)
		q.add(t.Context(), 1).Want(t, nil)
		release := make(chan struct{})
		process := waittest.Start(func() error {
			return q.Process(t.Context(), func(int, []Delta[int]) error { <-release; return nil })
		})
		q.add(t.Context(), 2).Want(t, nil)
		waiting := q.add(t.Context(), 3)
		process.Waits(t)
		close(release)
		process.Want(t, nil)
		waiting.Waits(t) // for a Pop: what was processed is not what is pending
		q.pop(t.Context()).Want(t, nil)
		waiting.Want(t, nil)
	})
}

// An event that is processed at once allocates nothing.
func TestProcessAllocations(t *testing.T) {
	f := New[int, int](nil, Options{})
	process := func(int, []Delta[int]) error { return nil }
	ctx := t.Context()
	n := memtest.Allocs(100, func() {
		for key := range 100 {
			_ = f.Update(ctx, key, 1, "")
		}
		must(t, f.Process(ctx, process))
	})
	if n > 2 { // of a batch, not of a key
		t.Errorf("%g allocations for 100 keys", n)
	}
}
