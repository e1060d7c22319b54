package queue

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/internal/longtest"
	"github.com/kinform/kinform/internal/memtest"
)

// needHeap skips the test where the size of the heap says nothing.
func needHeap(t *testing.T) {
	if memtest.Race {
		t.Skip("the race detector allocates too")
	}
}

// idleLimit is the largest memory of a queue without keys, before and after a burst.
const idleLimit = 500

// odds is the memory that the runtime may allocate meanwhile: goroutines, timers, its own tables.
// It is little beside the 17 MB of the burst, and the least of several bursts counts. checkBare
// checks that the queue itself keeps nothing.
const odds = 64 << 10

// checkBare fails the test when an empty queue holds on to memory other than its own struct and
// parked waiters.
func checkBare[K comparable](t *testing.T, q *Queue[K]) {
	t.Helper()
	q.mu.Lock()
	defer q.mu.Unlock()
	s, r := &q.store, &q.ready
	if s.table.slots != nil || s.free != nil || s.slab != nil || r.levels != nil || r.base.fair != nil ||
		q.pending[delayed].slots != nil || q.pending[held].slots != nil {
		t.Errorf("memory is kept: %d slots, free %v, %d of a slab, %d levels, %d and %d timers", len(s.table.slots),
			s.free != nil, len(s.slab), len(r.levels), cap(q.pending[delayed].slots), cap(q.pending[held].slots))
	}
}

func TestIdleQueueIsSmall(t *testing.T) {
	needHeap(t)
	const n = 1000
	goroutines := runtime.NumGoroutine()
	queues := make([]*Queue[types.NamespacedName], n)
	per := memtest.Least(idleLimit, func() int64 {
		clear(queues)
		before := memtest.Heap()
		for i := range queues {
			queues[i] = New(Options[types.NamespacedName]{})
		}
		return (memtest.Heap() - before) / n
	})
	t.Logf("%d bytes per idle queue, the struct has %d", per, unsafe.Sizeof(*queues[0]))
	if per > idleLimit {
		t.Errorf("an idle queue takes %d bytes", per)
	}
	if more := runtime.NumGoroutine() - goroutines; more > 0 {
		t.Errorf("%d goroutines for idle queues", more)
	}
	runtime.KeepAlive(queues)
}

