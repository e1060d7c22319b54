package deltafifo

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
)

// server is a producer that knows the truth: what a client would have that had taken in
// every delta at once. It writes down the truth at each version.
type server struct {
	rnd     *rand.Rand
	keys    int
	objects int
	told    map[int]int
	version int

	mu      sync.Mutex
	history map[string]map[int]int
}

func newServer(seed uint64) *server {
	rnd := rand.New(rand.NewPCG(seed, 2))
	return &server{rnd: rnd, keys: 1 + rnd.IntN(12), told: map[int]int{}, history: map[string]map[int]int{"": {}}}
}

func (s *server) at(rv string) (map[int]int, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	truth, ok := s.history[rv]
	return truth, ok
}

// step does one random thing. If the queue takes nothing, it has not happened.
func (s *server) step(ctx context.Context, f *DeltaFIFO[int, int]) error {
	s.objects++
	s.version++
	rv, key, obj := strconv.Itoa(s.version), s.rnd.IntN(s.keys), s.objects
	next := maps.Clone(s.told)
	var tell func() error
	switch op := s.rnd.IntN(20); {
	case op < 10:
		_, exists := next[key]
		next[key] = obj
		tell = func() error { return f.Add(ctx, key, obj, rv) }
		if exists {
			tell = func() error { return f.Update(ctx, key, obj, rv) }
		}
	case op < 16: // often of a key that is gone already
		delete(next, key)
		tell = func() error { return f.Delete(ctx, key, obj, rv) }
	case op < 17:
		tell = func() error { return f.Bookmark(ctx, rv) }
	case op < 18:
		tell = func() error { return f.Resync(ctx) }
	default:
		var list Replacement[int, int]
		list, next = s.list(rv)
		tell = func() error { return f.Replace(ctx, list) }
	}
	s.mu.Lock()
	s.history[rv] = next // before the consumer can ask
	s.mu.Unlock()
	if err := tell(); err != nil {
		return err
	}
	s.told = next
	return nil
}

// list returns what is there after a time in which the queue was told nothing.
func (s *server) list(rv string) (Replacement[int, int], map[int]int) {
	var items []keyedObject[int, int]
	next, kept := map[int]int{}, map[int]bool{}
	quiet := s.rnd.IntN(2) == 0 // little has happened
	for key := range s.keys {
		old, existed := s.told[key]
		fate := s.rnd.IntN(4)
		if quiet && s.rnd.IntN(8) > 0 {
			fate = 0
		}
		switch fate {
		case 0: // as it was
			if existed {
				items, next[key] = append(items, keyedObject[int, int]{key, old}), old
			}
		case 1: // new or changed
			s.objects++
			items, next[key] = append(items, keyedObject[int, int]{key, s.objects}), s.objects
		case 2: // not readable
			kept[key] = true
			if existed {
				next[key] = old
			}
		}
	}
	s.rnd.Shuffle(len(items), func(i, j int) {
		items[i], items[j] = items[j], items[i]
	})
	if len(items) > 0 && s.rnd.IntN(4) == 0 { // twice, as when pages overlap
		items = slices.Insert(items, 0, keyedObject[int, int]{items[0].Key, -1})
	}
	list := Replacement[int, int]{Objects: objectsOf(items...), ResourceVersion: rv}
	if len(kept) > 0 || s.rnd.IntN(2) == 0 {
		list.Keep = func(key, _ int) bool { return kept[key] }
	}
	return list, next
}

// client is a consumer that keeps a store and judges what it gets.
type client struct {
	t      *testing.T
	server *server
	store  *shelf[int]
	fails  *rand.Rand   // of the keys, one in four
	owed   map[int]bool // keys given back
	seen   map[int]int  // what the deltas so far say
	synced bool
	popped bool // something, ever
	rv     string
	todo   []func()
}

func newClient(t *testing.T, s *server, seed uint64) *client {
	return &client{
		t: t, server: s, store: newShelf[int](), seen: map[int]int{}, owed: map[int]bool{},
		fails: rand.New(rand.NewPCG(seed, 4)),
	}
}

// take checks a batch, and leaves it to be committed piece by piece, but for the keys
// that it gives back.
func (c *client) take(f *DeltaFIFO[int, int], b Batch[int, int]) {
	initial := false
	owed := c.owed
	c.owed = map[int]bool{}
	for key, deltas := range b.All() {
		delete(owed, key)
		initial = initial || deltas[0].Initial && !c.synced
		if c.fails.IntN(4) == 0 {
			if err := f.Requeue(key); err != nil {
				c.t.Fatal(err)
			}
			c.owed[key] = true
			continue
		}
		for _, d := range deltas {
			c.judge(key, d)
		}
		last := slices.Clone(deltas) // a list's delta is gone with the next key
		c.todo = append(c.todo, func() { c.store.commit(key, last) })
	}
	if initial && !b.EndsInitialList() || b.EndsInitialList() && c.synced {
		c.t.Fatalf("initial deltas: %t, the last of them: %t, synced before: %t", initial, b.EndsInitialList(), c.synced)
	}
	if len(owed) > 0 {
		c.t.Fatalf("keys %v were given back and have not come", owed)
	}
	c.synced = c.synced || b.EndsInitialList()
	if rv := b.ResourceVersion(); rv != "" { // else there are just Sync deltas and what was owed
		c.rv = rv
	}
}

