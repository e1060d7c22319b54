package fifo_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/kinform/kinform/queue/fifo"
)

// Of each key the newest object comes out, once.
func ExampleFIFO() {
	ctx := context.Background()
	queue := fifo.New[string, int]()
	_ = queue.Add("web", 1)
	_ = queue.Add("db", 1)
	_ = queue.Add("web", 2)
	queue.Close() // what is in still comes out
	for {
		item, err := queue.Pop(ctx)
		if errors.Is(err, fifo.ErrClosed) {
			return
		}
		fmt.Println(item.Key, item.Object)
	}
	// Output:
	// web 2
	// db 1
}

// What fails comes again, behind the others, until something newer takes its place.
func ExampleFIFO_Process() {
	ctx := context.Background()
	queue := fifo.New[string, int]()
	_ = queue.Replace([]fifo.Item[string, int]{{Key: "web", Object: 1}, {Key: "db", Object: 1}})
	for range 3 {
		err := queue.Process(ctx, func(item fifo.Item[string, int]) error {
			if item.Key == "web" && item.Object == 1 {
				return errors.New("not ready")
			}
			fmt.Println(item.Key, item.Object, "in the initial list:", item.Initial)
			return nil
		})
		if err != nil {
			fmt.Println(err)
			_ = queue.Add("web", 2)
		}
	}
	<-queue.Synced()
	// Output:
	// processing key web: not ready
	// db 1 in the initial list: true
	// web 2 in the initial list: true
}

// The most urgent object comes first; of equal ones that which was added first.
func ExampleHeap() {
	type job struct {
		urgency int
		what    string
	}
	queue, _ := fifo.NewHeap[string](func(a, b job) int { return cmp.Compare(b.urgency, a.urgency) })
	_ = queue.Add("disk", job{1, "clean"})
	_ = queue.Add("net", job{5, "repair"})
	_ = queue.Add("log", job{1, "rotate"})
	_ = queue.Add("disk", job{9, "replace"})
	for queue.Len() > 0 {
		key, job, _ := queue.Pop(context.Background())
		fmt.Println(key, job.what)
	}
	// Output:
	// disk replace
	// net repair
	// log rotate
}
