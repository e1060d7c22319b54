package queue

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"
)

// The tests in this file answer cases of client-go's util/workqueue tests that the others do not;
// docs/parity.md says which.

// stops are the two ways to shut down; both must hand out what is queued.
var stops = map[string]func(t *testing.T, q *Queue[int]){
	"ShutDown": func(_ *testing.T, q *Queue[int]) { q.ShutDown() },
	"Drain": func(t *testing.T, q *Queue[int]) {
		if err := q.Drain(t.Context()); err != nil {
			t.Error(err)
		}
	},
}

func TestProducersAndConsumers(t *testing.T) {
	for name, stop := range stops {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := New(Options[int]{})
				var producers, consumers sync.WaitGroup
				for i := range 50 {
					producers.Go(func() {
						for range 50 {
							q.Add(i)
							time.Sleep(time.Millisecond)
						}
					})
				}
				for range 10 {
					consumers.Go(func() {
						for {
							it, err := q.Get(t.Context())
							if err != nil {
								return
							}
							if it.Key < 0 {
								t.Error("got a key that was added after shutdown")
							}
							time.Sleep(3 * time.Millisecond)
							it.Done()
						}
					})
				}
				producers.Wait()
				stop(t, q)
				q.Add(-1)
				consumers.Wait()
				if q.Len() != 0 {
					t.Errorf("%d left", q.Len())
				}
				q.check(t)
			})
		})
	}
}

func TestReaddedWhileRunning(t *testing.T) {
	for name, stop := range stops {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := New(Options[int]{})
				var times [50]atomic.Int32
				var consumers sync.WaitGroup
				for range 10 {
					consumers.Go(func() {
						for {
							it, err := q.Get(t.Context())
							if err != nil {
								return
							}
							if times[it.Key].Add(1) < 3 {
								q.Add(it.Key)
							}
							it.Done()
						}
					})
				}
				for i := range times {
					q.Add(i)
				}
				synctest.Wait()
				stop(t, q)
				consumers.Wait()
				for i := range times {
					if n := times[i].Load(); n != 3 {
						t.Errorf("%d was handed out %d times, want 3", i, n)
					}
				}
			})
		})
	}
}

func TestCollapseWhileRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options[int]{})
		q.Add(1)
		first := mustGet(t, q)
		q.Add(1)
		q.Add(1)
		got := getters(t.Context(), q, 1)
		select {
		case k := <-got:
			t.Fatalf("the other worker got %v while it runs", k)
		default:
		}
		first.Done()
		if k := <-got; k != 1 || q.Len() != 0 {
			t.Errorf("got %v and %d more, want 1 and none", k, q.Len())
		}
	})
}

func TestDrainWaitsForRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options[int]{})
		q.Add(1)
		q.Add(2)
		one, two := mustGet(t, q), mustGet(t, q)
		drained := make(chan error, 1)
		go func() { drained <- q.Drain(t.Context()) }()
		for _, it := range []Item[int]{one, two} {
			synctest.Wait()
			if len(drained) > 0 {
				t.Fatal("drained while a key runs")
			}
			if _, err := q.Get(t.Context()); err != ErrShutDown {
				t.Fatalf("Get = %v, want ErrShutDown", err)
			}
			it.Done()
		}
		if err := <-drained; err != nil {
			t.Error(err)
		}
	})
}

func TestShutDownDoesNotWait(t *testing.T) {
	q := New(Options[int]{})
	q.Add(1)
	q.Add(2)
	it := mustGet(t, q)
	q.ShutDown() // returns, with one running and one queued
	mustGet(t, q).Done()
	it.Done()
}

