package informer_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/store"
)

// feed is a source that has n objects and then updates them in turn, as often as it is
// asked to: it costs next to nothing itself.
type feed struct {
	objects []*widget
	updates []*widget // another state of each object
	more    chan int  // number of events to send
}

func newFeed(n int) *feed {
	f := &feed{more: make(chan int)}
	for i := range n {
		a := newWidget(fmt.Sprint("ns-", i%50), fmt.Sprint("widget-", i), fmt.Sprint("node-", i%100))
		a.ResourceVersion = strconv.Itoa(i + 1)
		b := *a
		b.ResourceVersion = strconv.Itoa(n + i + 1) // or the store would find nothing new in it
		f.objects, f.updates = append(f.objects, a), append(f.updates, &b)
	}
	return f
}

func (f *feed) Resource() string { return "widgets" }

func (f *feed) List(_ context.Context, _ metav1.ListOptions, yield func(reflector.Event[*widget], error) bool) (metav1.ListMeta, error) {
	for _, w := range f.objects {
		if !yield(reflector.Event[*widget]{Type: reflector.Added, ResourceVersion: w.ResourceVersion, Object: w}, nil) {
			return metav1.ListMeta{}, reflector.ErrListStopped
		}
	}
	return metav1.ListMeta{ResourceVersion: strconv.Itoa(len(f.objects))}, nil
}

func (f *feed) Watch(ctx context.Context, opts metav1.ListOptions) iter.Seq2[reflector.Event[*widget], error] {
	return func(yield func(reflector.Event[*widget], error) bool) {
		if opts.SendInitialEvents != nil {
			yield(reflector.Event[*widget]{}, errors.ErrUnsupported)
			return
		}
		for sent := 0; ; {
			select {
			case <-ctx.Done():
				return
			case n := <-f.more:
				for range n {
					at := sent % len(f.objects)
					w := f.updates[at]
					f.objects[at], f.updates[at] = w, f.objects[at]
					// Without a version, which would have to be made for each event.
					if !yield(reflector.Event[*widget]{Type: reflector.Modified, Object: w}, nil) {
						return
					}
					sent++
				}
			}
		}
	}
}

// BenchmarkWatchEvents measures one update from the source to all handlers.
func BenchmarkWatchEvents(b *testing.B) {
	for _, handlers := range []int{1, 4, 16} {
		b.Run(fmt.Sprint("handlers=", handlers), func(b *testing.B) {
			src := newFeed(100_000)
			benchmarkUpdates(b, src, newInformer(b, src, informer.Options[*widget]{OnError: ignore}), handlers)
		})
	}
}

// benchmarkUpdates measures updates from src to handlers of inf.
func benchmarkUpdates(b *testing.B, src *feed, inf *informer.Informer[key, *widget], handlers int) {
	done := make(chan struct{}, handlers)
	for range handlers {
		left := b.N
		reg := must1(inf.AddHandler(informer.HandlerFuncs[key, *widget]{
			Updated: func(informer.Event[key, *widget]) {
				if left--; left == 0 {
					done <- struct{}{}
				}
			},
		}, handlerOptions{}))(b)
		defer func() { <-reg.Done() }()
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go inf.Run(ctx)
	if err := inf.WaitForSync(ctx); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	src.more <- b.N
	for range handlers {
		<-done
	}
}

// BenchmarkInitialSync measures the initial list of 100,000 objects, one handler, one
// index, without decoding.
func BenchmarkInitialSync(b *testing.B) {
	src := newFeed(100_000)
	b.ReportAllocs()
	for b.Loop() {
		inf, err := informer.New(src, store.ObjectKey, informer.Options[*widget]{Indexes: index.Of(byNode)})
		if err != nil {
			b.Fatal(err)
		}
		reg := must1(inf.AddHandler(informer.HandlerFunc[key, *widget](func(informer.Event[key, *widget]) {}), handlerOptions{}))(b)
		ctx, cancel := context.WithCancel(context.Background())
		go inf.Run(ctx)
		<-reg.Synced()
		cancel()
		<-reg.Done()
	}
}

// BenchmarkMutations measures what the detector costs per event and handler.
func BenchmarkMutations(b *testing.B) {
	for _, mode := range []informer.Mutations{0, informer.MutationsSampled, informer.MutationsAll} {
		b.Run(fmt.Sprint("mode=", mode), func(b *testing.B) {
			src := newFeed(10_000)
			benchmarkUpdates(b, src, newInformer(b, src, informer.Options[*widget]{OnError: ignore, Mutations: mode}), 1)
		})
	}
}

// BenchmarkTrace is what Trace costs per event.
func BenchmarkTrace(b *testing.B) {
	for _, handlers := range []int{2, 20} {
		for _, kept := range []int{0, 256} {
			b.Run(fmt.Sprint("handlers=", handlers, "/kept=", kept), func(b *testing.B) {
				src := newFeed(10_000)
				inf := newInformer(b, src, informer.Options[*widget]{OnError: ignore})
				inf.Trace(kept)
				benchmarkUpdates(b, src, inf, handlers)
			})
		}
	}
}
