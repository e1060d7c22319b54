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

// modelServer serves a history. Until history.faultsEnd it is a bad lot: a few servers
// behind one name of which some lag, some are restarting and one repeats itself. It is
// used by the goroutine of Run alone.
type modelServer struct {
	*history
	rand  *rand.Rand
	began time.Time
	kind  int            // what it makes of a request for a streaming list
	seen  map[string]int // how often each fault was played

	versioned bool // a list was sent
}

func (s *modelServer) Resource() string { return "things" }

func (s *modelServer) now() time.Duration { return time.Since(s.began) }
func (s *modelServer) faulty() bool       { return s.now() < s.faultsEnd }

// fault says whether to play a fault that comes up once in so many times.
func (s *modelServer) fault(name string, oneIn int) bool {
	if !s.faulty() || s.rand.IntN(oneIn) > 0 {
		return false
	}
	s.seen[name]++
	return true
}

// sleep reports whether it was not cut short by ctx.
func (s *modelServer) sleep(ctx context.Context, d time.Duration) bool {
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
func (s *modelServer) refuse() error {
	if !s.fault("refusal", 5) {
		return nil
	}
	words := []string{"busy", "refused", "eof", "internal", "forbidden", "not-found", "timeout"}
	return failure(words[s.rand.IntN(len(words))], s.rand.IntN(10))
}

// lag is how far the server that answers is behind.
func (s *modelServer) lag() time.Duration {
	if !s.fault("lag", 4) {
		return 0
	}
	return time.Duration(s.rand.Int64N(int64(60 * time.Second)))
}

func (s *modelServer) List(ctx context.Context, opts metav1.ListOptions, yield func(Event[thing], error) bool) (metav1.ListMeta, error) {
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
	page := metav1.ListMeta{ResourceVersion: strconv.Itoa(s.rvAfter(n))}
	sent := int64(0)
	for _, c := range s.sorted(n) {
		if c.obj.key <= after {
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
		if !yield(c.event()) {
			return metav1.ListMeta{}, ErrStopped
		}
		after = c.obj.key
		sent++
	}
	// A source that has never shown one is taken for one that has none.
	if s.versioned && s.fault("list without a version", 50) {
		page.ResourceVersion = ""
	}
	s.versioned = true
	return page, nil
}

// snapshot returns the state to list, as a number of changes, and the key to begin after.
func (s *modelServer) snapshot(opts metav1.ListOptions) (n int, after string, err error) {
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

func (s *modelServer) Watch(ctx context.Context, opts metav1.ListOptions) iter.Seq2[Event[thing], error] {
	return func(yield func(Event[thing], error) bool) {
		fail := func(err error) { yield(Event[thing]{}, err) }
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
		w := modelWatch{s: s, next: s.after(rv), lag: s.lag(), yield: yield}
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
func (s *modelServer) streamList(ctx context.Context, opts metav1.ListOptions, yield func(Event[thing], error) bool) error {
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
	w := modelWatch{s: s, next: n, yield: yield, ends: s.now() + time.Duration(*opts.TimeoutSeconds)*time.Second}
	for _, c := range s.sorted(n) {
		c.typ = Added
		if err := w.initial(ctx, c); err != nil {
			return err
		}
	}
	for w.next < s.count(s.now()) && (s.faulty() || s.rand.IntN(2) == 0) {
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
	if !w.yield(Event[thing]{Type: Bookmark, InitialEventsEnd: true, ResourceVersion: strconv.Itoa(s.rvAfter(w.next))}, nil) {
		return errLeft
	}
	return w.stream(ctx)
}

// initial sends one of the events that make up a list, which come in order.
func (w *modelWatch) initial(ctx context.Context, c change) error {
	if w.s.fault("break in a stream's list", 40) {
		return failure([]string{"eof", "internal", "expired", "busy"}[w.s.rand.IntN(4)], 0)
	}
	if w.s.fault("pause in a stream's list", 20) && !w.s.sleep(ctx, time.Duration(w.s.rand.IntN(20))*time.Second) {
		return ctx.Err()
	}
	if !w.yield(c.event()) {
		return errLeft
	}
	return nil
}

// modelWatch is a watch in progress.
type modelWatch struct {
	s     *modelServer
	next  int // the first change not sent
	lag   time.Duration
	ends  time.Duration
	yield func(Event[thing], error) bool
}

var errLeft = errors.New("the client left")

// stream sends what there is and waits for more. A nil error is an orderly close.
func (w *modelWatch) stream(ctx context.Context) error {
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
		bookmark := Event[thing]{Type: Bookmark, ResourceVersion: strconv.Itoa(s.rvAfter(w.next))}
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
func (w *modelWatch) send() bool {
	s, c := w.s, w.s.changes[w.next]
	w.next++
	if c.typ == 0 {
		return true
	}
	if w.next < s.count(s.now()-w.lag) && s.changes[w.next].typ != 0 && s.fault("swapped events", 30) {
		later := s.changes[w.next]
		w.next++
		return w.yield(later.event()) && w.yield(c.event())
	}
	if !w.yield(c.event()) {
		return false
	}
	if s.fault("event sent twice", 20) && !w.yield(c.event()) {
		return false
	}
	if back := w.next - 3; back >= 0 && s.changes[back].typ != 0 && s.fault("old event sent again", 60) {
		return w.yield(s.changes[back].event())
	}
	return true
}
