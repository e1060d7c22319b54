package handle

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/internal/memtest"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type key = types.NamespacedName

var byGroup = index.New("group", func(groups []string, i *Item) []string { return append(groups, i.Group) })

func options() informer.Options[*Item] {
	return informer.Options[*Item]{Indexes: index.Of(byGroup), Reflector: reflector.Tuning{DisableWatchList: true}}
}

// running is an informer at work, perhaps a handle's. Its handler counts.
type running struct {
	server *server
	inf    *informer.Informer[key, *Item]
	handle *controller.Handle[*Item] // nil for a plain informer
	seen   int                       // owned by the handler until it has told
	want   chan int                  // the number of events at which the handler tells
	told   chan struct{}
}

// start starts an informer. If it is watched, its handler is a controller's, which tells own events from
// others, and queues nothing here. With ahead, the handle has made as many writes that the watch never brings.
func start(tb testing.TB, handle, watched bool, ahead int) *running {
	tb.Helper()
	return startWith(tb, options(), handle, watched, ahead)
}

func startWith(tb testing.TB, opts informer.Options[*Item], handle, watched bool, ahead int) *running {
	tb.Helper()
	r := &running{server: newServer(), want: make(chan int, 1), told: make(chan struct{})}
	if handle {
		r.handle = controller.Open(r.server.connection(), items, controller.OpenOptions[*Item]{Informer: opts})
		must(tb, r.handle.Err())
		r.inf = r.handle.AsInformer()
	} else {
		source, err := client.New(r.server.connection(), items, client.Options{})
		must(tb, err)
		r.inf, err = informer.New(source, store.ObjectKey, opts)
		must(tb, err)
	}
	until, initial := 0, 0
	filled := make(chan struct{})
	see := func(ev informer.Event[key, *Item]) bool {
		if ev.Initial {
			if initial++; initial == population {
				close(filled)
			}
			return true
		}
		if ev.Type != informer.Updated {
			return true
		}
		if until == 0 {
			until = <-r.want
		}
		if r.seen++; r.seen == until {
			r.seen, until = 0, 0
			r.told <- struct{}{}
		}
		return true
	}
	if watched {
		c := controller.New("", func(context.Context, key) error { return nil })
		nothing := func(keys []key, _ *Item) []key { return keys }
		controller.Watch(c, r.handle, nothing, see)
		must(tb, c.Err())
	} else {
		_, err := r.inf.AddHandler(informer.HandlerFunc[key, *Item](func(ev informer.Event[key, *Item]) { see(ev) }), informer.HandlerOptions[*Item]{})
		must(tb, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.inf.Run(ctx) }()
	tb.Cleanup(func() {
		cancel()
		must(tb, <-ended)
	})
	<-filled
	for n := range ahead {
		next := &Item{Group: "ahead"}
		next.Namespace, next.Name, next.ResourceVersion = "prod", "ahead-"+name(n), strconv.Itoa(2*firstRV)
		must(tb, r.inf.RecordWrite(next, ""))
	}
	return r
}

// events sends updates until the handler has seen n.
func (r *running) events(n int) {
	r.want <- n
	r.server.next <- n
	<-r.told
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

var sides = []struct {
	name            string
	handle, watched bool
	ahead           int
}{
	{"of=informer", false, false, 0},
	{"of=handle", true, false, 0},
	{"of=handle-watched", true, true, 0},
	{"of=handle-1000-ahead", true, false, 1000},
}

// BenchmarkEvents is the processor time of an event, from the bytes of a watch to a handler. All
// sides take turns, so that a busy machine slows them alike. The ratio is that to a plain informer
// in the same round.
func BenchmarkEvents(b *testing.B) {
	const n = 5000
	all := make([]*running, len(sides))
	for i, side := range sides {
		all[i] = start(b, side.handle, side.watched, side.ahead)
		all[i].events(n)
	}
	times := make([][]float64, len(sides))
	for round := 0; b.Loop(); round++ {
		for i := range sides {
			i := (i + round) % len(sides)
			runtime.GC()
			began := cpu(b)
			all[i].events(n)
			times[i] = append(times[i], float64(cpu(b)-began)/n)
		}
	}
	b.ReportMetric(0, "ns/op") // a round of all: says nothing
	for i, side := range sides {
		name := strings.TrimPrefix(side.name, "of=")
		b.ReportMetric(median(times[i]), name+"-ns")
		if i > 0 {
			ratios := make([]float64, len(times[i]))
			for round := range ratios {
				ratios[round] = times[i][round] / times[0][round]
			}
			b.ReportMetric(median(ratios), name+"-ratio")
		}
	}
}

func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return x[len(x)/2]
}

// cpu is the processor time of the process.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	must(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestNoAllocations counts what an event allocates. A handle adds nothing.
func TestNoAllocations(t *testing.T) {
	if memtest.Race {
		t.Skip("the race detector makes pools drop what they keep")
	}
	const n = 20_000
	measure := func(handle, watched bool, ahead int) float64 {
		r := start(t, handle, watched, ahead)
		r.events(n)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r.events(n)
		runtime.ReadMemStats(&after)
		return float64(after.Mallocs-before.Mallocs) / n
	}
	plain := measure(false, false, 0)
	for _, side := range sides[1:] {
		if got := measure(side.handle, side.watched, side.ahead); got > plain+0.1 {
			t.Errorf("%s: %.2f allocations per event, a plain informer has %.2f", side.name, got, plain)
		}
	}
}

// BenchmarkReads compares the reads of the store with those that include the process's own writes.
func BenchmarkReads(b *testing.B) {
	keys := make([]key, population)
	groups := make([]string, population/groupSize)
	for n := range keys {
		keys[n] = key{Namespace: "prod", Name: name(n * 7919)}
		groups[n/groupSize] = group(n)
	}
	for _, side := range []struct {
		name  string
		ahead int
	}{{"of=handle", 0}, {"of=handle-1-ahead", 1}, {"of=handle-100-ahead", 100}, {"of=handle-9999-ahead", 9999}} {
		r := start(b, true, false, side.ahead)
		inGroup := informer.AddIndex(r.handle, byGroup)
		read(b, "get/"+side.name, func(i int) bool { _, ok := r.handle.Cached(keys[i%population]); return ok })
		read(b, "list/"+side.name, func(int) bool { return len(r.handle.List("", nil)) == population+side.ahead })
		read(b, "index/"+side.name, func(i int) bool { return len(inGroup.Get(groups[i%len(groups)])) == groupSize })
		read(b, "count/"+side.name, func(i int) bool { return inGroup.Count(groups[i%len(groups)]) == groupSize })
	}
	s := start(b, true, false, 0).inf.Store()
	read(b, "get/of=store", func(i int) bool { _, ok := s.Get(keys[i%population]); return ok })
	read(b, "list/of=store", func(int) bool { return len(s.List()) == population })
	read(b, "index/of=store", func(i int) bool { return len(byGroup.Get(s, groups[i%len(groups)])) == groupSize })
	read(b, "count/of=store", func(i int) bool { return byGroup.Count(s, groups[i%len(groups)]) == groupSize })
}

func read(b *testing.B, name string, f func(i int) bool) {
	b.Run(name, func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if !f(i) {
				b.Fatal("not what was stored")
			}
		}
	})
}

