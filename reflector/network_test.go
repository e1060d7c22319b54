package reflector

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// mode is how a network treats requests.
type mode int

const (
	up            mode = iota
	refuses            // connections are refused
	resets             // connections are reset before the answer
	swallows           // packets get lost: no connection, and nothing comes on those there are
	saysNo             // connections are made, and nothing comes on them
	busyMode           // 429 without a word on when
	busySecond         // 429 that asks for a second
	awaySecond         // 503 that asks for a second
	unavailable        // 503 of a proxy
	brokenMode         // 500
	forbidden          // 403
	breaksWatches      // watches are accepted and break
	endsWatches        // watches are accepted and end in order
	cutsLists          // lists break in mid-body
	emptyLists         // lists are answered without a body
)

// network is an API server of one version that moves, at the end of a line that breaks. It has
// ns/a of version 1, and ns/b since the first write. It counts the requests. Safe for concurrent
// use.
type network struct {
	t     *testing.T
	began time.Time

	mu      sync.Mutex
	mode    mode
	rv      int
	changed chan struct{} // closed when mode or rv change, or watches are cut
	cuts    int
	born    int         // watches of before do not survive, but do not know it
	sent    []time.Time // requests
	limit   int         // the connection, which all lines share, breaks after so many bytes from the server; 0 means never
	used    int         // bytes of the present connection
}

// Bytes from the server.
const (
	handshakeSize = 3000
	headerSize    = 200
)

// limited reports whether connections break after some bytes.
func (n *network) limited() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.limit > 0
}

// spend sends bytes and reports whether the connection has survived that.
func (n *network) spend(bytes int) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.limit == 0 {
		return true
	}
	if n.used == 0 {
		bytes += handshakeSize
	}
	if n.used += bytes; n.used < n.limit {
		return true
	}
	n.used = 0
	n.cuts++
	n.wake()
	return false
}

// breakAfter has each connection break after so many bytes, or not any more.
func (n *network) breakAfter(bytes int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.limit, n.used = bytes, 0
}

func newNetwork(t *testing.T) *network {
	return &network{t: t, began: time.Now(), rv: 1, changed: make(chan struct{})}
}

// turn changes the network. With cut, the open watches end with an error. Otherwise they stay
// open, unless the mode lets nothing through.
func (n *network) turn(to mode, cut bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.mode = to
	if cut {
		n.cuts++
	}
	n.wake()
}

// forget silences the open watches, as a router does that loses its table.
func (n *network) forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.born++
}

// write makes a new version and returns it.
func (n *network) write() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.rv++
	n.wake()
	return strconv.Itoa(n.rv)
}

func (n *network) wake() {
	close(n.changed)
	n.changed = make(chan struct{})
}

func (n *network) count() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.sent)
}

// most is the largest number of requests in a second between two times.
func (n *network) most(from, to time.Time) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	most, first := 0, 0
	for i, at := range n.sent {
		for n.sent[first].Before(from) && first < i || at.Sub(n.sent[first]) >= time.Second {
			first++
		}
		if !at.Before(from) && at.Before(to) {
			most = max(most, i-first+1)
		}
	}
	return most
}

// line is the way of one reflector to the network.
type line struct {
	*network
	breaker *Breaker
	size    int  // bytes of an event or object
	streams bool // there are streaming lists
	lost    int  // as cuts; guarded by network.mu
}

// lose cuts the watch of this line alone.
func (l *line) lose() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost++
	l.wake()
}

func (l *line) Resource() string  { return "things" }
func (l *line) Breaker() *Breaker { return l.breaker }

