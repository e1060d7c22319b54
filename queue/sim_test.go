package queue

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinform/kinform/internal/longtest"
	"github.com/kinform/kinform/internal/memtest"
	"github.com/kinform/kinform/internal/note"
)

// source gives the choices that a simulation makes: random numbers, or the bytes of a fuzzer.
type source interface {
	// choose gives a number from 0 to n-1, n at most 256; false: no more.
	choose(n int) (int, bool)
}

type randomSource struct {
	*rand.Rand
	left int
}

func (s *randomSource) choose(n int) (int, bool) {
	s.left--
	return s.IntN(n), s.left > 0
}

type byteSource []byte

func (s *byteSource) choose(n int) (int, bool) {
	if len(*s) == 0 {
		return 0, false
	}
	b := (*s)[0]
	*s = (*s)[1:]
	return int(b) % n, true
}

// sim does the same operations to a queue and to its model and compares all that can be seen.
type sim struct {
	t     *testing.T
	src   source
	q     *Queue[string]
	m     *model
	out   []Item[string] // handed out
	stale []Item[string] // given back
	every int            // number of operations between two checks of the invariants
	ended bool
}

// simOptions are the configurations that are simulated.
func simOptions() []Options[string] {
	class := func(k string) string { return string('A' + k[0]%3) }
	return []Options[string]{
		{},
		{Timing: true, Limiter: FastSlow[string]{Fast: 0, Slow: time.Millisecond, Attempts: 2}},
		{Class: class, Limiter: MaxWait[string]{Max: 40 * time.Millisecond}},
		{Class: class, Debounce: 1000},
		{Timing: true, Debounce: 1000},
	}
}

// longestHold of a key by the debounce. No operation is at such a time after another.
const longestHold = 4001

// simQueue returns a queue as the model is: without ageing.
func simQueue(opts Options[string]) *Queue[string] {
	q := New(opts)
	q.ageAfter, q.debounceMax = math.MaxInt64, longestHold
	return q
}

func newSim(t *testing.T, opts Options[string], src source, every int) *sim {
	return &sim{t: t, src: src, q: simQueue(opts), m: newModel(opts), every: every}
}

// run operates until the source ends, or limit operations.
func (s *sim) run(limit int) (steps int) {
	for ; !s.ended && steps < limit; steps++ {
		s.step()
		time.Sleep(2 * time.Nanosecond) // no two operations at the same time
		s.settle()
		if steps%s.every == 0 {
			s.q.check(s.t)
		}
		if s.t.Failed() {
			return steps
		}
	}
	s.q.check(s.t)
	s.compare()
	return steps
}

func (s *sim) choose(n int) int {
	c, ok := s.src.choose(n)
	s.ended = s.ended || !ok
	return c
}

// settle lets the timer's goroutine do its work, in both worlds.
func (s *sim) settle() {
	synctest.Wait()
	s.m.pass(time.Now())
}

func (s *sim) key() string { return string(rune('a' + s.choose(14))) }

func (s *sim) prio() int {
	if s.choose(3) == 0 {
		return s.choose(24) - 8
	}
	return [...]int{0, 0, 0, 5}[s.choose(4)]
}

// delay is often one that ends at the time of another.
func (s *sim) delay() time.Duration {
	return time.Duration(1+s.choose(200)) * time.Duration(1+s.choose(200)) * 10
}

func (s *sim) step() {
	now := time.Now()
	switch op := s.choose(32); op {
	case 0, 1, 2, 3, 4, 5:
		k := s.key()
		s.q.Add(k)
		s.m.add(now, k, 0, note.ByHand)
	case 6, 7, 8:
		k, p, n := s.key(), s.prio(), note.Event+note.Note(s.choose(5))
		s.q.AddWith(k, AddOptions{Priority: p, Note: n})
		s.m.add(now, k, p, n)
	case 9, 10, 11:
		k, d := s.key(), s.delay()
		s.q.AddAfter(k, d)
		s.m.addAfter(now, k, 0, d, false, note.Delayed)
	case 12:
		k, p, d := s.key(), s.prio(), s.delay()
		s.q.AddWith(k, AddOptions{Priority: p, After: d, Replace: true})
		s.m.addAfter(now, k, p, d, true, note.Delayed)
	case 13:
		k := s.key()
		s.q.AddWith(k, AddOptions{Replace: true, After: -1})
		s.m.cancel(k)
		s.m.add(now, k, 0, note.ByHand)
	case 14, 15:
		s.rateLimited(now)
	case 16, 17, 18, 19, 20, 21:
		s.get()
	case 22:
		s.batch()
	case 23, 24, 25, 26, 27:
		s.done()
	case 28:
		k := s.key()
		s.q.Forget(k)
		delete(s.m.failures, k)
	case 29:
		k := s.key()
		if got, want := s.q.Cancel(k), s.m.cancel(k); got != want {
			s.t.Errorf("Cancel(%s) = %v, want %v", k, got, want)
		}
	case 30:
		time.Sleep(s.delay() / 4 * 2)
		s.settle()
	case 31:
		s.rare()
	}
	if got, want := s.q.Len(), len(s.m.queued); got != want {
		s.t.Errorf("Len = %d, want %d", got, want)
	}
}

