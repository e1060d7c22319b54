package informer_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/internal/longtest"
	"github.com/kinform/kinform/internal/mistake"
	"github.com/kinform/kinform/internal/objid"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/shard"
)

const topHash = ^uint64(0)

// lists counts the lists of a source, and the objects that the server sent for them.
type lists struct {
	reflector.Source[*widget]
	*listed
}

type listed struct {
	mu      sync.Mutex
	asked   []string // the shards of the lists
	objects int
	decoded int // of these
}

func (l lists) List(ctx context.Context, opts metav1.ListOptions, yield func(reflector.Event[*widget], error) bool) (metav1.ListMeta, error) {
	l.mu.Lock()
	l.asked = append(l.asked, opts.ShardSelector)
	l.mu.Unlock()
	return l.Source.List(ctx, opts, func(ev reflector.Event[*widget], err error) bool {
		l.mu.Lock()
		l.objects++
		l.decoded += one(!ev.Recalled)
		l.mu.Unlock()
		return yield(ev, err)
	})
}

// Relist serves reflectors.
func (l lists) Relist(_ reflector.Source[*widget], known func(objid.Identity) bool) reflector.Source[*widget] {
	from := l.Source.(interface {
		Relist(reflector.Source[*widget], func(objid.Identity) bool) reflector.Source[*widget]
	})
	return lists{from.Relist(l.Source, known), l.listed}
}

// take returns what was asked for since the last call, and the numbers of objects that came and that were
// decoded.
func (l *listed) take() (asked []string, objects, decoded int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	asked, objects, decoded = l.asked, l.objects, l.decoded
	l.asked, l.objects, l.decoded = nil, 0, 0
	return asked, objects, decoded
}

// newDivided returns an informer of the objects of a source that are in a part.
func newDivided(t testing.TB, part shard.Part[*widget], source reflector.Source[*widget], opts informer.Options[*widget]) *informer.Informer[key, *widget] {
	t.Helper()
	return newInformer(t, must1(part.Source(source))(t), opts)
}

// newShardServer is a server that selects by shards, or not.
func newShardServer(t *testing.T, selects bool) *fake.Server {
	t.Helper()
	server := fake.New(fake.Options{NoSharding: !selects})
	if err := fake.Register(server, kind.Of[*widget](schema.GroupVersion{Group: "example.com", Version: "v1"}, "widgets"), fake.Rules{}); err != nil {
		t.Fatal(err)
	}
	return server
}

// byName is the hash of an object for Part.Hash.
func byName(w *widget) uint64 { return shard.ServerHash(w.Name) * 0x9e3779b97f4a7c15 }