func TestMemoryAfterBurst(t *testing.T) {
	needHeap(t)
	keys := benchKeys(100_000)
	for name, add := range map[string]func(q *Queue[types.NamespacedName], k types.NamespacedName, i int){
		"added":   func(q *Queue[types.NamespacedName], k types.NamespacedName, _ int) { q.Add(k) },
		"delayed": func(q *Queue[types.NamespacedName], k types.NamespacedName, i int) { q.AddAfter(k, time.Duration(i)) },
		"prioritised": func(q *Queue[types.NamespacedName], k types.NamespacedName, i int) {
			q.AddWith(k, AddOptions{Priority: i % 100})
		},
	} {
		t.Run(name, func(t *testing.T) {
			left := memtest.Least(odds, func() int64 {
				// No retry comes before its Cancel, however long that takes.
				q := New(Options[types.NamespacedName]{Limiter: Exponential[types.NamespacedName]{Base: time.Hour, Max: time.Hour}})
				before := memtest.Heap()
				for i, k := range keys {
					add(q, k, i)
				}
				full := memtest.Heap() - before
				for range keys {
					it, err := q.Get(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					q.AddRateLimited(it.Key)
					q.Forget(it.Key)
					q.Cancel(it.Key)
					it.Done()
				}
				left := memtest.Heap() - before
				t.Logf("%d bytes per key, %d bytes left in all", full/int64(len(keys)), left)
				checkBare(t, q)
				q.check(t)
				return left
			})
			if left > odds {
				t.Errorf("%d bytes are left after the burst", left)
			}
		})
	}
}

// A queue that keeps a few keys of a burst must shrink too.
func TestMemoryWithSurvivors(t *testing.T) {
	needHeap(t)
	keys := benchKeys(100_000)
	percent := memtest.Least(5, func() int64 {
		before := memtest.Heap()
		q := New(Options[types.NamespacedName]{})
		for i, k := range keys {
			if i%1000 == 0 {
				q.AddAfter(k, time.Hour)
			} else {
				q.Add(k)
			}
		}
		full := memtest.Heap() - before
		for q.Len() > 0 {
			mustGet(t, q).Done()
		}
		left := memtest.Heap() - before
		t.Logf("%d bytes in the burst, %d left with 100 keys", full, left)
		q.check(t)
		q.ShutDown()
		return left * 100 / full
	})
	if percent > 5 {
		t.Errorf("%d%% of the memory is left for 0.1%% of the keys", percent)
	}
	runtime.KeepAlive(keys)
}

// Thousands of classes leave nothing behind either, with and without a key that stays.
func TestMemoryAfterManyClasses(t *testing.T) {
	needHeap(t)
	keys := benchKeys(100_000)
	for name, stays := range map[string]bool{"all gone": false, "one stays": true} {
		t.Run(name, func(t *testing.T) {
			left := memtest.Least(odds, func() int64 {
				q := New(Options[types.NamespacedName]{Class: func(k types.NamespacedName) string { return k.Name }})
				before := memtest.Heap()
				for i, k := range keys {
					if stays && i == len(keys)/2 {
						q.AddAfter(k, time.Hour)
					} else {
						q.AddWith(k, AddOptions{Priority: i % 2})
					}
				}
				full := memtest.Heap() - before
				for q.Len() > 0 {
					mustGet(t, q).Done()
				}
				left := memtest.Heap() - before
				t.Logf("%d bytes in the burst, %d left", full, left)
				q.check(t)
				q.ShutDown()
				return left
			})
			if left > odds {
				t.Errorf("%d bytes are left", left)
			}
		})
	}
	runtime.KeepAlive(keys)
}

// Nor do thousands of priorities, when some keys stay.
func TestMemoryAfterManyPriorities(t *testing.T) {
	q := New(Options[int]{})
	q.AddAfter(-1, time.Hour)
	for p := range 3_000 {
		q.AddWith(p, AddOptions{Priority: p})
	}
	for q.Len() > 0 {
		mustGet(t, q).Done()
	}
	if c := cap(q.ready.levels); c > keepTimers {
		t.Errorf("room for %d levels is kept", c)
	}
	q.check(t)
	q.ShutDown()
}

// A million delays take bounded memory.
func TestMillionDelays(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	needHeap(t)
	n := longtest.N(200_000, 1_000_000)
	var texts strings.Builder
	for i := range n {
		fmt.Fprintf(&texts, "%08d", i)
	}
	text := texts.String() // of all keys, so that each takes 16 bytes
	left := memtest.Least(odds, func() int64 {
		before := memtest.Heap()
		q := New(Options[string]{})
		for i := range n {
			q.AddAfter(text[8*i:8*i+8], time.Hour+time.Duration(i*7919%n))
		}
		per := (memtest.Heap() - before) / int64(n)
		t.Logf("%d bytes per delayed key of 16 bytes", per)
		if per > 250 {
			t.Errorf("%d bytes per delayed key", per)
		}
		q.ShutDown()
		checkBare(t, q)
		left := memtest.Heap() - before
		runtime.KeepAlive(text)
		q.check(t)
		return left
	})
	if left > odds {
		t.Errorf("%d bytes are left after shutdown", left)
	}
}

func TestSteadyStateDoesNotAllocate(t *testing.T) {
	keys := benchKeys(100)
	q := New(Options[types.NamespacedName]{Timing: true, Limiter: Exponential[types.NamespacedName]{Base: time.Hour, Max: time.Hour}})
	i := 0
	cycle := func() {
		k := keys[i%len(keys)]
		i++
		q.Add(k)
		q.AddWith(k, AddOptions{Priority: i % 3})
		q.AddAfter(k, time.Hour)
		it, _ := q.Get(t.Context())
		q.AddRateLimited(it.Key)
		it.Done()
		q.Forget(k)
		q.Cancel(k)
	}
	for range 1000 {
		cycle()
	}
	if n := memtest.Allocs(1000, cycle); n > 0 {
		t.Errorf("%v allocations per cycle", n)
	}
	q.ShutDown()
}