// ask sends a request and waits for the beginning of its answer.
func (l *line) ask(ctx context.Context) error {
	attempt := AttemptOf(ctx)
	attempt.Send()
	l.mu.Lock()
	l.sent = append(l.sent, time.Now())
	mode, cuts := l.mode, l.cuts
	l.mu.Unlock()
	select {
	case <-time.After(2 * time.Millisecond):
	case <-ctx.Done():
		return ctx.Err()
	}
	switch mode {
	case refuses:
		return failure("refused", 0)
	case resets:
		return failure("reset", 0)
	case swallows, saysNo:
		if mode == saysNo {
			attempt.Connected(nil)
		}
		select {
		case <-time.After(30 * time.Second):
			return failure("dial-timeout", 0)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	l.mu.Lock()
	cut := l.cuts != cuts
	l.mu.Unlock()
	if l.limited() && cut || !l.spend(headerSize) {
		return failure("reset", 0)
	}
	attempt.Connected(nil)
	attempt.Answered()
	switch mode {
	case busyMode:
		return failure("busy", 0)
	case busySecond:
		return failure("busy", 1)
	case awaySecond:
		return failure("unavailable", 1)
	case unavailable:
		return failure("unavailable", 0)
	case brokenMode:
		return failure("internal", 0)
	case forbidden:
		return failure("forbidden", 0)
	}
	attempt.Accepted()
	return nil
}

// lineSource is the source at the end of a line.
type lineSource[T any] struct {
	*line
	object func(change) T
}

// event is the newest change of a key.
func (l lineSource[T]) event(typ EventType, key string, rv int) Event[T] {
	c := change{rv: rv, obj: thing{key: key, val: rv}, uid: int(key[len(key)-1])}
	return Event[T]{Type: typ, Object: l.object(c), ResourceVersion: strconv.Itoa(rv)}
}

func (l lineSource[T]) List(ctx context.Context, opts metav1.ListOptions, yield func(Event[T], error) bool) (metav1.ListMeta, error) {
	if err := l.ask(ctx); err != nil {
		return metav1.ListMeta{}, err
	}
	l.mu.Lock()
	rv, mode := l.rv, l.mode
	l.mu.Unlock()
	switch mode {
	case cutsLists:
		return metav1.ListMeta{}, failure("eof", 0)
	case emptyLists:
		return metav1.ListMeta{}, fmt.Errorf("%w: %w", ErrUnusable, failure("eof", 0))
	}
	page := metav1.ListMeta{ResourceVersion: strconv.Itoa(rv)}
	if selects(opts, "ns/a") && !yield(l.event(Added, "ns/a", 1), nil) {
		return page, ErrListStopped
	}
	if !l.spend(l.size) {
		return page, failure("eof", 0)
	}
	if rv > 1 && selects(opts, "ns/b") && !yield(l.event(Added, "ns/b", rv), nil) {
		return page, ErrListStopped
	}
	return page, nil
}

func (l lineSource[T]) Watch(ctx context.Context, opts metav1.ListOptions) iter.Seq2[Event[T], error] {
	return func(yield func(Event[T], error) bool) {
		streams := opts.SendInitialEvents != nil
		if streams && !l.streams {
			yield(Event[T]{}, errors.ErrUnsupported)
			return
		}
		if err := l.ask(ctx); err != nil {
			yield(Event[T]{}, err)
			return
		}
		seen, _ := strconv.Atoi(opts.ResourceVersion)
		l.mu.Lock()
		mode, cuts, born := l.mode, l.cuts+l.lost, l.born
		l.mu.Unlock()
		switch mode {
		case breaksWatches:
			yield(Event[T]{}, failure("http2", 0))
			return
		case endsWatches:
			return
		}
		if streams {
			l.mu.Lock()
			seen = l.rv
			l.mu.Unlock()
			end := Event[T]{Type: Bookmark, ResourceVersion: strconv.Itoa(seen), InitialEventsEnd: true}
			if !yield(l.event(Added, "ns/a", 1), nil) || seen > 1 && !yield(l.event(Added, "ns/b", seen), nil) || !yield(end, nil) {
				return
			}
		}
		for ctx.Err() == nil {
			l.mu.Lock()
			rv, cut, changed := l.rv, l.cuts+l.lost != cuts, l.changed
			deaf := l.mode == swallows || l.mode == saysNo || l.born != born
			l.mu.Unlock()
			switch {
			case cut:
				yield(Event[T]{}, failure("http2", 0))
				return
			case deaf: // pings fail at last
				select {
				case <-changed:
				case <-time.After(45 * time.Second):
					yield(Event[T]{}, failure("http2-lost", 0))
					return
				case <-ctx.Done():
				}
				continue
			case rv > seen:
				typ := Modified
				if seen == 1 {
					typ = Added
				}
				if !l.spend(l.size) {
					yield(Event[T]{}, failure("reset-later", 0))
					return
				}
				// Every version is one write, and a watch sends them all.
				if seen++; !yield(l.event(typ, "ns/b", seen), nil) {
					return
				}
				continue
			}
			select {
			case <-changed:
			case <-ctx.Done():
			}
		}
		yield(Event[T]{}, ctx.Err())
	}
}

// fleet is reflectors that share a network and a breaker.
type fleet struct {
	*network
	breaker    Breaker
	metadata   bool // objects have metadata
	size       int  // bytes of an object of the reflectors that join
	streams    bool // and whether they have streaming lists
	reflectors []lineReflector
	ctx        context.Context
	cancel     context.CancelFunc
	running    sync.WaitGroup
}

// lineReflector is a Reflector of any T.
type lineReflector interface {
	Run(ctx context.Context) error
	Stats() Stats
}

// newFleet runs reflectors until stop, of objects with or without metadata. It must be called in a
// synctest bubble.
func newFleet(t *testing.T, metadata bool, size int, seed uint64) *fleet {
	f := &fleet{network: newNetwork(t), metadata: metadata}
	f.ctx, f.cancel = context.WithCancel(t.Context())
	for n := range size {
		f.join(rand.NewPCG(seed, uint64(n)))
	}
	return f
}

// join runs one more reflector, and returns its line.
func (f *fleet) join(random rand.Source) *line {
	l := &line{network: f.network, breaker: &f.breaker, size: f.size, streams: f.streams}
	opts := Options{
		Tuning: Tuning{
			IdleTimeout:  -1,
			WatchTimeout: time.Hour,
			Backoff:      Backoff{Random: rand.New(random).Float64},
		},
		OnError: func(err error) { noAlarm(f.t, err) },
	}
	var r lineReflector
	var err error
	if f.metadata {
		r, err = New[*namedThing](lineSource[*namedThing]{l, withMetadata}, &sink[*namedThing]{}, opts)
	} else {
		r, err = New[thing](lineSource[thing]{l, bareThing}, &sink[thing]{}, opts)
	}
	if err != nil {
		f.t.Fatal(err)
	}
	f.reflectors = append(f.reflectors, r)
	f.running.Go(func() {
		if err := r.Run(f.ctx); err != nil {
			f.t.Error(err)
		}
	})
	return l
}

// withAndWithoutMetadata calls test in two bubbles.
func withAndWithoutMetadata(t *testing.T, test func(t *testing.T, metadata bool)) {
	for _, metadata := range []bool{false, true} {
		t.Run(fmt.Sprintf("metadata=%v", metadata), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, metadata) })
		})
	}
}

