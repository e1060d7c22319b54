package eventlog

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// verify checks every invariant of the log that can be seen while nobody moves.
func (l *Log[E]) verify() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.awaited.Load() != (l.caughtUp != nil) {
		return fmt.Errorf("awaited is %t", l.awaited.Load())
	}
	for i, c := range l.cursors {
		switch {
		case c.block.Load() == nil:
			return fmt.Errorf("cursor %d is closed but in the log", i)
		case c.Read()+uint64(c.taken) > l.Position():
			return fmt.Errorf("cursor %d is done up to %d of %d", i, c.Read(), l.Position())
		case l.tail == nil:
			return fmt.Errorf("cursor %d in a log that keeps nothing", i)
		}
	}
	if l.tail == nil {
		return nil
	}
	published := int(l.tail.published.Load())
	if l.cleared > published || published > l.used || l.used > len(l.tail.events) {
		return fmt.Errorf("cleared %d, published %d, used %d of %d", l.cleared, published, l.used, len(l.tail.events))
	}
	if l.used-published != int(l.unpublished) {
		return fmt.Errorf("published %d of %d, noted %d as not", published, l.used, l.unpublished)
	}
	return nil
}

// reader is a cursor with what the model knows of it.
type reader struct {
	*Cursor[int]
	next   int // event that it gets next
	run    []int
	closed bool
}

// script runs random operations. An event is the number of events before it.
type script struct {
	t         *testing.T
	choose    *rand.Rand
	log       Log[int]
	appended  int
	published int // at least; a block that is full is published without being asked
	readers   []*reader
}

func (s *script) step() {
	switch op := s.choose.IntN(40); {
	case op < 15:
		for range 1 + s.choose.IntN(1+s.choose.IntN(20)) {
			s.log.Append(s.appended)
			s.appended++
		}
	case op < 22:
		s.log.Publish()
		s.published = s.appended
	case op < 23 && len(s.readers) < 12:
		s.readers = append(s.readers, &reader{Cursor: s.log.NewCursor(), next: s.appended})
		s.published = s.appended
	case op < 25:
		s.waitLag(uint64(s.choose.IntN(100)))
	case len(s.readers) == 0:
	case op < 26:
		r := s.readers[s.choose.IntN(len(s.readers))]
		r.Close()
		r.closed = true
	case op < 27 && s.choose.IntN(4) == 0:
		s.readers = slices.DeleteFunc(s.readers, func(r *reader) bool { return r.closed })
	default:
		s.read(s.readers[s.choose.IntN(len(s.readers))])
	}
	s.check()
}

func (s *script) check() {
	s.t.Helper()
	if err := s.log.verify(); err != nil {
		s.t.Fatal(err)
	}
	position := int(s.log.Position())
	if position < s.published || position > s.appended {
		s.t.Fatalf("at %d, with %d published and %d appended", position, s.published, s.appended)
	}
	s.published = position
	for _, r := range s.readers {
		s.checkRun(r)
		if got, want := int(r.Read()), r.next-len(r.run); got != want {
			s.t.Fatalf("done up to %d, want %d", got, want)
		}
	}
}

// checkRun checks that r's run is what comes before the event that it gets next.
func (s *script) checkRun(r *reader) {
	s.t.Helper()
	for i, event := range r.run {
		if want := r.next - len(r.run) + i; event != want {
			s.t.Fatalf("event %d where %d should be", event, want)
		}
	}
}

func (s *script) read(r *reader) {
	ctx, want := context.Background(), error(nil)
	switch {
	case r.closed:
		want = ErrClosed
	case r.next == s.published || s.choose.IntN(10) == 0:
		ctx, want = never, context.Canceled
	}
	run, err := r.Next(ctx)
	if !errors.Is(err, want) || (err == nil) != (len(run) > 0) {
		s.t.Fatalf("got %d events, error %v; want error %v", len(run), err, want)
	}
	r.run = run
	r.next += len(run)
	if r.next > s.published {
		s.t.Fatalf("got event %d of %d published", r.next, s.published)
	}
	if len(run) < cap(run) {
		s.t.Fatal("a run can be appended to")
	}
}

func (s *script) waitLag(limit uint64) {
	var want error
	for _, r := range s.readers {
		if !r.closed && s.log.Position()-r.Read() > limit {
			want = context.Canceled
		}
	}
	if err := s.log.WaitLag(never, limit); !errors.Is(err, want) {
		s.t.Fatalf("got error %v, want %v", err, want)
	}
}

func TestAgainstModel(t *testing.T) {
	runs, steps := 200, 1500
	if testing.Short() {
		runs = 20
	}
	for seed := range runs {
		s := &script{t: t, choose: rand.New(rand.NewPCG(uint64(seed), 1))}
		for range steps {
			s.step()
		}
	}
}

// A cursor that comes between Append and Publish gets none of what was appended, whether
// there are others or not, and can be waited for.
func TestCursorBetweenAppendAndPublish(t *testing.T) {
	for _, others := range []int{0, 1} {
		var l Log[int]
		for range others {
			defer l.NewCursor().Close()
		}
		l.Append(0)
		c := l.NewCursor()
		l.Append(1)
		l.Publish()
		run, err := c.Next(t.Context())
		if err != nil || !slices.Equal(run, []int{1}) {
			t.Errorf("%d others: got %v, error %v", others, run, err)
		}
		if _, err := c.Next(never); !errors.Is(err, context.Canceled) || c.Read() != l.Position() {
			t.Errorf("%d others: error %v, done up to %d of %d", others, err, c.Read(), l.Position())
		}
	}
}

// Blocks grow from small to a limit, and start small again.
func TestBlocksGrow(t *testing.T) {
	var l Log[int]
	for range 2 {
		c := l.NewCursor()
		want := firstBlock
		for range 6 {
			if got := len(l.tail.events); got != want {
				t.Fatalf("a block of %d, want %d", got, want)
			}
			tail := l.tail
			for l.tail == tail {
				l.Append(0)
			}
			want = min(2*want, maxBlock)
		}
		c.Close()
		l.Publish()
		if l.tail != nil {
			t.Fatal("a log without cursors keeps a block")
		}
	}
}