// judge checks that a delta may follow those that the key had before it.
func (c *client) judge(key int, d Delta[int]) {
	c.t.Helper()
	old, exists := c.seen[key]
	legal := true
	switch d.Type {
	case Added:
		legal = !exists
	case Updated:
		legal = exists
	case Sync:
		legal = exists && d.Object == old
	case Deleted:
		legal = exists && (!d.FinalStateUnknown || d.Object == old)
	}
	if !legal {
		c.t.Fatalf("key %d: %+v cannot follow %d, %t", key, d, old, exists)
	}
	if d.Type == Deleted {
		delete(c.seen, key)
	} else {
		c.seen[key] = d.Object
	}
}

// committed checks that the store is as the server was at the version of the batch, but
// for what is owed.
func (c *client) committed() {
	c.t.Helper()
	want, ok := c.server.at(c.rv)
	want = maps.Clone(want)
	got := c.store.content()
	for key := range c.owed {
		delete(want, key)
		delete(got, key)
	}
	if !ok || !maps.Equal(got, want) {
		c.t.Fatalf("at %q: got %v, want %v", c.rv, got, want)
	}
}

// Both sides run step by step, in an order chosen at random.
func TestStoreFollowsServer(t *testing.T) {
	runs, steps := 400, 500
	if testing.Short() {
		runs = 40
	}
	for seed := range runs {
		s := newServer(uint64(seed))
		c := newClient(t, s, uint64(seed))
		f := New(c.store, Options{Limit: 1 + s.rnd.IntN(30)})
		eager := 2 + s.rnd.IntN(18) // of 20 steps the producer's
		for range steps {
			if s.rnd.IntN(20) < eager {
				if err := s.step(never, f); err != nil && !errors.Is(err, context.Canceled) {
					t.Fatal(err)
				}
			} else {
				c.step(f)
			}
			f.check(t)
		}
		f.Close()
		for c.step(f) {
		}
		if got := c.store.content(); !maps.Equal(got, s.told) {
			t.Fatalf("seed %d: got %v in the end, want %v", seed, got, s.told)
		}
	}
}

// step commits one piece or takes the next batch. It reports whether the queue has more.
func (c *client) step(f *DeltaFIFO[int, int]) bool {
	if len(c.todo) > 0 {
		c.todo[0]()
		c.todo = c.todo[1:]
		return true
	}
	if c.popped {
		c.committed()
	}
	b, err := f.Pop(never)
	if err != nil {
		c.popped = false
		return !errors.Is(err, ErrClosed)
	}
	c.popped = true
	c.take(f, b)
	return true
}

// The same with a goroutine on each side, and one that looks on.
func TestStoreFollowsServerConcurrently(t *testing.T) {
	runs, steps := 30, 2000
	if testing.Short() {
		runs = 4
	}
	for seed := range runs {
		s := newServer(uint64(seed))
		c := newClient(t, s, uint64(seed))
		f := New(c.store, Options{Limit: 1 + s.rnd.IntN(64)})
		var wg sync.WaitGroup
		wg.Go(func() {
			defer f.Close()
			for range steps {
				if err := s.step(t.Context(), f); err != nil {
					t.Error(err)
					return
				}
			}
		})
		stop := make(chan struct{})
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := f.verify(); err != nil {
					t.Error(err)
					return
				}
				runtime.Gosched()
			}
		})
		consume(t, c, f)
		close(stop)
		wg.Wait()
		if got := c.store.content(); !maps.Equal(got, s.told) {
			t.Fatalf("seed %d: got %v in the end, want %v", seed, got, s.told)
		}
	}
}

func consume(t *testing.T, c *client, f *DeltaFIFO[int, int]) {
	for {
		b, err := f.Pop(t.Context())
		if errors.Is(err, ErrClosed) {
			return
		}
		if err != nil {
			t.Error(err)
			return
		}
		c.take(f, b)
		for _, commit := range c.todo {
			commit()
		}
		c.todo = nil
		c.committed()
	}
}

// Many producers, each with its own keys, all of them often waiting for room.
func TestManyProducers(t *testing.T) {
	const producers, keys, steps = 8, 5, 3000
	c := newClient(t, nil, 1)
	f := New(c.store, Options{Limit: 3})
	truth := make([]map[int]int, producers)
	var wg sync.WaitGroup
	for p := range producers {
		truth[p] = map[int]int{}
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(p), 3))
			for i := range steps {
				key := p*keys + rnd.IntN(keys)
				_, exists := truth[p][key]
				var err error
				switch {
				case rnd.IntN(3) == 0:
					delete(truth[p], key)
					err = f.Delete(t.Context(), key, i, "")
				case exists:
					truth[p][key] = i
					err = f.Update(t.Context(), key, i, "")
				default:
					truth[p][key] = i
					err = f.Add(t.Context(), key, i, "")
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	go func() { wg.Wait(); f.Close() }()
	for {
		b, err := f.Pop(t.Context())
		if err != nil {
			break
		}
		if b.Len() > 2*3 {
			t.Fatalf("a batch of %d deltas, over twice the limit", b.Len())
		}
		c.take(f, b)
		for _, commit := range c.todo {
			commit()
		}
		c.todo = nil
	}
	want := map[int]int{}
	for _, own := range truth {
		maps.Copy(want, own)
	}
	if got := c.store.content(); !maps.Equal(got, want) || !maps.Equal(c.seen, want) {
		t.Fatalf("store %v, deltas %v, want %v", got, c.seen, want)
	}
}
