package queue_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/queue"
)

// A worker loop: keys go in, a function handles them, and what it returns says what becomes of the
// key.
func ExampleRun() {
	q := queue.New(queue.Options[types.NamespacedName]{
		OnError: func(key types.NamespacedName, err error) { fmt.Println(key, err) },
	})
	q.Add(types.NamespacedName{Namespace: "default", Name: "web"})
	q.Add(types.NamespacedName{Namespace: "default", Name: "db"})
	q.ShutDown() // or cancel the context; what is queued is still handled

	err := queue.Run(context.Background(), q, queue.RunOptions{Workers: 1, Timeout: time.Minute},
		func(ctx context.Context, key types.NamespacedName) error {
			if key.Name == "db" {
				return queue.Terminal(errors.New("no such database"))
			}
			fmt.Println("handled", key)
			return nil
		})
	fmt.Println(err)
	// Output:
	// handled default/web
	// default/db terminal: no such database
	// <nil>
}

// The same by hand.
func ExampleQueue() {
	ctx := context.Background()
	q := queue.New(queue.Options[string]{})
	q.Add("a")
	q.Add("b")
	q.Add("a") // queued already
	q.ShutDown()
	for {
		item, err := q.Get(ctx)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(item.Key)
		item.Done()
	}
	// Output:
	// a
	// b
	// queue: shut down
}

// Live events go before the initial list.
func ExampleQueue_AddWith() {
	q := queue.New(queue.Options[string]{})
	q.AddWith("listed-1", queue.AddOptions{Priority: -100})
	q.AddWith("listed-2", queue.AddOptions{Priority: -100})
	q.Add("live")
	q.Add("listed-2") // has changed since
	for q.Len() > 0 {
		item, _ := q.Get(context.Background())
		fmt.Println(item.Key)
		item.Done()
	}
	// Output:
	// live
	// listed-2
	// listed-1
}

// A worker can take several keys at a time and handle them together.
func ExampleQueue_GetBatch() {
	q := queue.New(queue.Options[int]{})
	for i := range 5 {
		q.Add(i)
	}
	items, _ := q.GetBatch(context.Background(), nil, 3)
	for _, item := range items {
		fmt.Println(item.Key)
		item.Done()
	}
	fmt.Println(q.Len(), "left")
	// Output:
	// 0
	// 1
	// 2
	// 2 left
}

// Retries back off per key and, all together, stay within ten per second.
func ExampleMaxOf() {
	q := queue.New(queue.Options[string]{
		Limiter: queue.MaxOf[string]{
			queue.Jitter[string]{Limiter: queue.Exponential[string]{Max: time.Minute}, Factor: 0.1},
			queue.Bucket[string]{Limiter: rate.NewLimiter(10, 100)},
		},
	})
	q.AddRateLimited("a")
	q.AddRateLimited("a")
	fmt.Println(q.Retries("a"))
	q.Forget("a")
	fmt.Println(q.Retries("a"))
	q.ShutDown()
	// Output:
	// 2
	// 0
}

// One tenant with many keys does not hold up the others.
func ExampleOptions_class() {
	q := queue.New(queue.Options[types.NamespacedName]{
		Class: func(key types.NamespacedName) string { return key.Namespace },
	})
	for i := range 3 {
		q.Add(types.NamespacedName{Namespace: "big", Name: fmt.Sprint(i)})
	}
	q.Add(types.NamespacedName{Namespace: "small", Name: "0"})
	for q.Len() > 0 {
		item, _ := q.Get(context.Background())
		fmt.Println(item.Key)
		item.Done()
	}
	// Output:
	// big/0
	// small/0
	// big/1
	// big/2
}
