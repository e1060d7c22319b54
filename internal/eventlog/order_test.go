package eventlog

import (
	"sync"
	"testing"
)

// A reader never is ahead of the log's position, whatever it meets Publish in the middle of.
func TestReaderIsNotAhead(t *testing.T) {
	rounds := 300_000
	if testing.Short() {
		rounds = 50_000
	}
	var l Log[int]
	var wg sync.WaitGroup
	c := l.NewCursor()
	wg.Go(func() {
		for {
			run, err := c.TryNext()
			if err != nil {
				return
			}
			if at := c.Position(); run != nil && at > l.Position() {
				t.Errorf("the reader is at %d, the log at %d", at, l.Position())
				return
			}
		}
	})
	for i := range rounds {
		l.Append(i)
		l.Publish()
	}
	c.Close()
	wg.Wait()
}

// What is published after Finish is not the cursor's, though it was told to finish while it looked for events.
func TestFinishWhileTaking(t *testing.T) {
	var l Log[int]
	c := l.NewCursor()
	b := c.at()
	c.Finish()
	l.Append(1)
	l.Publish()
	if run := c.take(b); run != nil {
		t.Errorf("got %v, want nothing at all", run)
	}
	c.Leave()
}

// A reader that has told the writer of a move tells it of no other before it is asked again: that would cost a lock per run.
func TestMovesAnswerOnce(t *testing.T) {
	var l Log[int]
	c := l.NewCursor()
	for i := range 2 {
		l.Append(i)
		l.Publish()
	}
	if l.Lagging(1) == nil {
		t.Fatal("two events are no lag of more than one")
	}
	for range 2 { // the run, and that it is done with
		if _, err := c.TryNext(); err != nil {
			t.Fatal(err)
		}
	}
	if c.read.advance(0) {
		t.Error("the next move would answer again")
	}
	c.Leave()
}
