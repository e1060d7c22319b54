package deltafifo_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"

	"github.com/kinform/kinform/deltafifo"
)

// A consumer takes all that is pending at once and brings its store to the batch's
// version.
func Example() {
	ctx := context.Background()
	queue := deltafifo.New[string, int](nil, deltafifo.Options{})
	_ = queue.Add(ctx, "web", 1, "100")
	_ = queue.Add(ctx, "db", 1, "101")
	_ = queue.Update(ctx, "web", 2, "102")
	_ = queue.Bookmark(ctx, "110")
	queue.Close() // what is pending still comes out

	for {
		batch, err := queue.Pop(ctx)
		if errors.Is(err, deltafifo.ErrClosed) {
			return
		}
		fmt.Println(batch.Len(), "deltas, up to", batch.ResourceVersion())
		for key, deltas := range batch.All() {
			for _, d := range deltas {
				fmt.Println(key, d.Type, d.Object)
			}
		}
	}
	// Output:
	// 3 deltas, up to 110
	// web Added 1
	// web Updated 2
	// db Added 1
}

// After a gap in the watch only a list says what is left. What is not in it was deleted,
// and the last state that was seen stands for the final one.
func ExampleDeltaFIFO_Replace() {
	ctx := context.Background()
	queue := deltafifo.New(deltafifo.KnownObjects[string, int](known{"web": 1, "db": 1}), deltafifo.Options{})
	list := &deltafifo.Objects[string, int]{}
	list.Set("web", 7, "")
	_ = queue.Replace(ctx, deltafifo.Replacement[string, int]{Objects: list, ResourceVersion: "200"})

	batch, _ := queue.Pop(ctx)
	for key, deltas := range batch.All() {
		for _, d := range deltas {
			fmt.Println(key, d.Type, d.Object, d.FinalStateUnknown)
		}
	}
	fmt.Println("synced:", batch.EndsInitialList())
	// Output:
	// web Replaced 7 false
	// db Deleted 1 true
	// synced: true
}

// A key that cannot be processed now comes again, with what happened to it since. The
// first key of the batch does not hold up the others.
func ExampleDeltaFIFO_Process() {
	ctx := context.Background()
	queue := deltafifo.New[string, int](nil, deltafifo.Options{})
	_ = queue.Add(ctx, "web", 1, "")
	_ = queue.Add(ctx, "db", 1, "")

	ready := false
	process := func(key string, deltas []deltafifo.Delta[int]) error {
		if key == "web" && !ready {
			return errors.New("no endpoint yet")
		}
		for _, d := range deltas {
			fmt.Println(key, d.Type, d.Object)
		}
		return nil
	}
	err := queue.Process(ctx, process)
	fmt.Println(err)

	ready = true
	_ = queue.Update(ctx, "web", 2, "")
	_ = queue.Process(ctx, process)
	// Output:
	// db Added 1
	// processing key web: no endpoint yet
	// web Added 1
	// web Updated 2
}

// A batch is committed but for one key, which is given back.
func ExampleDeltaFIFO_Requeue() {
	ctx := context.Background()
	queue := deltafifo.New[string, int](nil, deltafifo.Options{})
	_ = queue.Add(ctx, "web", 1, "100")
	_ = queue.Add(ctx, "db", 1, "101")
	batch, _ := queue.Pop(ctx)
	fmt.Println(batch.Len(), "deltas")
	_ = queue.Requeue("db")
	batch, _ = queue.Pop(ctx)
	for key, deltas := range batch.All() {
		fmt.Println("again:", key, deltas[0].Type)
	}
	// Output:
	// 2 deltas
	// again: db Added
}

// Now and then everything is looked at again, so that what was missed once is not missed
// for good. What is on its way anyway is left out.
func ExampleDeltaFIFO_Resync() {
	ctx := context.Background()
	queue := deltafifo.New(deltafifo.KnownObjects[string, int](known{"web": 1, "db": 1}), deltafifo.Options{})
	_ = queue.Update(ctx, "web", 2, "102")
	_ = queue.Resync(ctx)
	batch, _ := queue.Pop(ctx)
	for key, deltas := range batch.All() {
		fmt.Println(key, deltas[0].Type, deltas[0].Object)
	}
	// Output:
	// web Updated 2
	// db Sync 1
}

// known is a store for the example.
type known map[string]int

func (k known) Get(key string) (int, bool) { obj, ok := k[key]; return obj, ok }
func (k known) Len() int                   { return len(k) }

func (k known) All() iter.Seq2[string, int] { return maps.All(k) }
