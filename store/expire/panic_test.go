package expire_test

import (
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinform/kinform/store/expire"
)

// A panic of OnExpired in the janitor's goroutine is reported, and the janitor goes on: with
// what expired at the same time, and after.
func TestPanicInTheJanitor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cause := errors.New("no")
		var mu sync.Mutex // the timer's goroutines do not wait for each other
		var heard []error
		told := 0
		c := expire.New(expire.Options[int, int]{
			TTL: time.Second, Janitor: true,
			OnExpired: func(key, _ int) {
				mu.Lock()
				defer mu.Unlock()
				if told++; key == 1 {
					panic(cause)
				}
			},
			OnError: func(err error) {
				mu.Lock()
				defer mu.Unlock()
				heard = append(heard, err)
				panic("OnError too")
			},
		})
		defer c.Close()
		for key := range 3 {
			c.Set(key, 0)
		}
		time.Sleep(2 * time.Second)
		c.Set(4, 0)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		if told != 4 || c.Len() != 0 {
			t.Errorf("told of %d objects, want 4; %d left", told, c.Len())
		}
		var panicked *expire.PanicError
		if len(heard) != 1 || !errors.As(heard[0], &panicked) || panicked.Key != "1" || !errors.Is(heard[0], cause) {
			t.Errorf("OnError heard %v", heard)
		}
	})
}

// All expired objects are delivered, even if OnExpired ends its goroutine, or the loop of Sweep
// by a panic, before the last of them.
func TestOnExpiredThatDoesNotReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, janitor := range []bool{false, true} {
			var mu sync.Mutex
			var told []int
			var heard []error
			c := expire.New(expire.Options[int, int]{
				TTL: time.Second, Janitor: janitor,
				OnExpired: func(key, _ int) {
					mu.Lock()
					defer mu.Unlock()
					if told = append(told, key); key%2 == 0 {
						runtime.Goexit()
					} else if !janitor {
						panic("no")
					}
				},
				OnError: func(err error) {
					mu.Lock()
					defer mu.Unlock()
					heard = append(heard, err)
				},
			})
			for key := range 6 {
				c.Set(key, 0)
			}
			if !janitor {
				time.Sleep(2 * time.Second)
				go func() {
					defer func() { _ = recover() }()
					c.Sweep()
				}()
			}
			time.Sleep(2 * time.Second)
			synctest.Wait()
			mu.Lock()
			slices.Sort(told)
			if !slices.Equal(told, []int{0, 1, 2, 3, 4, 5}) {
				t.Errorf("janitor %t: told of %v", janitor, told)
			}
			if want := map[bool]int{true: 3}[janitor]; len(heard) != want {
				t.Errorf("janitor %t: OnError heard %v", janitor, heard)
			}
			mu.Unlock()
			c.Close()
		}
	})
}
