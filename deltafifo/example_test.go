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
	queue := deltafifo.New(deltafifo.Known[string, int](known{"web": 1, "db": 1}), deltafifo.Options{})
	_ = queue.Replace(ctx, deltafifo.List[string, int]{
		Items:           []deltafifo.Item[string, int]{{Key: "web", Object: 7}},
		ResourceVersion: "200",
	})

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

// known is a store for the example.
type known map[string]int

func (k known) Get(key string) (int, bool)  { obj, ok := k[key]; return obj, ok }
func (k known) All() iter.Seq2[string, int] { return maps.All(k) }
