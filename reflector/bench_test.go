package reflector

import (
	"context"
	"iter"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/internal/memtest"
)

// tape is the events of one watch, made before the measurement.
func tape(n int) []Event[*int] {
	object := new(int)
	all := make([]Event[*int], n)
	for i := range all {
		all[i] = Event[*int]{Type: Modified, Object: object, ResourceVersion: strconv.Itoa(1_000_001 + i)}
	}
	return all
}

// TestWatchDoesNotAllocatePerEvent: a watch costs a few allocations, however long. The time is
// virtual, because watches that end at once are spaced out.
func TestWatchDoesNotAllocatePerEvent(t *testing.T) {
	synctest.Test(t, watchDoesNotAllocatePerEvent)
}

func watchDoesNotAllocatePerEvent(t *testing.T) {
	perWatch := func(n int) float64 {
		r, err := New(&source[*int]{watch: events(tape(n)...)}, &sink[*int]{}, Options{Tuning: Tuning{DisableWatchList: true}})
		if err != nil {
			t.Fatal(err)
		}
		return memtest.Allocs(5, func() {
			r.core.state = state{phase: phaseWatching, rv: "1000000"}
			if err := r.core.watchOnce(t.Context()); err != nil || r.core.state.rv != strconv.Itoa(1_000_000+n) {
				t.Fatalf("watch: %v at %s", err, r.core.state.rv)
			}
		})
	}
	short, long := perWatch(10), perWatch(10_000)
	if long > short+2 {
		t.Errorf("10,000 events take %v allocations, 10 events %v", long, short)
	}
	if short > 30 {
		t.Errorf("a watch of 10 events takes %v allocations", short)
	}
}

// BenchmarkRun is the reflector's own cost per event and per listed object, between a
// source and a sink that do nothing.
func BenchmarkRun(b *testing.B) {
	const n = 10_000
	b.Run("watch", func(b *testing.B) {
		b.ReportAllocs()
		benchmarkRun(b, objects[*int]("1000000"), tape(n), n)
	})
	b.Run("stream", func(b *testing.B) {
		b.ReportAllocs()
		end := Event[*int]{Type: Bookmark, InitialEventsEnd: true, ResourceVersion: "2000000"}
		benchmarkRun(b, nil, append(tape(n), end), n)
	})
	b.Run("list", func(b *testing.B) {
		b.ReportAllocs()
		benchmarkRun(b, objects("1000000", tape(n)...), nil, n)
	})
}

func benchmarkRun(b *testing.B, list func(context.Context, metav1.ListOptions, func(Event[*int], error) bool) (metav1.ListMeta, error), tape []Event[*int], n int) {
	for b.Loop() {
		ctx, cancel := context.WithCancel(b.Context())
		src := &source[*int]{list: list}
		src.watch = func(context.Context, metav1.ListOptions) iter.Seq2[Event[*int], error] {
			return func(yield func(Event[*int], error) bool) {
				for _, ev := range tape {
					if !yield(ev, nil) {
						return
					}
				}
				cancel()
			}
		}
		s := &sink[*int]{}
		r, err := New(src, s, Options{Tuning: Tuning{DisableWatchList: list != nil}})
		if err != nil {
			b.Fatal(err)
		}
		if err := r.Run(ctx); err != nil || s.nListed+s.nApply != n {
			b.Fatalf("Run: %v, sink %+v", err, *s)
		}
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/event")
}

// BenchmarkStep is one decision.
func BenchmarkStep(b *testing.B) {
	b.ReportAllocs()
	end := watchEnd{rv: "1000001", short: true, err: failure("eof", 0)}
	for b.Loop() {
		s := state{phase: phaseWatching, rv: "1000000", learned: learned{versioned: true, patience: time.Minute}}
		if next, _ := s.watchEnded(end); next.rv != end.rv {
			b.Fatal(next.text())
		}
	}
}
