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

	"github.com/kinform/kinform/deltafifo"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/internal/longtest"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/reflector"
)

const topHash = ^uint64(0)

// lists counts the lists of a source, and the objects that the server sent for them.
type lists struct {
	reflector.Source[*widget]

	mu      sync.Mutex
	asked   []string // the shards of the lists
	objects int
}

func (l *lists) List(ctx context.Context, opts metav1.ListOptions, yield func(reflector.Event[*widget], error) bool) (metav1.ListMeta, error) {
	l.mu.Lock()
	l.asked = append(l.asked, opts.ShardSelector)
	l.mu.Unlock()
	return l.Source.List(ctx, opts, func(ev reflector.Event[*widget], err error) bool {
		l.mu.Lock()
		l.objects++
		l.mu.Unlock()
		return yield(ev, err)
	})
}

// take returns what was asked for since the last call, and the number of objects that came.
func (l *lists) take() (asked []string, objects int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	asked, objects = l.asked, l.objects
	l.asked, l.objects = nil, 0
	return asked, objects
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
func byName(w *widget) uint64 { return reflector.ShardHash(w.Name) * 0x9e3779b97f4a7c15 }

// A range that comes costs a list of just that if the server selects, and one of all if not. A
// range that goes costs nothing, and what stays is not touched.
func TestParts(t *testing.T) {
	uid := func(w *widget) uint64 { return reflector.ShardHash(string(w.UID)) }
	for _, c := range []struct {
		note    string
		selects bool
		part    informer.Part[*widget]
		hash    func(*widget) uint64
	}{
		{"selected by the server", true, informer.Part[*widget]{Field: reflector.ShardUID}, uid},
		{"not selected by an older server", false, informer.Part[*widget]{Field: reflector.ShardUID}, uid},
		{"dropped as it arrives", true, informer.Part[*widget]{Hash: byName}, byName},
	} {
		synctest.Test(t, func(t *testing.T) {
			const objects = 400
			server := newShardServer(t, c.selects)
			for n := range objects {
				must1(fake.Create(server, newWidget("a", fmt.Sprint("w", n), "n")))(t)
			}
			log := &lists{Source: source(t, server)}
			set := new(informer.Hashes)
			c.part.Hashes = set
			u := newUnion(t, informer.Options[*widget]{Reflector: reflector.Tuning{DisableWatchList: true}})
			if err := u.FollowHashes(c.part, log); err != nil {
				t.Fatal(err)
			}
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
			stop := run(t, u.AsInformer())
			if err := u.WaitForSync(t.Context()); err != nil || u.Store().Len() > 0 {
				t.Errorf("%s: an empty set: %v, %d objects", c.note, err, u.Store().Len())
			}
			bySelector := c.selects && c.part.Field != ""
			var had []informer.HashRange
			for step, ranges := range [][]informer.HashRange{
				{{0, topHash / 2}},
				{{0, topHash / 4}},
				{{0, topHash / 4}, {topHash / 2, topHash / 4 * 3}},
				{{0, topHash/4 - 5}, {topHash / 2, topHash}},
				{{topHash / 8, topHash/4 - 5}, {topHash / 2, topHash / 4 * 3}},
				{},
				{{0, topHash}},
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
				asked, sent := log.take()
				switch {
				case new == 0:
					if len(asked) > 0 {
						t.Errorf("%s, step %d: nothing has come, and asked for %q", c.note, step, asked)
					}
				case bySelector && sent != new, !bySelector && sent != objects:
					t.Errorf("%s, step %d: the server sent %d objects for %q, and %d are new", c.note, step, sent, asked, new)
				}
				if most := len(u.Members()); most > 3 || !bySelector && most > 1 {
					t.Errorf("%s, step %d: %d members", c.note, step, most)
				}
				had, came, left = ranges, 0, 0
			}
			stop()
		})
	}
}

// While lists fail, the ranges change all the time. The members do not pile up, and what was listed
// before goes on.
func TestPartsWhileListsFail(t *testing.T) {
	for _, selects := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			server := newShardServer(t, selects)
			for n := range 100 {
				must1(fake.Create(server, newWidget("a", fmt.Sprint("w", n), "n")))(t)
			}
			set := new(informer.Hashes)
			u := newUnion(t, informer.Options[*widget]{OnError: ignore})
			if err := u.FollowHashes(informer.Part[*widget]{Hashes: set, Field: reflector.ShardUID}, source(t, server)); err != nil {
				t.Fatal(err)
			}
			stop := run(t, u.AsInformer())
			first := informer.HashRange{Last: topHash / 16}
			if err := errors.Join(set.Set(first), set.WaitForLists(t.Context())); err != nil {
				t.Fatal(err)
			}
			had := u.Store().Len()
			if err := server.Inject(faults.Fault{Verb: faults.VerbList, Times: -1, Status: faults.Refusal(503, "ServiceUnavailable", 0)}, faults.Fault{Verb: faults.VerbWatch, Times: -1, Status: faults.Refusal(503, "ServiceUnavailable", 0)}); err != nil {
				t.Fatal(err)
			}
			most := 0
			for n := range uint64(100) {
				from := topHash / 16 * (2 + n%13)
				if err := set.Set(first, informer.HashRange{First: from, Last: from + topHash/32}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Second)
				most = max(most, len(u.Members()))
			}
			if most > 6 || u.Store().Len() != had {
				t.Errorf("selects %t: up to %d members, %d objects of %d", selects, most, u.Store().Len(), had)
			}
			server.ClearFaults()
			if err := errors.Join(set.Set(informer.HashRange{Last: topHash}), set.WaitForLists(t.Context())); err != nil || u.Store().Len() != 100 {
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
		set := new(informer.Hashes)
		u := newUnion(t, informer.Options[*widget]{})
		err := errors.Join(u.FollowHashes(informer.Part[*widget]{Hashes: set, Hash: byName}, source(t, server)), set.Set(informer.HashRange{Last: topHash}))
		if err != nil {
			t.Fatal(err)
		}
		slow := make(chan struct{})
		must1(u.AddHandler(informer.HandlerFunc[key, *widget](func(informer.Event[key, *widget]) { <-slow }), handlerOptions{}))(t)
		stop := run(t, u.AsInformer())
		if err := set.WaitForLists(t.Context()); err != nil {
			t.Fatal(err)
		}
		for n := range informer.HandlerLag + 3*deltafifo.DefaultLimit {
			must1(fake.Create(server, newWidget("a", fmt.Sprint("w", n), "n")))(t)
		}
		synctest.Wait()
		var changed atomic.Bool
		go func() {
			if err := set.Set(informer.HashRange{Last: topHash / 2}); err != nil {
				t.Error(err)
			}
			changed.Store(true)
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err = set.WaitForLists(ctx)
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
	for name, to := range map[string][]informer.HashRange{"less": {{Last: topHash / 2}}, "nothing": nil} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server, set := newShardServer(t, false), new(informer.Hashes)
				for n := range 100 {
					must1(fake.Create(server, newWidget("a", fmt.Sprint("w", n), "n")))(t)
				}
				u := newUnion(t, informer.Options[*widget]{})
				err := errors.Join(u.FollowHashes(informer.Part[*widget]{Hashes: set, Hash: byName}, source(t, server)), set.Set(informer.HashRange{Last: topHash}))
				if err != nil {
					t.Fatal(err)
				}
				stop := run(t, u.AsInformer())
				if err := set.WaitForLists(t.Context()); err != nil {
					t.Fatal(err)
				}
				indexes, commit, indexed := make(chan struct{}), make(chan struct{}), make(chan error, 1)
				var once sync.Once
				slow := index.New("slow", func([]string, *widget) []string {
					once.Do(func() { close(indexes); <-commit })
					return nil
				})
				go func() { indexed <- u.AsInformer().AddIndexes(slow) }() // nothing is committed meanwhile
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
					set := new(informer.Hashes)
					u := newUnion(t, informer.Options[*widget]{})
					if err := u.FollowHashes(informer.Part[*widget]{Hashes: set, Field: reflector.ShardUID}, source(t, server)); err != nil {
						t.Fatal(err)
					}
					stop := run(t, u.AsInformer())
					width := topHash / uint64(replicas)
					last := width*uint64(n+1) - 1
					if n == replicas-1 {
						last = topHash
					}
					if err := errors.Join(set.Set(informer.HashRange{First: width * uint64(n), Last: last}), set.WaitForLists(t.Context())); err != nil {
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

// TestHashesAlone: a union that follows hashes can have no other members, since they would take
// objects outside the set for their own.
func TestHashesAlone(t *testing.T) {
	server, set := newServer(t), new(informer.Hashes)
	part := informer.Part[*widget]{Hashes: set, Hash: byName}
	sources := func(ns string) (map[string]reflector.Source[*widget], error) {
		return map[string]reflector.Source[*widget]{ns: source(t, server)}, nil
	}
	add := func(u *informer.Union[key, *widget]) error { _, err := u.Add("x", source(t, server), nil); return err }
	hashes := func(u *informer.Union[key, *widget]) error { return u.FollowHashes(part, source(t, server)) }
	none := func(u *informer.Union[key, *widget]) error { return u.Follow(new(informer.Namespaces), sources, nil) }
	for note, c := range map[string]struct {
		first, second func(*informer.Union[key, *widget]) error
		about         string
	}{
		"a member, then hashes":     {add, hashes, "widgets: "},
		"namespaces, then hashes":   {none, hashes, "widgets: "},
		"hashes, then a member":     {hashes, add, `widgets: member "x": `},
		"hashes, then namespaces":   {hashes, none, "widgets: "},
		"hashes, then other hashes": {hashes, hashes, "widgets: "},
	} {
		u := newUnion(t, informer.Options[*widget]{})
		if err := c.first(u); err != nil {
			t.Errorf("%s: %v", note, err)
		}
		if err := c.second(u); !errors.Is(err, informer.ErrHashesAlone) || !strings.HasPrefix(err.Error(), c.about) {
			t.Errorf("%s: %v", note, err)
		}
	}

	// After an error, the union is as before.
	u := newUnion(t, informer.Options[*widget]{})
	part.Hash, part.Field = nil, "name"
	if err := hashes(u); !errors.Is(err, reflector.ErrBadShard) {
		t.Error(err)
	}
	if err := add(u); err != nil {
		t.Error(err)
	}
}

func TestBadParts(t *testing.T) {
	server := newServer(t)
	set := new(informer.Hashes)
	for note, part := range map[string]informer.Part[*widget]{
		"no set":  {Hash: byName},
		"no hash": {Hashes: set},
		"both":    {Hashes: set, Hash: byName, Field: reflector.ShardUID},
	} {
		if err := newUnion(t, informer.Options[*widget]{}).FollowHashes(part, source(t, server)); !errors.Is(err, informer.ErrHashes) || !strings.Contains(err.Error(), "widgets: ") {
			t.Errorf("%s: %v", note, err)
		}
		if has, err := part.Has(nil); has || !errors.Is(err, informer.ErrHashes) {
			t.Errorf("%s: has is %t, %v", note, has, err)
		}
	}
	if err := newUnion(t, informer.Options[*widget]{}).FollowHashes(informer.Part[*widget]{Hashes: set, Field: "name"}, source(t, server)); !errors.Is(err, reflector.ErrBadShard) {
		t.Error(err)
	}
	if err := newUnion(t, informer.Options[*widget]{}).FollowHashes(informer.Part[*widget]{Hashes: set, Hash: byName}, nil); !errors.Is(err, reflector.ErrNoSource) {
		t.Error(err)
	}
	if err := set.Set(informer.HashRange{First: 2, Last: 1}); !errors.Is(err, informer.ErrHashes) {
		t.Error(err)
	}
}

// A panic in the user's hash ends Run with an error.
func TestPartPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		must1(fake.Create(server, newWidget("a", "w", "n")))(t)
		set := new(informer.Hashes)
		u := newUnion(t, informer.Options[*widget]{OnError: ignore})
		bad := func(*widget) uint64 { panic("no hash") }
		if err := errors.Join(u.FollowHashes(informer.Part[*widget]{Hashes: set, Hash: bad}, source(t, server)), set.Set(informer.HashRange{Last: topHash})); err != nil {
			t.Fatal(err)
		}
		if err := u.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "no hash") {
			t.Error(err)
		}
	})
}

// TestRandomParts compares unions whose ranges come and go with the server's objects, while these
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
	union *informer.Union[key, *widget]
	set   *informer.Hashes
	hash  func(*widget) uint64
}

