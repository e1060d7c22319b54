package queue_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kinform/kinform/queue"
)

// keysOf says where the keys of any queue are, and why they wait.
func keysOf(q queue.Untyped) {
	s := q.SnapshotAny()
	say := func(state string, keys []queue.KeyStatus[any]) {
		for _, k := range keys {
			fmt.Println(k.Key, "is", state, "failures:", k.Failures)
		}
	}
	say("queued", s.Queued)
	say("delayed", s.Delayed)
	say("running", s.Running)
}

// A page shows what a queue has, and its numbers.
func ExampleQueue_Snapshot() {
	q := queue.New(queue.Options[string]{Name: "shops", Timing: true})
	q.Add("a")
	q.Add("b")
	q.AddAfter("c", time.Hour)
	var item queue.Item[string]
	item, err := q.Get(context.Background())
	fmt.Println(item.Key, err)
	keysOf(q.Untyped())
	item.Done()

	numbers := q.Metrics()
	waits := numbers.Latency
	fmt.Println("queued:", numbers.Depth, "delayed:", numbers.Delayed, "added:", numbers.Adds, "waited:", waits.Count())

	q.ShutDown()
	_, _ = q.Get(context.Background()) // b
	_, err = q.Get(context.Background())
	fmt.Println(errors.Is(err, queue.ErrShutDown))
	// Output:
	// a <nil>
	// b is queued failures: 0
	// c is delayed failures: 0
	// a is running failures: 0
	// queued: 1 delayed: 1 added: 2 waited: 1
	// true
}

// The function says by its error when its key comes again, and the queue counts the results.
func ExampleAgain() {
	q := queue.New(queue.Options[string]{})
	q.Add("certificate")
	q.ShutDown()
	err := queue.Run(context.Background(), q, queue.RunOptions{}, func(context.Context, string) error {
		return queue.Again(24 * time.Hour) // no failure: it is looked at once a day
	})
	results := q.Metrics().Results
	fmt.Println(results.Again, results.Failed, err)
	fmt.Println(errors.Is(queue.Run[string](context.Background(), nil, queue.RunOptions{}, nil), queue.ErrInvalid))
	// Output:
	// 1 0 <nil>
	// true
}

// patient is a limiter of one's own: the keys of a tenant that waits for us wait a minute.
type patient struct{ queue.Limiter[string] }

func (p patient) Delay(key string, failures int) time.Duration {
	if key == "free tier" {
		return time.Minute
	}
	return p.Limiter.Delay(key, failures)
}

// Some quick retries, then slow ones; all bounded.
func ExampleFastSlow() {
	var limiter queue.Limiter[string] = patient{queue.MaxWait[string]{
		Limiter: queue.FastSlow[string]{Fast: 100 * time.Millisecond, Attempts: 2, Slow: time.Hour},
		Max:     10 * time.Minute,
	}}
	for failures := range 3 {
		fmt.Println(limiter.Delay("paid", failures))
	}
	fmt.Println(limiter.Delay("free tier", 0))
	// Output:
	// 100ms
	// 100ms
	// 10m0s
	// 1m0s
}
