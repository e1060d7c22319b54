package controller

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestTurns: each call that returns nil is covered by work that began after it and has succeeded. Calls do not
// wait for more than the next turn, and cost one call of work in lookAfter.
func TestTurns(t *testing.T) {
	const takes, within = 5 * lookAfter, 20 * time.Second
	for _, fails := range []bool{false, true} {
		for seed := range uint64(20) {
			synctest.Test(t, func(t *testing.T) {
				random := rand.New(rand.NewPCG(seed, 1))
				all := turns{gate: make(chan struct{}, 1)}
				var mu sync.Mutex
				var works []time.Time // when they began; of those that succeeded
				began := 0
				var calls sync.WaitGroup
				for range 100 {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					after, failure := time.Duration(random.Int64N(int64(within))), error(nil)
					switch {
					case fails && random.IntN(3) == 0:
						time.AfterFunc(after+time.Duration(random.Int64N(int64(takes))), cancel)
					case fails && random.IntN(3) == 0:
						failure = errors.New("work failed")
					}
					calls.Go(func() {
						time.Sleep(after)
						called := time.Now()
						err := all.do(ctx, func() error {
							mu.Lock()
							began++
							mu.Unlock()
							at := time.Now()
							time.Sleep(takes)
							mu.Lock()
							defer mu.Unlock()
							if failure == nil && ctx.Err() == nil {
								works = append(works, at)
								return nil
							}
							return errors.Join(failure, context.Cause(ctx))
						})
						took := time.Since(called)
						mu.Lock()
						defer mu.Unlock()
						covered := false
						for _, at := range works {
							covered = covered || !at.Before(called)
						}
						if err == nil && !covered || err != nil && failure == nil && ctx.Err() == nil {
							t.Errorf("seed %d: %v, covered: %t", seed, err, covered)
						}
						if !fails && took > lookAfter+takes {
							t.Errorf("seed %d: took %v", seed, took)
						}
					})
				}
				calls.Wait()
				if most := int(within/lookAfter) + 2; !fails && began > most {
					t.Errorf("seed %d: %d calls of work, want %d at most", seed, began, most)
				}
			})
		}
	}
}
