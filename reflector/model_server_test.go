package reflector

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var errGarbage = errors.New("garbage")

// What a server makes of a request for a streaming list.
const (
	streams = iota
	refusesStreams
	ignoresStreams // and sends the objects that there are, as old servers do
	streamKinds
)

// What a server makes of a request for a list by name.
const (
	selectsNames = iota
	refusesNames
	ignoresNames
	nameKinds
)

// modelServer serves a history. Until history.faultsEnd it is a bad lot: a few servers
// behind one name of which some lag and some are restarting. It is
// used by the goroutine of Run alone.
type modelServer[T modelObject] struct {
	*history
	rand   *rand.Rand
	began  time.Time
	object func(change) T
	kind   int            // what it makes of a request for a streaming list
	messy  bool           // repeats events, has them change places, forgets versions: as if restored
	names  int            // what it makes of a list by name
	seen   map[string]int // how often each fault was played

	versioned bool // a list was sent
}

func (s *modelServer[T]) Resource() string { return "things" }

func (s *modelServer[T]) now() time.Duration { return time.Since(s.began) }
func (s *modelServer[T]) faulty() bool       { return s.now() < s.faultsEnd }

// fault says whether to play a fault that comes up once in so many times.
func (s *modelServer[T]) fault(name string, oneIn int) bool {
	if !s.faulty() || s.rand.IntN(oneIn) > 0 {
		return false
	}
	s.seen[name]++
	return true
}

// sleep reports whether it was not cut short by ctx.
func (s *modelServer[T]) sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// refuse returns one of the failures that any request can have, or nil.
func (s *modelServer[T]) refuse() error {
	if !s.fault("refusal", 5) {
		return nil
	}
	words := []string{"busy", "refused", "eof", "internal", "forbidden", "not-found", "timeout"}
	return failure(words[s.rand.IntN(len(words))], s.rand.IntN(10))
}

// lag is how far the server that answers is behind.
func (s *modelServer[T]) lag() time.Duration {
	if !s.fault("lag", 4) {
		return 0
	}
	return time.Duration(s.rand.Int64N(int64(60 * time.Second)))
}

// event is what a client makes of a change.
func (s *modelServer[T]) event(c change) (Event[T], error) {
	rv := strconv.Itoa(c.rv)
	if c.obj.key == poison {
		return Event[T]{}, &ObjectError{Resource: "things", Key: poison, ResourceVersion: rv, Type: c.typ, Err: errGarbage}
	}
	return Event[T]{Type: c.typ, ResourceVersion: rv, Object: s.object(c)}, nil
}

func (s *modelServer[T]) List(ctx context.Context, opts metav1.ListOptions, yield func(Event[T], error) bool) (metav1.ListMeta, error) {
	if !s.sleep(ctx, time.Duration(s.rand.IntN(500))*time.Millisecond) {
		return metav1.ListMeta{}, ctx.Err()
	}
	if err := s.refuse(); err != nil {
		return metav1.ListMeta{}, err
	}
	n, after, err := s.snapshot(opts)
	if err != nil {
		return metav1.ListMeta{}, err
	}
	if opts.FieldSelector != "" {
		s.seen["list by name"]++
		switch s.names {
		case refusesNames:
			return metav1.ListMeta{}, failure("bad-request", 0)
		case ignoresNames:
			opts.FieldSelector = ""
		}
	}
	page := metav1.ListMeta{ResourceVersion: strconv.Itoa(s.rvAfter(n))}
	sent := int64(0)
	for _, c := range s.sorted(n) {
		if c.obj.key <= after || !selects(opts, c.obj.key) {
			continue
		}
		if opts.Limit > 0 && sent == opts.Limit {
			page.Continue = fmt.Sprintf("%d %s", n, after)
			break
		}
		if s.fault("break in a list", 40) {
			return metav1.ListMeta{}, failure("eof", 0)
		}
		c.typ = Added
		if !yield(s.event(c)) {
			return metav1.ListMeta{}, ErrListStopped
		}
		after = c.obj.key
		sent++
	}
	// A source that has never shown one is taken for one that has none.
	if s.versioned && (s.messy || opts.FieldSelector == "") && s.fault("list without a version", 50) {
		page.ResourceVersion = ""
	}
	s.versioned = true
	return page, nil
}

// snapshot returns the state to list, as a number of changes, and the key to begin after.
func (s *modelServer[T]) snapshot(opts metav1.ListOptions) (n int, after string, err error) {
	if opts.Continue != "" {
		if _, err := fmt.Sscan(opts.Continue, &n, &after); err != nil {
			return 0, "", failure("bad-request", 0)
		}
		switch {
		case s.rvAfter(n) < s.compacted(s.now()) || s.fault("expired token", 10):
			return 0, "", failure("expired", 0)
		case s.fault("later page is newer", 6):
			n = s.count(s.now())
		}
		return n, after, nil
	}
	if opts.ResourceVersion == "" {
		return s.count(s.now()), "", nil
	}
	n = s.count(s.now() - s.lag())
	if opts.ResourceVersion == "0" {
		return n, "", nil
	}
	rv, err := strconv.Atoi(opts.ResourceVersion)
	switch {
	case err != nil:
		return 0, "", failure("bad-request", 0)
	case s.fault("expired list", 8):
		return 0, "", failure("expired", 0)
	case s.rvAfter(n) < rv && !s.fault("list goes back", 3):
		s.seen["too large"]++
		return 0, "", failure("too-large", 0)
	}
	return n, "", nil
}

