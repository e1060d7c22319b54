package eventlog

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kinform/kinform/internal/broadcast"
)

// verify checks every invariant of the log that can be checked while no goroutine uses it.
func (l *Log[E]) verify() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	asked := func(c *Cursor[E]) bool { return c.read.word.Load()&1 != 0 }
	if l.caughtUp != (broadcast.Signal{}) && !slices.ContainsFunc(l.cursors, asked) {
		return errors.New("somebody waits for cursors of which none will tell")
	}
	for i, c := range l.cursors {
		switch {
		case c.block.Load() == nil:
			return fmt.Errorf("cursor %d is closed but in the log", i)
		case c.read.at()+uint64(c.taken) > Published(l):
			return fmt.Errorf("cursor %d is done up to %d of %d", i, c.read.at(), Published(l))
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
	end    int // event before which it is to finish; -1 for none
}

func newReader(c *Cursor[int], next int) *reader { return &reader{Cursor: c, next: next, end: -1} }

// lag is the lag that WaitLag should find.
func (r *reader) lag(published int) int {
	if r.end >= 0 {
		published = r.end
	}
	return max(0, published-(r.next-len(r.run)))
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
			Append(&s.log, s.appended)
			s.appended++
		}
	case op < 22:
		Publish(&s.log)
		s.published = s.appended
	case op < 23 && len(s.readers) < 12:
		var c *Cursor[int]
		if s.choose.IntN(3) == 0 {
			c = NewLossyCursor(&s.log)
		} else {
			c = NewCursor(&s.log)
		}
		s.readers = append(s.readers, newReader(c, s.appended))
		s.published = s.appended
	case op < 25:
		s.waitLag(uint64(s.choose.IntN(100)))
	case len(s.readers) == 0:
	case op < 26:
		r := s.readers[s.choose.IntN(len(s.readers))]
		Close(r.Cursor)
		if r.closed = true; s.choose.IntN(2) == 0 {
			Leave(r.Cursor)
			r.run = nil
		}
	case op < 27 && s.choose.IntN(3) == 0:
		r := s.readers[s.choose.IntN(len(s.readers))]
		Finish(r.Cursor)
		if !r.closed {
			r.end = max(s.published, r.next)
		}
	case op < 27 && s.choose.IntN(2) == 0:
		s.cut(s.readers[s.choose.IntN(len(s.readers))], uint64(s.choose.IntN(50)))
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
	position := int(Published(&s.log))
	if position < s.published || position > s.appended {
		s.t.Fatalf("at %d, with %d published and %d appended", position, s.published, s.appended)
	}
	s.published = position
	for _, r := range s.readers {
		s.checkRun(r)
		if got, want := int(r.read.at()), r.next-len(r.run); got != want {
			s.t.Fatalf("done up to %d, want %d", got, want)
		}
	}
}

// checkRun checks that r's run ends just before the event that it gets next.
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
	try := s.choose.IntN(3) == 0
	switch {
	case r.closed || r.next == r.end:
		want, r.closed = ErrClosed, true
	case try:
	case r.next == s.published || s.choose.IntN(10) == 0:
		ctx, want = never, context.Canceled
	}
	next := func() ([]int, error) { return TryNext(r.Cursor) }
	if !try {
		next = func() ([]int, error) { return nextUntil(ctx, r.Cursor) }
	}
	some := want == nil && r.next < s.published
	run, err := next()
	if !errors.Is(err, want) || some != (len(run) > 0) {
		s.t.Fatalf("got %d events, error %v; want some %t, error %v", len(run), err, some, want)
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
		if !r.closed && !r.lossy && uint64(r.lag(int(Published(&s.log)))) > limit {
			want = context.Canceled
		}
	}
	if (Lagging(&s.log, limit) != nil) != (want != nil) {
		s.t.Fatalf("lags more than %d: %t, want otherwise", limit, want == nil)
	}
	if err := s.log.WaitLag(never, limit); !errors.Is(err, want) {
		s.t.Fatalf("got error %v, want %v", err, want)
	}
}

// cut takes from a cursor what it has not read.
func (s *script) cut(r *reader, limit uint64) {
	rest, from, cut := Cut(&s.log, r.Cursor, limit)
	s.published = s.appended
	done := r.next - len(r.run)
	if want := !r.closed && r.block.Load() == nil; cut != want {
		s.t.Fatalf("cut is %t, want %t", cut, want)
	}
	if !cut {
		if !r.closed && uint64(s.appended-done) > limit {
			s.t.Fatalf("not cut though %d events behind, limit %d", s.appended-done, limit)
		}
		return
	}
	if int(from) != done || len(rest) != s.appended-done || uint64(len(rest)) <= limit {
		s.t.Fatalf("cut %d events from %d on, want %d from %d on", len(rest), from, s.appended-done, done)
	}
	for i, event := range rest {
		if event != done+i {
			s.t.Fatalf("cut event %d where %d should be", event, done+i)
		}
	}
	r.closed = true
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
			defer Close(NewCursor(&l))
		}
		Append(&l, 0)
		c := NewCursor(&l)
		Append(&l, 1)
		Publish(&l)
		run, err := nextUntil(t.Context(), c)
		if err != nil || !slices.Equal(run, []int{1}) {
			t.Errorf("%d others: got %v, error %v", others, run, err)
		}
		if _, err := nextUntil(never, c); !errors.Is(err, context.Canceled) || c.read.at() != Published(&l) {
			t.Errorf("%d others: error %v, done up to %d of %d", others, err, c.read.at(), Published(&l))
		}
	}
}

// Blocks grow from small to a limit, and start small again.
func TestBlocksGrow(t *testing.T) {
	var l Log[int]
	for range 2 {
		c := NewCursor(&l)
		want := firstBlock
		for range 6 {
			if got := len(l.tail.events); got != want {
				t.Fatalf("a block of %d, want %d", got, want)
			}
			tail := l.tail
			for l.tail == tail {
				Append(&l, 0)
			}
			want = min(2*want, maxBlock)
		}
		Close(c)
		Publish(&l)
		if l.tail != nil {
			t.Fatal("a log without cursors keeps a block")
		}
	}
}