// A range that comes costs a list of the part if the server selects, and one of all if not. Only what is
// new is decoded. A range that goes costs nothing, and what stays is not touched.
func TestParts(t *testing.T) {
	uid := func(w *widget) uint64 { return shard.ServerHash(string(w.UID)) }
	for _, c := range []struct {
		note    string
		selects bool
		part    shard.Part[*widget]
		hash    func(*widget) uint64
	}{
		{"selected by the server", true, shard.Part[*widget]{Field: shard.FieldUID}, uid},
		{"not selected by an older server", false, shard.Part[*widget]{Field: shard.FieldUID}, uid},
		{"dropped as it arrives", true, shard.Part[*widget]{Hash: byName}, byName},
	} {
		synctest.Test(t, func(t *testing.T) {
			const objects = 400
			server := newShardServer(t, c.selects)
			for n := range objects {
				must1(fake.Create(server, newWidget("a", fmt.Sprint("w", n), "n")))(t)
			}
			log := lists{source(t, server), new(listed)}
			set := new(shard.Hashes)
			c.part.Hashes = set
			u := newDivided(t, c.part, log, informer.Options[*widget]{Reflector: reflector.Tuning{DisableWatchList: true}})
			came, left := 0, 0
			must1(u.AddHandler(informer.HandlerFunc[key, *widget](func(ev informer.Event[key, *widget]) {
				switch {
				case ev.Type == informer.Added:
					came++
				case ev.Type == informer.Deleted && ev.FinalStateUnknown:
					left++
				default:
					t.Errorf("%s: %+v", c.note, ev)
				}
			}), handlerOptions{}))(t)
			stop := run(t, u)
			if err := u.WaitForSync(t.Context()); err != nil || u.Store().Len() > 0 {
				t.Errorf("%s: an empty set: %v, %d objects", c.note, err, u.Store().Len())
			}
			bySelector := c.selects && c.part.Field != ""
			var had []shard.HashRange
			for step, ranges := range [][]shard.HashRange{
				{{First: 0, Last: topHash / 2}},
				{{First: 0, Last: topHash / 4}},
				{{First: 0, Last: topHash / 4}, {First: topHash / 2, Last: topHash / 4 * 3}},
				{{First: 0, Last: topHash/4 - 5}, {First: topHash / 2, Last: topHash}},
				{{First: topHash / 8, Last: topHash/4 - 5}, {First: topHash / 2, Last: topHash / 4 * 3}},
				{},
				{{First: 0, Last: topHash}},
			} {
				if err := set.Set(ranges...); err != nil {
					t.Fatal(err)
				}
				if err := set.WaitForLists(t.Context()); err != nil {
					t.Fatal(err)
				}
				synctest.Wait() // what has left, leaves soon
				want, new, gone := 0, 0, 0
				for _, w := range must1(fake.List[*widget](server, fake.Selection{}))(t) {
					before, now := in(had, c.hash(w)), in(ranges, c.hash(w))
					if _, ok := u.Get(key{Namespace: w.Namespace, Name: w.Name}); ok != now {
						t.Errorf("%s, step %d: %s is there: %t", c.note, step, w.Name, ok)
					}
					want += one(now)
					new += one(now && !before)
					gone += one(before && !now)
				}
				if u.Store().Len() != want || came != new || left != gone {
					t.Errorf("%s, step %d: %d objects, %d came and %d left; want %d, %d and %d", c.note, step, u.Store().Len(), came, left, want, new, gone)
				}
				asked, sent, decoded := log.take()
				switch {
				case new == 0:
					if len(asked) > 0 {
						t.Errorf("%s, step %d: nothing has come, and asked for %q", c.note, step, asked)
					}
				case bySelector && (sent != want || decoded != new), !bySelector && (sent != objects || decoded != objects-want+new):
					t.Errorf("%s, step %d: the server sent %d objects for %q, of which %d were decoded; %d are new of %d", c.note, step, sent, asked, decoded, new, want)
				}
				had, came, left = ranges, 0, 0
			}
			stop()
		})
	}
}

// While lists fail, the ranges change all the time. What was listed before stays.
func TestPartsWhileListsFail(t *testing.T) {
	for _, selects := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			server := newShardServer(t, selects)
			for n := range 100 {
				must1(fake.Create(server, newWidget("a", fmt.Sprint("w", n), "n")))(t)
			}
			set := new(shard.Hashes)
			u := newDivided(t, shard.Part[*widget]{Hashes: set, Field: shard.FieldUID}, source(t, server), informer.Options[*widget]{OnError: ignore})
			stop := run(t, u)
			first := shard.HashRange{Last: topHash / 16}
			if err := errors.Join(set.Set(first), set.WaitForLists(t.Context())); err != nil {
				t.Fatal(err)
			}
			had := u.Store().Len()
			if err := server.Inject(faults.Fault{Verb: faults.VerbList, Times: -1, Status: faults.Refusal(503, "ServiceUnavailable", 0)}, faults.Fault{Verb: faults.VerbWatch, Times: -1, Status: faults.Refusal(503, "ServiceUnavailable", 0)}); err != nil {
				t.Fatal(err)
			}
			for n := range uint64(100) {
				from := topHash / 16 * (2 + n%13)
				if err := set.Set(first, shard.HashRange{First: from, Last: from + topHash/32}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Second)
				if u.Store().Len() != had {
					t.Fatalf("selects %t: %d objects of %d", selects, u.Store().Len(), had)
				}
			}
			// Only the new ranges lack a list.
			if err := errors.Join(set.Set(first), set.WaitForLists(t.Context())); err != nil {
				t.Error(err)
			}
			server.ClearFaults()
			if err := errors.Join(set.Set(shard.HashRange{Last: topHash}), set.WaitForLists(t.Context())); err != nil || u.Store().Len() != 100 {
				t.Errorf("selects %t: %d objects, %v", selects, u.Store().Len(), err)
			}
			stop()
		})
	}
}