func (s *modelServer[T]) Watch(ctx context.Context, opts metav1.ListOptions) iter.Seq2[Event[T], error] {
	return func(yield func(Event[T], error) bool) {
		fail := func(err error) { yield(Event[T]{}, err) }
		if opts.SendInitialEvents != nil {
			if err := s.streamList(ctx, opts, yield); err != nil && err != errLeft {
				fail(err)
			}
			return
		}
		rv, err := strconv.Atoi(opts.ResourceVersion)
		if err != nil {
			fail(failure("bad-request", 0))
			return
		}
		if err := s.refuse(); err != nil {
			fail(err)
			return
		}
		w := modelWatch[T]{s: s, next: s.after(rv), lag: s.lag(), yield: yield}
		w.ends = s.now() + time.Duration(*opts.TimeoutSeconds)*time.Second
		switch {
		case rv < s.compacted(s.now()):
			s.seen["expired watch"]++
			fail(failure("gone", 0))
			return
		case s.rvAfter(s.count(s.now()-w.lag)) < rv && s.fault("too large watch", 2):
			fail(failure("too-large", 0))
			return
		case s.fault("watch closed at once", 20):
			return
		}
		if err := w.stream(ctx); err != nil && err != errLeft {
			fail(err)
		}
	}
}

// streamList sends the objects that there are, what happens meanwhile, and the bookmark at
// which the list ends and the watch begins.
func (s *modelServer[T]) streamList(ctx context.Context, opts metav1.ListOptions, yield func(Event[T], error) bool) error {
	if err := s.refuse(); err != nil {
		return err
	}
	if s.kind == refusesStreams {
		s.seen["stream refused"]++
		return failure("invalid", 0)
	}
	n, _, err := s.snapshot(opts)
	if err != nil {
		return err
	}
	w := modelWatch[T]{s: s, next: n, yield: yield, ends: s.now() + time.Duration(*opts.TimeoutSeconds)*time.Second}
	for _, c := range s.sorted(n) {
		c.typ = Added
		if err := w.initial(ctx, c); err != nil {
			return err
		}
	}
	for w.next < s.count(s.now()) && (w.amid() || s.faulty() || s.rand.IntN(2) == 0) {
		c := s.changes[w.next]
		w.next++
		if c.typ == 0 {
			continue
		}
		s.seen["change in a stream's list"]++
		if err := w.initial(ctx, c); err != nil {
			return err
		}
	}
	switch {
	case s.kind == ignoresStreams:
		s.seen["stream ignored"]++
		return w.stream(ctx)
	case s.fault("stream that stops", 10):
		<-ctx.Done()
		return ctx.Err()
	case s.fault("stream closed before its end", 10):
		return nil
	}
	s.seen["stream"]++
	if !w.yield(Event[T]{Type: Bookmark, InitialEventsEnd: true, ResourceVersion: strconv.Itoa(s.rvAfter(w.next))}, nil) {
		return errLeft
	}
	return w.stream(ctx)
}

// initial sends one of the events that make up a list, which come in order.
func (w *modelWatch[T]) initial(ctx context.Context, c change) error {
	if w.s.fault("break in a stream's list", 40) {
		return failure([]string{"eof", "internal", "expired", "busy"}[w.s.rand.IntN(4)], 0)
	}
	if w.s.fault("pause in a stream's list", 20) && !w.s.sleep(ctx, time.Duration(w.s.rand.IntN(20))*time.Second) {
		return ctx.Err()
	}
	if !w.yield(w.s.event(c)) {
		return errLeft
	}
	return nil
}

// modelWatch is a watch in progress.
type modelWatch[T modelObject] struct {
	s     *modelServer[T]
	next  int // the first change not sent
	lag   time.Duration
	ends  time.Duration
	yield func(Event[T], error) bool
}

// amid reports whether the next change has the version of the one before.
func (w *modelWatch[T]) amid() bool {
	return w.next > 0 && w.s.changes[w.next].rv == w.s.changes[w.next-1].rv
}

var errLeft = errors.New("the client left")

// stream sends what there is and waits for more. A nil error is an orderly close.
func (w *modelWatch[T]) stream(ctx context.Context) error {
	s := w.s
	for {
		if !s.faulty() {
			w.lag = 0
		}
		for w.next < s.count(s.now()-w.lag) {
			if !w.send() {
				return errLeft
			}
			if s.fault("break between events", 40) {
				return failure("eof", 0)
			}
		}
		if s.now() >= w.ends || s.fault("early close", 30) {
			return nil
		}
		// All up to here was sent, and a watch never begins between two changes.
		bookmark := Event[T]{Type: Bookmark, ResourceVersion: strconv.Itoa(s.rvAfter(w.next))}
		if s.rand.IntN(4) == 0 && !w.yield(bookmark, nil) {
			return errLeft
		}
		if !s.sleep(ctx, time.Duration(100+s.rand.IntN(3000))*time.Millisecond) {
			return ctx.Err()
		}
		if s.fault("break in a watch", 30) {
			words := []string{"eof", "expired", "internal", "busy", "too-large", "gone"}
			return failure(words[s.rand.IntN(len(words))], 0)
		}
	}
}

// send sends the next change, with what a bad server makes of it. It reports whether the
// client is still there.
func (w *modelWatch[T]) send() bool {
	s, c := w.s, w.s.changes[w.next]
	w.next++
	if c.typ == 0 {
		return true
	}
	if w.next < s.count(s.now()-w.lag) && s.changes[w.next].typ != 0 && s.messy && s.fault("swapped events", 15) {
		later := s.changes[w.next]
		w.next++
		return w.yield(s.event(later)) && w.yield(s.event(c))
	}
	if !w.yield(s.event(c)) {
		return false
	}
	if s.messy && s.fault("event sent twice", 10) && !w.yield(s.event(c)) {
		return false
	}
	if back := w.next - 3; back >= 0 && s.changes[back].typ != 0 && s.messy && s.fault("old event sent again", 30) {
		return w.yield(s.event(s.changes[back]))
	}
	return true
}
