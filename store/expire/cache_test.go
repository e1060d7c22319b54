package expire_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/kinform/kinform/internal/memtest"
	"github.com/kinform/kinform/store/expire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// model is a cache that looks at everything each time.
type model struct {
	objects map[int]int
	until   map[int]time.Time
	expired int
}

func (m *model) sweep() {
	for key, at := range m.until {
		if !at.IsZero() && !time.Now().Before(at) {
			m.drop(key)
			m.expired++
		}
	}
}

func (m *model) drop(key int) { delete(m.objects, key); delete(m.until, key) }

func (m *model) set(key, object int, ttl time.Duration) {
	m.objects[key], m.until[key] = object, time.Time{}
	if ttl > 0 {
		m.until[key] = time.Now().Add(ttl)
	}
}

// After any operations a cache has the same objects as the model, with and without a janitor.
func TestAgainstModel(t *testing.T) {
	for seed := range uint64(8) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 7))
			janitor := seed%2 == 0
			expired := 0
			var mu sync.Mutex
			c := expire.New(expire.Options[int, int]{TTL: 40 * time.Millisecond, Janitor: janitor, OnExpired: func(int, int) {
				mu.Lock()
				defer mu.Unlock()
				expired++
			}})
			m := &model{objects: map[int]int{}, until: map[int]time.Time{}}
			for step := range 1000 {
				key, object := rng.IntN(200), rng.Int()
				m.sweep()
				switch rng.IntN(8) {
				case 0, 1:
					c.Set(key, object)
					m.set(key, object, 40*time.Millisecond)
				case 2:
					ttl := time.Duration(rng.IntN(100)-20) * time.Millisecond
					c.SetFor(key, object, ttl)
					m.set(key, object, ttl)
				case 3:
					got, ok := c.Delete(key)
					want, has := m.objects[key]
					if got != want || ok != has {
						t.Fatalf("seed %d step %d: Delete(%d) = %d, %v, want %d, %v", seed, step, key, got, ok, want, has)
					}
					m.drop(key)
				case 4:
					c.Sweep()
				case 5:
					time.Sleep(time.Duration(rng.IntN(10)) * time.Millisecond)
					synctest.Wait()
				case 6:
					if rng.IntN(20) == 0 {
						c.Replace(maps.All(map[int]int{1: object, 2: object}))
						*m = model{objects: map[int]int{}, until: map[int]time.Time{}, expired: m.expired}
						m.set(1, object, 40*time.Millisecond)
						m.set(2, object, 40*time.Millisecond)
					}
				}
				m.sweep()
				got, ok := c.Get(key)
				if want, has := m.objects[key]; got != want || ok != has {
					t.Fatalf("seed %d step %d: Get(%d) = %d, %v, want %d, %v", seed, step, key, got, ok, want, has)
				}
				if diff := cmp.Diff(m.objects, maps.Collect(c.All())); diff != "" {
					t.Fatalf("seed %d step %d: -model +cache:\n%s", seed, step, diff)
				}
				if janitor && c.Len() != len(m.objects) {
					t.Fatalf("seed %d step %d: %d objects held, want %d", seed, step, c.Len(), len(m.objects))
				}
			}
			c.Close()
			c.Sweep()
			if c.Len() != len(m.objects) {
				t.Errorf("seed %d: %d objects left, want %d", seed, c.Len(), len(m.objects))
			}
			if mu.Lock(); janitor && expired != m.expired {
				t.Errorf("seed %d: heard of %d expiries, want %d", seed, expired, m.expired)
			}
			mu.Unlock()
		})
	}
}

func TestJanitorSleepsWhenNothingIsToExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := expire.New(expire.Options[string, int]{Janitor: true})
		c.SetFor("a", 1, time.Second)
		c.Set("b", 2) // for ever
		start := time.Now()
		time.Sleep(time.Second)
		synctest.Wait()
		if c.Len() != 1 {
			t.Errorf("%d objects after %v, want 1", c.Len(), time.Since(start))
		}
		c.SetFor("a", 1, time.Hour)
		c.SetFor("c", 1, time.Minute) // the timer is moved to an earlier time
		time.Sleep(time.Minute)
		synctest.Wait()
		if c.Len() != 2 {
			t.Errorf("%d objects, want a and b", c.Len())
		}
		c.Close()
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if c.Len() != 2 {
			t.Error("a closed cache went on sweeping")
		}
		if _, ok := c.Get("a"); ok {
			t.Error("a closed cache returned what has expired")
		}
		c.Close()
	})
}

// OnExpired may use the cache, because it runs outside of the lock.
func TestOnExpiredMayUseTheCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c *expire.Cache[string, int]
		renewed := 0
		c = expire.New(expire.Options[string, int]{TTL: time.Second, Janitor: true, OnExpired: func(key string, n int) {
			if renewed++; renewed < 5 {
				c.Set(key, n+1)
			}
		}})
		c.Set("a", 0)
		time.Sleep(time.Minute)
		synctest.Wait()
		if renewed != 5 || c.Len() != 0 {
			t.Errorf("renewed %d times, %d left", renewed, c.Len())
		}
	})
}

func TestConcurrentUse(t *testing.T) {
	c := expire.New(expire.Options[int, int]{TTL: time.Microsecond, Janitor: true})
	defer c.Close()
	var wg sync.WaitGroup
	for n := range 4 {
		wg.Go(func() {
			for i := range 1000 {
				c.Set(i%17, n)
				c.Get(i % 13)
				c.Delete(i % 5)
				for range c.All() {
					break
				}
				c.Sweep()
			}
		})
	}
	wg.Wait()
}

func TestMemoryGoesBack(t *testing.T) {
	percent := memtest.Least(2, func() int64 {
		c := expire.New(expire.Options[int, int]{TTL: math.MaxInt64})
		before := memtest.Heap()
		for n := range 100_000 {
			c.Set(n, n)
		}
		full := memtest.Heap() - before
		for n := range 100_000 {
			c.Delete(n)
		}
		after := memtest.Heap() - before
		runtime.KeepAlive(c)
		return after * 100 / full
	})
	if percent > 2 {
		t.Errorf("%d%% of the memory is kept", percent)
	}
}

func Example() {
	tokens := expire.New(expire.Options[string, string]{TTL: time.Hour})
	tokens.Set("alice", "3f9a")
	tokens.SetFor("bob", "77c1", time.Nanosecond)
	time.Sleep(time.Microsecond)
	fmt.Println(tokens.Get("alice"))
	fmt.Println(tokens.Get("bob"))
	// Output:
	// 3f9a true
	//  false
}