// A change waits for a slow handler. Who waits for lists meanwhile can give up.
func TestWaitForListsGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newShardServer(t, true)
		set := new(shard.Hashes)
		u := newDivided(t, shard.Part[*widget]{Hashes: set, Hash: byName}, source(t, server), informer.Options[*widget]{})
		if err := set.Set(shard.HashRange{Last: topHash}); err != nil {
			t.Fatal(err)
		}
		slow := make(chan struct{})
		must1(u.AddHandler(informer.HandlerFunc[key, *widget](func(informer.Event[key, *widget]) { <-slow }), handlerOptions{}))(t)
		stop := run(t, u)
		if err := set.WaitForLists(t.Context()); err != nil {
			t.Fatal(err)
		}
		for n := range informer.HandlerLag + 3*1024 {
			must1(fake.Create(server, newWidget("a", fmt.Sprint("w", n), "n")))(t)
		}
		synctest.Wait()
		var changed atomic.Bool
		go func() {
			if err := set.Set(shard.HashRange{Last: topHash / 2}); err != nil {
				t.Error(err)
			}
			changed.Store(true)
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := set.WaitForLists(ctx)
		if changed.Load() {
			t.Error("the change did not wait for the handler")
		}
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		close(slow)
		if err := set.WaitForLists(t.Context()); err != nil {
			t.Error(err)
		}
		stop()
	})
}

// Who has waited for the lists sees no object outside the set, though the deletions wait for the
// store.
func TestWaitForListsWaitsForDeletions(t *testing.T) {
	for name, to := range map[string][]shard.HashRange{"less": {{Last: topHash / 2}}, "nothing": nil} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server, set := newShardServer(t, false), new(shard.Hashes)
				for n := range 100 {
					must1(fake.Create(server, newWidget("a", fmt.Sprint("w", n), "n")))(t)
				}
				u := newDivided(t, shard.Part[*widget]{Hashes: set, Hash: byName}, source(t, server), informer.Options[*widget]{})
				if err := set.Set(shard.HashRange{Last: topHash}); err != nil {
					t.Fatal(err)
				}
				stop := run(t, u)
				if err := set.WaitForLists(t.Context()); err != nil {
					t.Fatal(err)
				}
				indexes, commit, indexed := make(chan struct{}), make(chan struct{}), make(chan error, 1)
				var once sync.Once
				slow := index.New("slow", func([]string, *widget) []string {
					once.Do(func() { close(indexes); <-commit })
					return nil
				})
				go func() { indexed <- u.AddIndexes(slow) }() // nothing is committed meanwhile
				<-indexes
				if err := set.Set(to...); err != nil {
					t.Fatal(err)
				}
				impatient, cancel := context.WithCancel(t.Context())
				cancel()
				if err := set.WaitForLists(impatient); !errors.Is(err, context.Canceled) {
					t.Errorf("got %v before anything was committed", err)
				}
				close(commit)
				if err := errors.Join(<-indexed, set.WaitForLists(t.Context())); err != nil {
					t.Fatal(err)
				}
				for w := range u.Store().Values() {
					if !set.Has(byName(w)) {
						t.Errorf("%s is not in the set", w.Name)
					}
				}
				stop()
			})
		})
	}
}