func (s *sim) rateLimited(now time.Time) {
	k, p := s.key(), s.prio()
	d := min(s.delay(), 4*time.Millisecond+time.Duration(s.choose(256)))
	s.q.AddWith(k, AddOptions{Priority: p, RateLimited: true, After: d})
	s.m.addRateLimited(now, k, p, d, false)
}

func (s *sim) get() {
	if len(s.m.queued) == 0 {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := s.q.Get(ctx); !errors.Is(err, context.Canceled) {
			s.t.Errorf("Get with an ended context = %v", err)
		}
		return
	}
	var notes note.Notes
	it, err := get(context.Background(), s.q, false, &notes)
	if want := s.m.next(); err != nil || it.Key != want.key || it.Priority != want.prio {
		s.t.Errorf("Get = %s %d, %v, want %v", it.Key, it.Priority, err, want)
	}
	s.sameNotes(it.Key, notes, s.m.take(it.Key))
	s.out = append(s.out, it)
}

func (s *sim) batch() {
	n := 1 + s.choose(5)
	if len(s.m.queued) == 0 {
		return
	}
	its, err := s.q.GetBatch(context.Background(), nil, n)
	if want := min(n, len(s.m.queued)); err != nil || len(its) != want {
		s.t.Errorf("GetBatch(%d) = %d items, %v, want %d", n, len(its), err, want)
	}
	for _, it := range its {
		if want := s.m.next(); it.Key != want.key || it.Priority != want.prio {
			s.t.Errorf("GetBatch = %s %d, want %v", it.Key, it.Priority, want)
		}
		s.m.take(it.Key)
	}
	s.out = append(s.out, its...)
}

// done gives something back: usually what was handed out, by handle or key, sometimes a thing that
// was not.
func (s *sim) done() {
	how := s.choose(8)
	if how == 0 {
		if len(s.stale) > 0 {
			if it := s.stale[s.choose(min(256, len(s.stale)))]; it.Done() {
				s.t.Errorf("a second Done of %s reported true", it.Key)
			}
		}
		return
	}
	if how == 1 {
		k := s.key()
		_, want := s.m.running[k]
		if want {
			return
		}
		if s.q.Done(k) {
			s.t.Errorf("Done(%s) without Get reported true", k)
		}
		return
	}
	if len(s.out) == 0 {
		return
	}
	i := s.choose(min(256, len(s.out)))
	it := s.out[i]
	s.out[i] = s.out[len(s.out)-1]
	s.out = s.out[:len(s.out)-1]
	s.stale = append(s.stale[max(0, len(s.stale)-30):], it)
	ok := false
	if how == 2 {
		ok = s.q.Done(it.Key)
	} else {
		ok = it.Done()
	}
	if !ok || !s.m.done(it.Key) {
		s.t.Errorf("Done of %s reported %v", it.Key, ok)
	}
}

// rare compares everything; now and then it shuts down and goes on with a new queue.
func (s *sim) rare() {
	s.compare()
	if s.choose(64) != 0 {
		return
	}
	s.q.ShutDown()
	s.m.shutDown()
	s.q.check(s.t)
	s.q.Add("x")
	s.q.AddAfter("x", time.Second)
	s.q.AddRateLimited("x")
	for len(s.m.queued) > 0 || len(s.out) > 0 {
		s.get()
		s.done()
		if s.ended || s.t.Failed() {
			return
		}
	}
	if _, err := s.q.Get(context.Background()); !errors.Is(err, ErrShutDown) {
		s.t.Errorf("Get = %v, want ErrShutDown", err)
	}
	if err := s.q.Drain(context.Background()); err != nil {
		s.t.Errorf("Drain of an idle queue = %v", err)
	}
	opts := simOptions()[s.choose(len(simOptions()))]
	s.q, s.m, s.stale = simQueue(opts), newModel(opts), nil
}