// client-go's drain returns although a queued key has not been taken (and for a moment so does its
// dirty one).
func TestDrainWaitsForQueuedAndDirty(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options[int]{})
		q.Add(1)
		q.Add(2)
		it := mustGet(t, q)
		q.Add(1)
		drained := make(chan error, 1)
		go func() { drained <- q.Drain(t.Context()) }()
		synctest.Wait()
		it.Done() // 1 goes behind 2
		for _, want := range []int{2, 1} {
			synctest.Wait()
			if len(drained) > 0 {
				t.Fatalf("drained before %d", want)
			}
			if it := mustGet(t, q); it.Key != want || !it.Done() {
				t.Fatalf("got %d, want %d", it.Key, want)
			}
		}
		if err := <-drained; err != nil {
			t.Error(err)
		}
		if _, err := q.Get(t.Context()); err != ErrShutDown {
			t.Errorf("Get = %v, want ErrShutDown", err)
		}
	})
}

// A key that was given back must not be kept alive by the queue.
func TestKeysAreCollected(t *testing.T) {
	q := New(Options[string]{})
	collected := make(chan struct{})
	func() {
		k := strings.Repeat("hello", 20)
		runtime.AddCleanup(unsafe.StringData(k), func(c chan struct{}) { close(c) }, collected)
		q.Add(k)
		it, _ := q.Get(context.Background())
		it.Done()
	}()
	for i := 0; ; i++ {
		runtime.GC()
		select {
		case <-collected:
			runtime.KeepAlive(q)
			return
		default:
		}
		if i > 100 {
			t.Fatal("the key was not collected")
		}
		runtime.Gosched()
	}
}

func TestDelaysInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options[string]{})
		start := time.Now()
		q.AddAfter("first", time.Second)
		q.AddAfter("second", 500*time.Millisecond)
		q.AddAfter("third", 250*time.Millisecond)
		time.Sleep(2 * time.Second) // all due by now, in the order of their times
		synctest.Wait()
		var got []string
		for q.Len() > 0 {
			k, _ := arrival(t, q, start)
			got = append(got, k)
		}
		if want := []string{"third", "second", "first"}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		time.Sleep(10 * time.Second)
		if q.Len() != 0 {
			t.Error("something came again")
		}
		// One that fires early must not hold up, or be held up by, one that is added later.
		start = time.Now()
		q.AddAfter("first", time.Second)
		q.AddAfter("second", 50*time.Millisecond)
		if k, at := arrival(t, q, start); k != "second" || at != 50*time.Millisecond {
			t.Errorf("%s came after %v", k, at)
		}
		q.AddAfter("third", 2*time.Second)
		for _, want := range []struct {
			key string
			at  time.Duration
		}{{"first", time.Second}, {"third", 2050 * time.Millisecond}} {
			if k, at := arrival(t, q, start); k != want.key || at != want.at {
				t.Errorf("%s came after %v, want %+v", k, at, want)
			}
		}
	})
}

// TestMetricsFollowClientGo is the life of one key with the numbers that client-go's metrics show
// at each point.
func TestMetricsFollowClientGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const us = time.Microsecond
		q := New(Options[string]{Timing: true})
		expect := func(point string, adds uint64, depth int, latency, work time.Duration) {
			t.Helper()
			m := q.Metrics()
			if m.Adds != adds || m.Depth != depth || m.Latency.Sum != latency || m.Work.Sum != work {
				t.Errorf("%s: %d adds, depth %d, latency %v, work %v", point, m.Adds, m.Depth, m.Latency.Sum, m.Work.Sum)
			}
		}
		q.Add("foo")
		expect("added", 1, 1, 0, 0)
		time.Sleep(50 * us)
		it := mustGet(t, q)
		expect("handed out", 1, 0, 50*us, 0)
		for range 5 {
			q.Add("foo")
		}
		expect("added while it runs", 2, 1, 50*us, 0)
		time.Sleep(25 * us)
		it.Done()
		expect("done", 2, 1, 50*us, 25*us)
		it = mustGet(t, q)
		expect("handed out again", 2, 0, 75*us, 25*us)
		time.Sleep(time.Millisecond)
		if m := q.Metrics(); m.Unfinished != time.Millisecond || m.LongestRunning != time.Millisecond {
			t.Errorf("unfinished %v, longest %v, want 1ms", m.Unfinished, m.LongestRunning)
		}
		it.Done()
		expect("done again", 2, 0, 75*us, 1025*us)
	})
}