// N replicas have a part of the objects each, and each object is in one of them.
func TestPartsDivideMemory(t *testing.T) {
	for _, selects := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			const objects = 1000
			server := newShardServer(t, selects)
			for n := range objects {
				must1(fake.Create(server, newWidget("a", fmt.Sprint("w", n), "n")))(t)
			}
			for _, replicas := range []int{1, 3, 10} {
				sum := 0
				for n := range replicas {
					set := new(shard.Hashes)
					u := newDivided(t, shard.Part[*widget]{Hashes: set, Field: shard.FieldUID}, source(t, server), informer.Options[*widget]{})
					stop := run(t, u)
					width := topHash / uint64(replicas)
					last := width*uint64(n+1) - 1
					if n == replicas-1 {
						last = topHash
					}
					if err := errors.Join(set.Set(shard.HashRange{First: width * uint64(n), Last: last}), set.WaitForLists(t.Context())); err != nil {
						t.Fatal(err)
					}
					got := u.Store().Len()
					if fair := objects / replicas; got < fair*7/10 || got > fair*13/10 {
						t.Errorf("replica %d of %d has %d objects", n, replicas, got)
					}
					sum += got
					stop()
				}
				if sum != objects {
					t.Errorf("%d replicas have %d objects", replicas, sum)
				}
			}
		})
	}
}

// A panic in the user's hash ends Run with an error.
func TestPartPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		must1(fake.Create(server, newWidget("a", "w", "n")))(t)
		set := new(shard.Hashes)
		bad := func(*widget) uint64 { panic("no hash") }
		u := newDivided(t, shard.Part[*widget]{Hashes: set, Hash: bad}, source(t, server), informer.Options[*widget]{OnError: ignore})
		if err := set.Set(shard.HashRange{Last: topHash}); err != nil {
			t.Fatal(err)
		}
		if err := u.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "no hash") {
			t.Error(err)
		}
	})
}

// TestRandomParts compares informers whose ranges come and go with the server's objects, while these
// change, requests fail and informers stop.
func TestRandomParts(t *testing.T) {
	for seed := *firstSeed; seed < *firstSeed+longtest.N[uint64](100, 10_000); seed++ {
		if !t.Run(fmt.Sprint("seed", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { newPartLife(t, seed).run() })
		}) {
			return
		}
	}
}

// partLife is one random schedule.
type partLife struct {
	life
	set  *shard.Hashes
	hash func(*widget) uint64
}

// randomPart returns the part by names or by UIDs, and notes its hash.
func (l *partLife) randomPart() shard.Part[*widget] {
	if l.rand.IntN(2) == 0 {
		l.hash = func(w *widget) uint64 { return shard.ServerHash(string(w.UID)) }
		return shard.Part[*widget]{Hashes: l.set, Field: shard.FieldUID}
	}
	return shard.Part[*widget]{Hashes: l.set, Hash: byName}
}

func newPartLife(t *testing.T, seed uint64) *partLife {
	r := rand.New(rand.NewPCG(seed, 19))
	l := &partLife{life: life{t: t, rand: r, server: newShardServer(t, r.IntN(2) == 0)}, set: new(shard.Hashes), hash: byName}
	l.inf = newDivided(t, l.randomPart(), source(t, l.server), randomOptions(r))
	must1(l.inf.AddHandler(newHistory(t, l.inf), handlerOptions{}))(t)
	return l
}

func (l *partLife) run() {
	l.stop = run(l.t, l.inf)
	for range 120 {
		switch n := l.rand.IntN(100); {
		case n < 50:
			l.write()
		case n < 54:
			l.server.DropWatches()
		case n < 57:
			if err := l.server.Compact(l.server.ResourceVersion()); err != nil {
				l.t.Fatal(err)
			}
		case n < 60:
			l.fault()
		case n < 75:
			l.move()
		case n < 78:
			l.stop()
			for range l.rand.IntN(4) {
				[]func(){l.write, l.move}[l.rand.IntN(2)]()
			}
			l.stop = run(l.t, l.inf)
		case n < 90:
			time.Sleep(time.Duration(l.rand.IntN(5000)) * time.Millisecond)
		default:
			synctest.Wait()
		}
	}
	l.server.ClearFaults()
	if err := l.set.WaitForLists(l.t.Context()); err != nil {
		l.t.Error(err)
	}
	l.quiet()
	var want []string
	for _, w := range must1(fake.List[*widget](l.server, fake.Selection{}))(l.t) {
		if in(l.set.Ranges(), l.hash(w)) {
			want = append(want, w.Name+" "+w.ResourceVersion)
		}
	}
	var got []string
	for w := range l.inf.Store().Values() {
		got = append(got, w.Name+" "+w.ResourceVersion)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		l.t.Errorf("%v: got %v, want %v", l.set.Ranges(), got, want)
	}
	l.stop()
}