// randomPart returns the part by names or by UIDs, and notes its hash.
func (l *partLife) randomPart() informer.Part[*widget] {
	if l.rand.IntN(2) == 0 {
		l.hash = func(w *widget) uint64 { return reflector.ShardHash(string(w.UID)) }
		return informer.Part[*widget]{Hashes: l.set, Field: reflector.ShardUID}
	}
	return informer.Part[*widget]{Hashes: l.set, Hash: byName}
}

func newPartLife(t *testing.T, seed uint64) *partLife {
	r := rand.New(rand.NewPCG(seed, 19))
	l := &partLife{life: life{t: t, rand: r, server: newShardServer(t, r.IntN(2) == 0)}, set: new(informer.Hashes), hash: byName}
	l.union = newUnion(t, randomOptions(r))
	l.inf = l.union.AsInformer()
	part := l.randomPart()
	if err := l.union.FollowHashes(part, source(t, l.server)); err != nil {
		t.Fatal(err)
	}
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
	for w := range l.union.Store().Values() {
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
		ranges = append(ranges, informer.HashRange{First: min(a, b), Last: max(a, b)})
	}
	if l.rand.IntN(4) == 0 && len(ranges) > 0 {
		ranges = []informer.HashRange{{First: 0, Last: l.rand.Uint64()}}
	}
	if err := l.set.Set(ranges...); err != nil {
		l.t.Fatal(err)
	}
}

func in(ranges []informer.HashRange, hash uint64) bool {
	return slices.ContainsFunc(ranges, func(r informer.HashRange) bool { return r.First <= hash && hash <= r.Last })
}

func one(is bool) int {
	if is {
		return 1
	}
	return 0
}
