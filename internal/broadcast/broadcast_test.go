package broadcast

import (
	"sync"
	"testing"
	"testing/synctest"
)

// TestSignal has waiters of each round, which the round's Send wakes and no other.
func TestSignal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var s Signal
		var woken [3]int
		s.Send() // nobody waits
		for round := range woken {
			for range 5 {
				mu.Lock()
				changed := s.Wait()
				mu.Unlock()
				go func() {
					<-changed
					mu.Lock()
					defer mu.Unlock()
					woken[round]++
				}()
			}
			synctest.Wait()
			if woken[round] != 0 {
				t.Errorf("round %d: %d are awake before Send", round, woken[round])
			}
			mu.Lock()
			s.Send()
			mu.Unlock()
			synctest.Wait()
			if woken[round] != 5 {
				t.Errorf("round %d: %d are awake", round, woken[round])
			}
		}
	})
}

// TestIdleSignalAllocatesNothing: what nobody waits for costs no channel.
func TestIdleSignalAllocatesNothing(t *testing.T) {
	var s Signal
	if n := testing.AllocsPerRun(10, s.Send); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