// move makes up a new set, or changes the present one.
func (l *partLife) move() {
	ranges := l.set.Ranges()
	if len(ranges) > 0 && l.rand.IntN(2) == 0 {
		ranges = slices.Delete(ranges, 0, 1)
	}
	for range l.rand.IntN(4) {
		a, b := l.rand.Uint64(), l.rand.Uint64()
		ranges = append(ranges, shard.HashRange{First: min(a, b), Last: max(a, b)})
	}
	if l.rand.IntN(4) == 0 && len(ranges) > 0 {
		ranges = []shard.HashRange{{First: 0, Last: l.rand.Uint64()}}
	}
	if err := l.set.Set(ranges...); err != nil {
		l.t.Fatal(err)
	}
}

func in(ranges []shard.HashRange, hash uint64) bool {
	return slices.ContainsFunc(ranges, func(r shard.HashRange) bool { return r.First <= hash && hash <= r.Last })
}

func one(is bool) int {
	if is {
		return 1
	}
	return 0
}

// TestPartMisused: a part's source serves one informer, and neither one over namespaces nor a sink that cannot follow.
func TestPartMisused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, set := newServer(t), new(shard.Hashes)
		src := must1(shard.Part[*widget]{Hashes: set, Hash: byName}.Source(source(t, server)))(t)
		places := newPlaces(t, informer.Options[*widget]{})
		places.sources["a"] = src
		if err := places.set.Add("a"); !errors.Is(err, mistake.NoPruner) || !strings.Contains(err.Error(), `widgets: namespace "a": `) {
			t.Error(err)
		}
		if _, err := reflector.New(src, reflector.Sink[*widget](noSink{}), reflector.Options{}); !errors.Is(err, mistake.NoPruner) {
			t.Error(err)
		}
		_, err := src.List(t.Context(), metav1.ListOptions{}, func(reflector.Event[*widget], error) bool { return true })
		if !errors.Is(err, shard.ErrHashes) {
			t.Errorf("without a reflector: %v", err)
		}
		one, two := newInformer(t, src, informer.Options[*widget]{}), newInformer(t, src, informer.Options[*widget]{})
		stop := run(t, one)
		synctest.Wait()
		if err := two.Run(t.Context()); !errors.Is(err, shard.ErrHashes) {
			t.Errorf("two informers: %v", err)
		}
		stop()
		run(t, two)()
	})
}

type noSink struct{ reflector.Sink[*widget] }

// TestPartWrites: a write of this process enters a part only if its object is in it.
func TestPartWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, set := newServer(t), new(shard.Hashes)
		u := newDivided(t, shard.Part[*widget]{Hashes: set, Hash: byName}, source(t, server), informer.Options[*widget]{})
		stop := run(t, u)
		w := must1(fake.Create(server, newWidget("a", "w", "n")))(t)
		k := key{Namespace: "a", Name: "w"}
		for _, in := range []bool{false, true, false} {
			var ranges []shard.HashRange
			if in {
				ranges = []shard.HashRange{{First: byName(w), Last: byName(w)}}
			}
			if err := errors.Join(set.Set(ranges...), set.WaitForLists(t.Context())); err != nil {
				t.Fatal(err)
			}
			w.Spec.Size++
			w = must1(fake.Update(server, w))(t)
			if err := u.RecordWrite(w, ""); err != nil {
				t.Error(err)
			}
			if got, ok := u.Get(k); ok != in || ok && got.ResourceVersion != w.ResourceVersion {
				t.Errorf("in the part %t: reads have %v", in, got)
			}
		}
		stop()
	})
}
