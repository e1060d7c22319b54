package queue

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// ledger checks the two promises about one key: one worker at a time, and no add without a later
// hand-out.
type ledger struct {
	busy  atomic.Int32
	added atomic.Int64 // counts before each add
	seen  atomic.Int64 // the count when the last hand-out began
	times atomic.Int64 // hand-outs
}

// begin and end frame the work on a key.
func (l *ledger) begin() bool {
	ok := l.busy.Add(1) == 1
	l.times.Add(1)
	l.seen.Store(l.added.Load())
	return ok
}

func (l *ledger) end() { l.busy.Add(-1) }

func stressKeys(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("tenant-%d/key-%d", i%7, i)
	}
	return keys
}

// TestExactlyOnce adds each of many keys once. 16 workers get each key exactly once, whatever they
// do.
func TestExactlyOnce(t *testing.T) {
	const n = 20_000
	q := New(Options[string]{})
	keys := stressKeys(n)
	var mu sync.Mutex
	times := make(map[string]int, n)
	stopped := make(chan error)
	go func() {
		stopped <- Run(t.Context(), q, RunOptions{Workers: 16}, func(_ context.Context, k string) error {
			mu.Lock()
			defer mu.Unlock()
			times[k]++
			return nil
		})
	}()
	var wg sync.WaitGroup
	for p := range 4 {
		wg.Go(func() {
			for i := p; i < n; i += 4 {
				q.Add(keys[i])
			}
		})
	}
	wg.Wait()
	if err := q.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
	for _, k := range keys {
		if times[k] != 1 {
			t.Fatalf("%s was handed out %d times", k, times[k])
		}
	}
	q.check(t)
}

// TestStress lets everybody do everything at once and then checks that no key was handed to two
// workers and no add went unseen. The invariants are checked all the time.
func TestStress(t *testing.T) {
	class := func(k string) string { return k[:8] }
	for name, opts := range map[string]Options[string]{
		"plain":    {},
		"timed":    {Timing: true},
		"classes":  {Class: class, Limiter: MaxWait[string]{Max: time.Millisecond}},
		"debounce": {Class: class, Debounce: 50 * time.Microsecond, Timing: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := New(opts)
			q.ageAfter = int64(10 * time.Microsecond)
			stress(t, q)
		})
	}
}

func stress(t *testing.T, q *Queue[string]) {
	keys := stressKeys(50)
	ledgers := make(map[string]*ledger, len(keys))
	for _, k := range keys {
		ledgers[k] = new(ledger)
	}
	var workers, producers, checker sync.WaitGroup
	for w := range 16 {
		workers.Go(func() { stressWorker(t, q, ledgers, w) })
	}
	ops := 4000
	if testing.Short() {
		ops = 500
	}
	for range 8 {
		producers.Go(func() {
			for range ops {
				k := keys[rand.IntN(len(keys))]
				stressAdd(q, k, ledgers[k])
			}
		})
	}
	stop := make(chan struct{})
	checker.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if err := q.verify(); err != nil {
				t.Error(err)
				return
			}
			q.Snapshot()
			q.Metrics()
		}
	})
	producers.Wait()
	close(stop)
	checker.Wait()
	if err := q.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	workers.Wait()
	q.check(t)
	for k, l := range ledgers {
		if l.seen.Load() != l.added.Load() {
			t.Errorf("%s: the last hand-out saw add %d of %d", k, l.seen.Load(), l.added.Load())
		}
	}
	if m := q.Metrics(); m.Depth != 0 || m.Running != 0 || m.Delayed != 0 || m.Waiting != 0 {
		t.Errorf("after the drain: %+v", m)
	}
}

// stressAdd adds in one of many ways. Only those that are not dropped at shutdown count as added.
func stressAdd(q *Queue[string], k string, l *ledger) {
	switch rand.IntN(10) {
	case 0:
		q.AddAfter(k, time.Duration(rand.IntN(100))*time.Microsecond)
	case 1:
		q.AddRateLimited(k)
	case 2:
		q.Forget(k)
	case 3:
		q.Cancel(k)
	case 4, 5:
		l.added.Add(1)
		q.AddWith(k, AddOptions{Priority: rand.IntN(20) - 10})
	default:
		l.added.Add(1)
		q.Add(k)
	}
}

// stressWorker gets with contexts that end at any moment, one key or several, and gives back by
// item or by key.
func stressWorker(t *testing.T, q *Queue[string], ledgers map[string]*ledger, w int) {
	for {
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rand.IntN(200))*time.Microsecond)
		items, err := q.GetBatch(ctx, nil, 1+w%3)
		cancel()
		if err == ErrShutDown {
			return
		}
		for _, it := range items {
			l := ledgers[it.Key]
			if !l.begin() {
				t.Errorf("%s runs twice", it.Key)
			}
			if rand.IntN(4) == 0 {
				time.Sleep(time.Duration(rand.IntN(50)) * time.Microsecond)
			}
			l.end()
			if w%2 == 0 && !it.Done() || w%2 == 1 && !q.Done(it.Key) {
				t.Errorf("Done of %s reported false", it.Key)
			}
		}
	}
}
