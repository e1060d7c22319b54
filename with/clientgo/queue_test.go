package clientgo_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/kinform/kinform/queue"
	"github.com/kinform/kinform/with/clientgo"
)

// TestQueue: random calls have the same results as with client-go's queue.
func TestQueue(t *testing.T) {
	for seed := range uint64(50) {
		synctest.Test(t, func(t *testing.T) {
			ours := clientgo.Queue(queue.New(queue.Options[string]{}))
			stock := workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](5*time.Millisecond, 1000*time.Second))
			rng := rand.New(rand.NewPCG(seed, 1))
			held := map[string]bool{}
			for n := range 200 {
				key := fmt.Sprint(rng.IntN(5))
				step := fmt.Sprint(rng.IntN(8), " ", key)
				both := func(call func(workqueue.TypedRateLimitingInterface[string]) any) {
					t.Helper()
					got, want := call(ours), call(stock)
					synctest.Wait()
					if got != want || ours.Len() != stock.Len() || ours.NumRequeues(key) != stock.NumRequeues(key) || ours.ShuttingDown() != stock.ShuttingDown() {
						t.Fatalf("seed %d, call %d, %s: %v, length %d, retries %d; client-go: %v, %d, %d", seed, n, step,
							got, ours.Len(), ours.NumRequeues(key), want, stock.Len(), stock.NumRequeues(key))
					}
				}
				type calls = workqueue.TypedRateLimitingInterface[string]
				switch step[0] {
				case '0':
					both(func(q calls) any { q.Add(key); return nil })
				case '1':
					d := time.Duration(n+1) * time.Millisecond // no two at once
					both(func(q calls) any { q.AddAfter(key, d); return nil })
				case '2':
					both(func(q calls) any { q.AddRateLimited(key); return nil })
					time.Sleep(time.Hour) // delays that end at the same time have no order in client-go
				case '3':
					both(func(q calls) any { q.Forget(key); return nil })
				case '4', '5':
					if stock.Len() > 0 {
						both(func(q calls) any {
							got, shutdown := q.Get()
							held[got] = true
							return fmt.Sprint(got, shutdown)
						})
					}
				case '6':
					if held[key] {
						delete(held, key)
						both(func(q calls) any { q.Done(key); return nil })
					}
				case '7':
					time.Sleep(time.Duration(rng.IntN(300)) * time.Millisecond)
				}
			}
			for _, q := range []workqueue.TypedRateLimitingInterface[string]{ours, stock} {
				drained := make(chan struct{})
				go func() { q.ShutDownWithDrain(); close(drained) }()
				synctest.Wait()
				for key := range held {
					q.Done(key)
				}
				for {
					key, shutdown := q.Get()
					if shutdown {
						break
					}
					q.Done(key)
				}
				<-drained
				q.ShutDown()
			}
		})
	}
}
