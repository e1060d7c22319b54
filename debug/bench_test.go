package debug_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/debug"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/queue"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/store"
)

// endless is a source of one object, which it then changes as often as it is asked to.
type endless struct{ more chan int }

func (endless) Resource() string { return "secrets" }

func (endless) List(_ context.Context, _ metav1.ListOptions, yield func(reflector.Event[*Secret], error) bool) (metav1.ListMeta, error) {
	yield(reflector.Event[*Secret]{Type: reflector.Added, ResourceVersion: "1", Object: changed(1)}, nil)
	return metav1.ListMeta{ResourceVersion: "1"}, nil
}

func (e endless) Watch(ctx context.Context, opts metav1.ListOptions) iter.Seq2[reflector.Event[*Secret], error] {
	return func(yield func(reflector.Event[*Secret], error) bool) {
		if opts.SendInitialEvents != nil {
			yield(reflector.Event[*Secret]{}, errors.ErrUnsupported)
			return
		}
		for version := 2; ; {
			select {
			case <-ctx.Done():
				return
			case n := <-e.more:
				for range n {
					obj := changed(version)
					if !yield(reflector.Event[*Secret]{Type: reflector.Modified, ResourceVersion: obj.ResourceVersion, Object: obj}, nil) {
						return
					}
					version++
				}
			}
		}
	}
}

func changed(version int) *Secret {
	return &Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "b", ResourceVersion: strconv.Itoa(version)}}
}

// viewer is a browser that takes everything at once.
type viewer struct{ header http.Header }

func (v viewer) Header() http.Header         { return v.header }
func (v viewer) Write(b []byte) (int, error) { return len(b), nil }
func (v viewer) WriteHeader(int)             {}
func (v viewer) Flush()                      {}

// BenchmarkEvent is what an event of an informer with one handler costs: without a page, with one that records nothing, with one that
// records events, and with ten viewers.
func BenchmarkEvent(b *testing.B) {
	for _, c := range []struct {
		name            string
		page            bool
		events, viewers int
	}{{"page=no", false, 0, 0}, {"page=unseen", true, 0, 0}, {"page=viewers-10", true, 0, 10}, {"page=record-256", true, 256, 0}, {"page=record-256-viewers-10", true, 256, 10}} {
		b.Run(c.name, func(b *testing.B) {
			source := endless{make(chan int)}
			inf, err := informer.New(source, store.ObjectKey[*Secret], informer.Options[*Secret]{Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				b.Fatal(err)
			}
			page := debug.New(debug.Options{Events: c.events})
			if c.page {
				if err := debug.AddInformer(page, "secrets", inf, nil); err != nil {
					b.Fatal(err)
				}
			}
			seen := make(chan struct{}, 1)
			left := 0
			count := informer.HandlerFunc[key, *Secret](func(ev informer.Event[key, *Secret]) {
				if ev.Initial {
					return
				}
				if left--; left == 0 {
					seen <- struct{}{}
				}
			})
			if _, err := inf.AddHandler(count, informer.HandlerOptions[*Secret]{}); err != nil {
				b.Fatal(err)
			}
			ctx, cancel := context.WithCancel(b.Context())
			var all sync.WaitGroup
			all.Go(func() { _ = inf.Run(ctx) })
			for range c.viewers {
				all.Go(func() {
					page.ServeHTTP(viewer{http.Header{}}, httptest.NewRequestWithContext(ctx, http.MethodGet, "/events", nil))
				})
			}
			if err := inf.WaitForSync(ctx); err != nil {
				b.Fatal(err)
			}
			before := cpu(b)
			b.ReportAllocs()
			b.ResetTimer()
			left = b.N // the handler reads it after the source has got the number
			source.more <- b.N
			<-seen
			b.StopTimer()
			b.ReportMetric(float64(cpu(b)-before)/float64(b.N), "cpu-ns/op")
			cancel()
			all.Wait()
		})
	}
}

// cpu is the processor time of the process, which a busy machine changes less than the time.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// crowd returns a page of informers that never started, and of one queue with keys.
func crowd(tb testing.TB, informers, keys int) *debug.Page {
	page := debug.New(debug.Options{})
	server := newProgram(tb, debug.Options{}).server
	for i := range informers {
		source, err := fake.NewSource[*Secret](server, fake.Selection{})
		if err != nil {
			tb.Fatal(err)
		}
		inf, err := informer.New(source, store.ObjectKey[*Secret], informer.Options[*Secret]{})
		if err != nil {
			tb.Fatal(err)
		}
		if err := debug.AddInformer(page, fmt.Sprint("informer ", i), inf, nil); err != nil {
			tb.Fatal(err)
		}
	}
	q := queue.New(queue.Options[string]{})
	for i := range keys {
		q.Add(fmt.Sprint("key ", i))
	}
	if err := page.AddQueue("q", q); err != nil {
		tb.Fatal(err)
	}
	return page
}

// What the story of a key costs among many others.
func BenchmarkStory(b *testing.B) {
	page := crowd(b, 1000, 10_000)
	b.ReportAllocs()
	for b.Loop() {
		page.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/story.json?key=x", nil))
	}
}

// A thousand informers and ten thousand keys make one State, of which the lists are short.
func TestCrowd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		page := crowd(t, 1000, 10_000)
		if n := get(page, "/queues.json").Body.Len(); n > 4000 {
			t.Errorf("a queue of 10,000 keys is %d bytes", n)
		}
		if n := get(page, "/informers.json").Body.Len(); n > 1<<20 {
			t.Errorf("1,000 informers are %d bytes", n)
		}
	})
}
