package deltafifo_test

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kinform/kinform/deltafifo"
	"github.com/kinform/kinform/reflector"
)

// A Sink puts what a reflector brings into a queue; here its calls are made by hand. The types of the deltas say where a
// state comes from.
func ExampleSink() {
	ctx := context.Background()
	fifo := deltafifo.New(deltafifo.KnownObjects[string, string](nil), deltafifo.Options{})
	key := func(fruit string) (string, error) { return fruit[:1], nil }
	sink := fifo.Sink(key, func(bad *reflector.ObjectError) { fmt.Println(bad) })

	_ = sink.Listed(ctx, reflector.Event[string]{Type: reflector.Added, Object: "apple", ResourceVersion: "1"})
	_ = sink.Replace(ctx, "1")
	_ = sink.Apply(ctx, reflector.Event[string]{Type: reflector.Modified, Object: "avocado", ResourceVersion: "2"})
	_ = sink.Apply(ctx, reflector.Event[string]{Type: reflector.Added, Object: "banana", ResourceVersion: "3"})
	_ = sink.Apply(ctx, reflector.Event[string]{Type: reflector.Deleted, Object: "banana", ResourceVersion: "4"})

	var batch deltafifo.Batch[string, string]
	batch, err := fifo.Pop(ctx)
	for key, deltas := range batch.All() {
		for _, d := range deltas {
			switch d.Type {
			case deltafifo.Replaced:
				fmt.Println(key, "was listed:", d.Object)
			case deltafifo.Added, deltafifo.Updated:
				fmt.Println(key, "was watched:", d.Object)
			case deltafifo.Deleted:
				fmt.Println(key, "is gone:", d.Object)
			case deltafifo.Sync:
				fmt.Println(key, "is said again:", d.Object)
			}
		}
	}
	fmt.Println(batch.ResourceVersion(), err)
	// Output:
	// a was listed: apple
	// a was watched: avocado
	// b was watched: banana
	// b is gone: banana
	// 4 <nil>
}

// A Sink that has a queue of its own is also where the consumer takes its batches.
func ExampleNewSink() {
	ctx := context.Background()
	key := func(fruit string) (string, error) { return fruit[:1], nil }
	sink := deltafifo.NewSink(deltafifo.KnownObjects[string, string](nil), deltafifo.Options{}, key, func(bad *reflector.ObjectError) { fmt.Println(bad) })
	_ = sink.Apply(ctx, reflector.Event[string]{Type: reflector.Added, Object: "apple", ResourceVersion: "1"})
	fmt.Println("pending:", sink.Len())

	batch, ok := sink.TryPop()
	fmt.Println(batch.Len(), batch.ResourceVersion(), ok)
	// Output:
	// pending: 1
	// 1 1 true
}

// A key that fails comes back with the next call, and the error says which ones failed.
func ExampleProcessError() {
	ctx := context.Background()
	fifo := deltafifo.New[string, int](nil, deltafifo.Options{})
	_ = fifo.Add(ctx, "web", 1, "1")
	_ = fifo.Add(ctx, "db", 1, "2")
	err := fifo.Process(ctx, func(key string, _ []deltafifo.Delta[int]) error {
		if key == "db" {
			return errors.New("no connection")
		}
		return nil
	})
	var failed *deltafifo.ProcessError[string]
	if errors.As(err, &failed) {
		comesBack := func(f deltafifo.Failure[string]) bool { return !f.Dropped }
		fmt.Println(failed.Failed[0].Key, failed.Failed[0].Err, slices.ContainsFunc(failed.Failed, comesBack))
	}
	fmt.Println("pending:", fifo.Len())
	// Output:
	// db no connection true
	// pending: 1
}