// stop ends them all.
func (f *fleet) stop() {
	f.cancel()
	f.running.Wait()
	for _, r := range f.reflectors {
		noRestores(f.t, r.Stats())
	}
	b := &f.breaker
	if n := len(b.queued) + len(b.sleeping) + len(b.unanswered) + len(b.streams) + b.failing[pauseDenied] + b.failing[pauseBusy] + b.failing[pauseResume] + len(b.lists.waiting) + len(b.watches.waiting); n != 0 {
		f.t.Errorf("the breaker still holds %d things", n)
	}
}

// right returns how long it takes until all reflectors have seen version rv.
func (f *fleet) right(rv string) time.Duration {
	began := time.Now()
	for _, r := range f.reflectors {
		for r.Stats().SeenVersion != rv {
			if time.Since(began) > 5*time.Minute {
				f.t.Fatalf("not right after %v", time.Since(began))
			}
			time.Sleep(time.Millisecond)
		}
	}
	return time.Since(began)
}

// lists is how many lists there were.
func (f *fleet) lists() uint64 {
	var all uint64
	for _, r := range f.reflectors {
		all += r.Stats().Lists
	}
	return all
}

// TestOutages: all reflectors of a connection are right within 2 seconds after the server is
// back, without a list. While it was away, they did not ask it too often.
func TestOutages(t *testing.T) {
	for _, o := range []struct {
		name  string
		mode  mode
		lasts time.Duration
		cut   bool          // watches break as it begins
		again bool          // and as it ends, as where the server is restarted
		known time.Duration // when all have noticed at last
		right time.Duration
	}{
		{"cut", up, 0, true, false, 0, 100 * time.Millisecond},
		{"restart", refuses, 2 * time.Second, true, false, time.Second, 2 * time.Second},
		{"refused for 45 s", refuses, 45 * time.Second, true, false, time.Second, 2 * time.Second},
		{"resets for 45 s, then a restart", resets, 45 * time.Second, true, true, time.Second, 2 * time.Second},
		{"black hole for 60 s, then a restart", swallows, 60 * time.Second, false, true, 48 * time.Second, 2 * time.Second},
		{"black hole for 100 s", swallows, 100 * time.Second, false, false, 48 * time.Second, 2 * time.Second},
		{"a proxy that says nothing for 60 s, then a restart", saysNo, 60 * time.Second, true, true, 21 * time.Second, 2 * time.Second},
	} {
		for _, size := range []int{1, 10, 100} {
			for n := range uint64(6) {
				metadata, seed := n%2 == 0, n/2
				t.Run(fmt.Sprintf("%s/%d/metadata=%v/seed=%d", o.name, size, metadata, seed), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						f := newFleet(t, metadata, size, seed)
						defer f.stop()
						time.Sleep(time.Minute)
						f.right("1")
						lists, began := f.lists(), time.Now()
						f.turn(o.mode, o.cut)
						time.Sleep(o.lasts)
						f.turn(up, o.again)
						took := f.right(f.write())
						limit := o.right
						if size == 1 && (o.mode == swallows || o.mode == saysNo) {
							limit = answerLimit * 3 // there is no other request that would not hang
						}
						if took > limit {
							t.Errorf("right after %v, want %v", took, limit)
						}
						if f.lists() != lists {
							t.Errorf("%d lists", f.lists()-lists)
						}
						if n := f.most(began.Add(o.known), began.Add(o.lasts)); n > 3 {
							t.Errorf("%d requests in a second of the outage", n)
						} else {
							t.Logf("right after %v, at most %d requests in a second of the outage", took, n)
						}
					})
				})
			}
		}
	}
}

