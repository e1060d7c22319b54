package reflector_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/reflector"
)

// history is a source over a slice: its first objects are the list, the rest of what
// happened is the watch. The position in the slice is the resourceVersion.
type history struct {
	listed  int
	changes []reflector.Event[string]
	done    context.CancelFunc // called when everything was sent
}

func (h history) Resource() string { return "fruits" }

func (h history) List(_ context.Context, _ metav1.ListOptions, yield func(reflector.Event[string], error) bool) (metav1.ListMeta, error) {
	for _, ev := range h.changes[:h.listed] {
		if !yield(ev, nil) {
			return metav1.ListMeta{}, reflector.ErrListStopped
		}
	}
	return metav1.ListMeta{ResourceVersion: strconv.Itoa(h.listed)}, nil
}

func (h history) Watch(ctx context.Context, opts metav1.ListOptions) iter.Seq2[reflector.Event[string], error] {
	return func(yield func(reflector.Event[string], error) bool) {
		from, err := strconv.Atoi(opts.ResourceVersion)
		if err != nil {
			yield(reflector.Event[string]{}, err)
			return
		}
		for _, ev := range h.changes[from:] {
			if !yield(ev, nil) {
				return
			}
		}
		h.done()
	}
}

// printer is a sink that says what it hears.
type printer struct{}

func (printer) Listed(_ context.Context, ev reflector.Event[string]) error {
	fmt.Println("listed", ev.Object)
	return nil
}

func (printer) Skipped(bad *reflector.ObjectError) { fmt.Println("skipped", bad.Key) }

func (printer) Replace(_ context.Context, resourceVersion string) error {
	fmt.Println("that was all at resourceVersion", resourceVersion)
	return nil
}

func (printer) Discard() { fmt.Println("no, forget that list") }

func (printer) Apply(_ context.Context, ev reflector.Event[string]) error {
	fmt.Println(ev.Type, ev.Object, "at", ev.ResourceVersion)
	return nil
}

func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	source := history{listed: 2, done: cancel, changes: []reflector.Event[string]{
		{Type: reflector.Added, ResourceVersion: "1", Object: "apple"},
		{Type: reflector.Added, ResourceVersion: "2", Object: "pear"},
		{Type: reflector.Added, ResourceVersion: "3", Object: "plum"},
		{Type: reflector.Deleted, ResourceVersion: "4", Object: "apple"},
		{Type: reflector.Bookmark, ResourceVersion: "5"},
	}}
	r, err := reflector.New(source, printer{}, reflector.Options{
		Tuning:  reflector.Tuning{DisableWatchList: true}, // history cannot stream its list
		OnError: func(err error) { fmt.Println(err) },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("Run returned", r.Run(ctx))
	// Output:
	// listed apple
	// listed pear
	// that was all at resourceVersion 2
	// ADDED plum at 3
	// DELETED apple at 4
	// BOOKMARK  at 5
	// Run returned <nil>
}

func ExampleOptions_onError() {
	report := func(err error) {
		var bad *reflector.ObjectError
		var failed *reflector.RequestError
		switch {
		case errors.As(err, &bad):
			fmt.Println("look at the object", bad.Key)
		case errors.As(err, &failed):
			fmt.Println("the server has trouble with a", failed.Verb)
		}
	}
	_ = reflector.Options{OnError: report}

	// What a reflector would report:
	report(&reflector.ObjectError{Resource: "pods", Key: "prod/web-0", Err: reflector.ErrNoName})
	report(&reflector.RequestError{Verb: "watch", Resource: "pods", Err: reflector.ErrShortWatch})
	// Output:
	// look at the object prod/web-0
	// the server has trouble with a watch
}