// BenchmarkWrites is the time of RecordWrite, the commit of a write beside its request, with a handler. Writes of
// other objects are ahead of the watch. Of three indexes, one has another value after each write.
func BenchmarkWrites(b *testing.B) {
	byName := index.New("name", func(names []string, i *Item) []string { return append(names, i.Name) })
	byVersion := index.New("version", func(versions []string, i *Item) []string { return append(versions, i.ResourceVersion) })
	indexes := map[int]informer.Options[*Item]{0: options(), 3: options()}
	for n, opts := range indexes {
		if opts.Indexes = nil; n > 0 {
			opts.Indexes = index.Of(byGroup, byName, byVersion)
		}
		indexes[n] = opts
	}
	for _, n := range []int{0, 3} {
		for _, ahead := range []int{0, 1, 100, 9_999} {
			r := startWith(b, indexes[n], true, false, ahead)
			r.want <- math.MaxInt // the handler never tells
			version := 2 * firstRV
			b.Run(fmt.Sprintf("indexes=%d/ahead=%d", n, ahead), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					version++
					next := &Item{Group: group(0)}
					next.Namespace, next.Name, next.UID, next.ResourceVersion = "prod", name(0), types.UID("uid-of-"+name(0)), strconv.Itoa(version)
					must(b, r.inf.RecordWrite(next, ""))
				}
			})
		}
	}
}