// TestHalfOpen: a watch that was silent through an outage may be on a lost connection, and
// begins again, even if its reflector noticed nothing.
func TestHalfOpen(t *testing.T) {
	withAndWithoutMetadata(t, func(t *testing.T, metadata bool) {
		f := newFleet(t, metadata, 20, 1)
		defer f.stop()
		time.Sleep(time.Minute)
		f.right("1")
		f.forget() // of all that there are
		late := f.join(rand.NewPCG(1, 1000))
		time.Sleep(time.Minute)
		f.turn(refuses, false)
		late.lose()
		time.Sleep(10 * time.Second)
		f.turn(up, false)
		if took := f.right(f.write()); took > 2*time.Second {
			t.Errorf("right after %v", took)
		}
	})
}

// TestRules: 100 reflectors whose requests are denied send 4 requests a second together. When
// the rule changes, all notice it within 5 seconds, without a list.
func TestRules(t *testing.T) {
	for seed := range uint64(3) {
		withAndWithoutMetadata(t, func(t *testing.T, metadata bool) {
			f := newFleet(t, metadata, 100, seed)
			defer f.stop()
			time.Sleep(time.Minute)
			f.right("1")
			lists, began := f.lists(), time.Now()
			f.turn(forbidden, true)
			time.Sleep(3 * time.Minute)
			if n := f.most(began.Add(30*time.Second), time.Now()); n > 16 {
				t.Errorf("%d requests in a second by 100 that are forbidden", n)
			}
			all := f.count()
			time.Sleep(time.Minute)
			if n := f.count() - all; n > 60*5 {
				t.Errorf("%d requests in a minute by 100 that are forbidden", n)
			}
			f.turn(up, false)
			if took := f.right(f.write()); took > 5*time.Second {
				t.Errorf("allowed again, right after %v", took)
			}
			if f.lists() != lists {
				t.Errorf("%d lists", f.lists()-lists)
			}
		})
	}
}

// TestBusy: the requests to a server that has no room keep to Backoff, and the success of one
// reflector does not send 100 others to the server.
func TestBusy(t *testing.T) {
	withAndWithoutMetadata(t, func(t *testing.T, metadata bool) {
		f := newFleet(t, metadata, 100, 1)
		defer f.stop()
		time.Sleep(time.Minute)
		f.right("1")
		f.turn(busyMode, true)
		time.Sleep(2 * time.Minute)
		before := f.count()
		time.Sleep(time.Minute)
		if n := f.count() - before; n > 200 { // one in 30 to 60 seconds each
			t.Errorf("%d requests in a minute by 100", n)
		}
	})
}