// compare compares what Metrics, Snapshot and Retries show.
func (s *sim) compare() {
	got := s.q.Metrics()
	if got.Depth != len(s.m.queued)+len(s.m.dirty) || got.Running != len(s.m.running) ||
		got.Delayed != len(s.m.delayed)+len(s.m.held) || got.Adds != s.m.adds || got.Retries != s.m.retries {
		s.t.Errorf("Metrics = %+v, model: %d queued, %d dirty, %d running, %d delayed, %d held, %d adds, %d retries", got,
			len(s.m.queued), len(s.m.dirty), len(s.m.running), len(s.m.delayed), len(s.m.held), s.m.adds, s.m.retries)
	}
	depths := map[int]int{}
	for _, k := range s.m.queued {
		depths[k.prio]++
	}
	for _, p := range s.m.dirty {
		depths[p]++
	}
	for p, n := range depths {
		if got.DepthByPriority[p] != n || len(got.DepthByPriority) != len(depths) {
			s.t.Errorf("DepthByPriority = %v, want %v", got.DepthByPriority, depths)
		}
	}
	snap := s.q.Snapshot()
	if len(snap.Queued) != len(s.m.queued) || len(snap.Running) != len(s.m.running) || len(snap.Delayed) != got.Delayed {
		s.t.Errorf("Snapshot = %+v", snap)
	}
	for _, d := range snap.Delayed {
		waits := s.m.delayed
		if d.Debounced {
			waits = s.m.held
		}
		if w := waits[d.Key]; w.prio != d.Priority || time.Until(w.at) != d.In || s.m.failures[d.Key] != d.Failures {
			s.t.Errorf("Snapshot has %+v, model %+v", d, w)
		}
	}
	for k := 'a'; k < 'o'; k++ {
		if got, want := s.q.Retries(string(k)), s.m.failures[string(k)]; got != want {
			s.t.Errorf("Retries(%c) = %d, want %d", k, got, want)
		}
		waiting := s.m.notes[string(k)]
		if w, ok := s.m.delayed[string(k)]; ok && len(waiting) == 0 {
			waiting = []note.Note{w.why}
		}
		s.sameNotes(string(k), s.q.Notes(string(k)), waiting)
	}
}

// sameNotes compares notes with all of the model's: the newest few, and their number.
func (s *sim) sameNotes(key string, got note.Notes, all []note.Note) {
	var want []note.Note
	for _, n := range slices.Backward(all) {
		if len(want) < note.Kept {
			want = append(want, n)
		}
	}
	if got.Adds() != len(all) || !slices.Equal(got.Newest(), want) {
		s.t.Errorf("%s: notes %v of %d, want %v of %d", key, got.Newest(), got.Adds(), want, len(all))
	}
}

// simSteps is the number of operations in the random simulation.
func simSteps() int {
	if testing.Short() || memtest.Race {
		return 50_000
	}
	return longtest.N(200_000, 1_000_000)
}

func TestRandomOperations(t *testing.T) {
	total := 0
	for i, opts := range simOptions() {
		synctest.Test(t, func(t *testing.T) {
			seed := rand.Uint64()
			src := &randomSource{rand.New(rand.NewPCG(seed, uint64(i))), 1 << 62}
			s := newSim(t, opts, src, 16)
			total += s.run(simSteps() / len(simOptions()))
			if t.Failed() {
				t.Fatalf("options %d, seed %d, step %d", i, seed, total)
			}
			s.q.ShutDown()
		})
	}
	t.Logf("%d operations", total)
}

func FuzzOperations(f *testing.F) {
	f.Add([]byte("\x00abcdefghijklmnopqrstuvwxyz"))
	f.Add([]byte("\x03\x00\x01\x10\x00\x01\x17\x05\x00\x1e\x10\x10\x1f\x00"))
	f.Fuzz(func(t *testing.T, ops []byte) {
		synctest.Test(t, func(t *testing.T) {
			src := byteSource(ops)
			c, _ := src.choose(len(simOptions()))
			s := newSim(t, simOptions()[c], &src, 1)
			s.run(1000)
			s.q.ShutDown()
		})
	})
}
