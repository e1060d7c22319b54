package expire_test

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinform/kinform/expire"
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