// TestBrokenServer: once a server that answered 500 is well again, the first of 100 reflectors that
// succeeds wakes the others, which would have waited for up to a minute.
func TestBrokenServer(t *testing.T) {
	withAndWithoutMetadata(t, func(t *testing.T, metadata bool) {
		f := newFleet(t, metadata, 100, 1)
		defer f.stop()
		time.Sleep(time.Minute)
		f.right("1")
		f.turn(brokenMode, true)
		time.Sleep(5 * time.Minute)
		f.turn(up, false)
		if took := f.right(f.write()); took > 5*time.Second {
			t.Errorf("right after %v", took)
		}
	})
}

// TestFlapping: on a connection that breaks all the time, each reflector sends at most one watch a
// second, and one check for each watch if no known event can be repeated. After the last break, all
// are right within 1.4 seconds.
func TestFlapping(t *testing.T) {
	for _, lives := range []time.Duration{100 * time.Millisecond, 500 * time.Millisecond, 1500 * time.Millisecond} {
		for _, news := range []bool{false, true} {
			t.Run(fmt.Sprintf("%v/news=%v", lives, news), func(t *testing.T) {
				withAndWithoutMetadata(t, func(t *testing.T, metadata bool) { flap(t, metadata, lives, news) })
			})
		}
	}
}

// flap breaks a connection after each time of lives for a minute. With news, watches bring some
// before they break.
func flap(t *testing.T, metadata bool, lives time.Duration, news bool) {
	f := newFleet(t, metadata, 100, 1)
	defer f.stop()
	time.Sleep(time.Minute)
	f.right("1")
	before := f.count()
	for range time.Minute / lives {
		f.turn(up, true)
		time.Sleep(lives / 2)
		if news {
			f.write()
		}
		time.Sleep(lives / 2)
	}
	most := 100 * (int(time.Minute/time.Second) + resumeBurst + 3)
	if !news {
		most *= 2 // checks
	}
	if n := f.count() - before; n > most {
		t.Errorf("%d requests in a minute by 100", n)
	}
	f.turn(up, true)
	time.Sleep(lives / 2)
	if took := f.right(f.write()); took > turnEvery+2*resumeJitter {
		t.Errorf("right after %v", took)
	}
}

// TestRandomLines breaks the connection at random. Once it is well, all reflectors are right
// soon. A watch that broke several times before waits for its turn.
func TestRandomLines(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			withAndWithoutMetadata(t, func(t *testing.T, metadata bool) {
				r := rand.New(rand.NewPCG(seed, 9))
				f := newFleet(t, metadata, 2+r.IntN(30), seed)
				defer f.stop()
				for range 20 {
					f.turn([]mode{up, refuses, resets, swallows}[r.IntN(4)], r.IntN(2) == 0)
					if r.IntN(3) == 0 {
						f.write()
					}
					time.Sleep(time.Duration(r.Int64N(int64(20 * time.Second))))
				}
				// The last outage is noticed by all.
				f.turn(refuses, true)
				time.Sleep(time.Duration(10+r.IntN(60)) * time.Second)
				f.turn(up, true)
				if took := f.right(f.write()); took > 2*turnEvery {
					t.Errorf("right after %v", took)
				}
			})
		})
		if t.Failed() {
			return
		}
	}
}

// TestFailing: Stats says since when and why a reflector makes no progress, until it makes
// progress again, even if no event comes.
func TestFailing(t *testing.T) {
	withAndWithoutMetadata(t, func(t *testing.T, metadata bool) {
		f := newFleet(t, metadata, 1, 1)
		defer f.stop()
		time.Sleep(time.Minute)
		r := f.reflectors[0]
		if got := r.Stats().Failing; got != (Failing{}) {
			t.Errorf("all is well, and Failing is %+v", got)
		}
		broke := time.Now()
		f.turn(forbidden, true)
		time.Sleep(time.Minute)
		got := r.Stats().Failing
		if !got.Since.Equal(broke) || !isDenied(got.Err) || got.Next.Before(time.Now()) || got.Next.After(time.Now().Add(5*time.Second)) {
			t.Errorf("forbidden since %v, and Failing is %+v", broke, got)
		}
		f.turn(up, false)
		time.Sleep(6 * time.Second)
		if got := r.Stats().Failing; got != (Failing{}) {
			t.Errorf("all is well again, and Failing is %+v", got)
		}
	})
}
