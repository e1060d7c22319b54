package controller

import (
	"context"
	"sync"

	"github.com/kinform/kinform/queue"
)

// sizes reads queue.RunOptions.Resize for the whole of Run, and hands the numbers to one term after the other. A term
// begins with the last number.
type sizes struct {
	terms chan int // what the term reads; it has room for one number

	mu    sync.Mutex
	last  int
	known bool // there is a last number
}

// resize begins to read the numbers of workers from a channel, unless that is nil.
func (s *session) resize(from <-chan int) {
	if from != nil {
		s.sizes = &sizes{terms: make(chan int, 1)}
		s.tasks.Go(func() { s.sizes.read(s.ctx, from) })
	}
}

// runOptions returns the options for the next term.
func (s *session) runOptions(opts queue.RunOptions) queue.RunOptions {
	if s.sizes != nil {
		opts.Resize = s.sizes.term()
	}
	return opts
}

// read hands on the numbers until ctx is done or from is closed.
func (s *sizes) read(ctx context.Context, from <-chan int) {
	for {
		select {
		case n, ok := <-from:
			if !ok {
				return
			}
			s.set(n)
		case <-ctx.Done():
			return
		}
	}
}

func (s *sizes) set(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last, s.known = n, true
	s.offer()
}

// term returns the channel for the next term, with the last number in it. One term reads at a time.
func (s *sizes) term() <-chan int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known {
		s.offer()
	}
	return s.terms
}

// offer puts the last number in the place of one that nobody has read. Called with mu held.
func (s *sizes) offer() {
	select {
	case <-s.terms:
	default:
	}
	s.terms <- s.last
}
