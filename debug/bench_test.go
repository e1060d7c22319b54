package debug_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strconv"
	"strings"
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

// steady is an informer with one handler, whose source sends as many events as it is asked to.
type steady struct {
	source endless
	seen   chan struct{}
	left   int // of the handler while events come
	inf    *informer.Informer[key, *Secret]
	stop   func()
}

func newSteady(b *testing.B) *steady {
	s := &steady{source: endless{make(chan int)}, seen: make(chan struct{}, 1)}
	var err error
	s.inf, err = informer.New(s.source, store.ObjectKey[*Secret], informer.Options[*Secret]{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	count := informer.HandlerFunc[key, *Secret](func(ev informer.Event[key, *Secret]) {
		if ev.Initial {
			return
		}
		if s.left--; s.left == 0 {
			s.seen <- struct{}{}
		}
	})
	if _, err := s.inf.AddHandler(count, informer.HandlerOptions[*Secret]{}); err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error)
	go func() { ended <- s.inf.Run(ctx) }()
	s.stop = func() {
		cancel()
		if err := <-ended; err != nil {
			b.Error(err)
		}
	}
	if err := s.inf.WaitForSync(ctx); err != nil {
		b.Fatal(err)
	}
	return s
}

// send passes n events to the handler.
func (s *steady) send(n int) {
	s.left = n // the handler reads it after the source has got the number
	s.source.more <- n
	<-s.seen
}

// BenchmarkEvent is what an event of an informer with one handler costs without and with its
// record.
func BenchmarkEvent(b *testing.B) {
	for _, events := range []int{0, 256} {
		b.Run(fmt.Sprint("record=", events), func(b *testing.B) {
			s := newSteady(b)
			defer s.stop()
			if err := debug.AddInformer(debug.New(debug.Options{Events: events}), "secrets", s.inf, nil); err != nil {
				b.Fatal(err)
			}
			before := cpu(b)
			b.ReportAllocs()
			b.ResetTimer()
			s.send(b.N)
			b.StopTimer()
			b.ReportMetric(float64(cpu(b)-before)/float64(b.N), "cpu-ns/op")
		})
	}
}

// slot is how long the events of one measurement come: viewers get a few States meanwhile.
const slot = 2 * time.Second

// BenchmarkViewers compares what an event of an informer costs without a page, with a page at which
// nobody looks, and with ten viewers, over real connections. The page also has 100 informers and a
// queue of 1,000 keys. One iteration is a round of three measurements in random order, two seconds
// each, in processor time, including the viewers'. Reported are the medians of the rounds'
// differences from no page in percent, with the bounds of their 95% intervals. Use -benchtime 30x.
func BenchmarkViewers(b *testing.B) {
	s := newSteady(b)
	defer s.stop()
	page := crowd(b, 100, 1000)
	if err := debug.AddInformer(page, "secrets", s.inf, nil); err != nil {
		b.Fatal(err)
	}
	var unseen, seen, base []float64
	for range b.N {
		var took [3]float64
		for _, n := range rand.Perm(3) {
			mounted, viewers := n > 0, 0
			if n == 2 {
				viewers = 10
			}
			end := look(b, page, mounted, viewers)
			took[n] = s.perEvent(b)
			end()
		}
		base = append(base, took[0])
		unseen = append(unseen, 100*(took[1]/took[0]-1))
		seen = append(seen, 100*(took[2]/took[0]-1))
	}
	b.ReportMetric(0, "ns/op")
	middle, _, _ := median(base)
	b.ReportMetric(middle, "cpu-ns/event")
	for name, all := range map[string][]float64{"unseen": unseen, "viewers": seen} {
		middle, low, high := median(all)
		b.ReportMetric(middle, name+"-%")
		b.ReportMetric(low, name+"-low-%")
		b.ReportMetric(high, name+"-high-%")
	}
}

// BenchmarkLooking is what ten viewers cost a program that does nothing else: processor time for
// each second, in milliseconds. One iteration is a second. The page is that of BenchmarkViewers.
func BenchmarkLooking(b *testing.B) {
	s := newSteady(b)
	defer s.stop()
	page := crowd(b, 100, 1000)
	if err := debug.AddInformer(page, "secrets", s.inf, nil); err != nil {
		b.Fatal(err)
	}
	for _, viewers := range []int{0, 10} {
		b.Run(fmt.Sprint("viewers=", viewers), func(b *testing.B) {
			end := look(b, page, true, viewers)
			time.Sleep(time.Second)
			before := cpu(b)
			time.Sleep(time.Duration(b.N) * time.Second)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(cpu(b)-before)/1e6/float64(b.N), "cpu-ms/s")
			end()
		})
	}
}

// perEvent returns the processor time of an event in nanoseconds.
func (s *steady) perEvent(b *testing.B) float64 {
	runtime.GC()
	events, before := 0, cpu(b)
	for began := time.Now(); time.Since(began) < slot; events += 10_000 {
		s.send(10_000)
	}
	return float64(cpu(b)-before) / float64(events)
}

// look serves a page and lets viewers look, until end is called.
func look(b *testing.B, page *debug.Page, mounted bool, viewers int) (end func()) {
	if !mounted {
		return func() {}
	}
	server := httptest.NewServer(page)
	ctx, cancel := context.WithCancel(b.Context())
	var all sync.WaitGroup
	for range viewers {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/events", nil)
		if err != nil {
			b.Fatal(err)
		}
		answer, err := server.Client().Do(request)
		if err != nil {
			b.Fatal(err)
		}
		all.Go(func() {
			_, _ = io.Copy(io.Discard, answer.Body)
			_ = answer.Body.Close()
		})
	}
	return func() {
		cancel()
		all.Wait()
		server.Close()
	}
}

// median returns the median, and the bounds of its 95% interval by the ranks of the binomial
// distribution.
func median(all []float64) (middle, low, high float64) {
	all = slices.Sorted(slices.Values(all))
	n := len(all)
	off := int(math.Ceil(0.98 * math.Sqrt(float64(n))))
	return (all[(n-1)/2] + all[n/2]) / 2, all[max(0, (n-1)/2-off)], all[min(n-1, n/2+off)]
}

// cpu is the processor time of the process, which a busy machine changes less than the time.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// hostile are names that a page must not take for anything else.
var hostile = []string{"<img src=x onerror=pwned=1>", strings.Repeat("x", 253), "😀 שלום", "\u202eevil\xff\x00", "</script><script>pwned=1</script>"}

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
		if err := debug.AddInformer(page, fmt.Sprint("informer ", i, hostile[i%len(hostile)]), inf, nil); err != nil {
			tb.Fatal(err)
		}
	}
	q := queue.New(queue.Options[string]{})
	for i := range keys {
		q.Add(fmt.Sprint("key ", i, hostile[i%len(hostile)]))
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
		if n := get(page, "/queues.json").Body.Len(); n > 8000 {
			t.Errorf("a queue of 10,000 keys is %d bytes", n)
		}
		if n := get(page, "/informers.json").Body.Len(); n > 1<<20 {
			t.Errorf("1,000 informers are %d bytes", n)
		}
	})
}
