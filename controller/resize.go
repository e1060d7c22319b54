package controller

import "sync"

// sizes hands the numbers that queue.RunOptions.Resize brings to one term after the other. A term begins with the last
// number. A nil sizes has none.
type sizes struct {
	terms chan int // what the term reads; it has room for one number

	mu    sync.Mutex
	last  int
	known bool // there is a last number
}

// readSizes reads from a channel in a goroutine, until stop is called. A number that is in the channel already is read when
// it returns. Without a channel it does nothing.
func readSizes(from <-chan int) (s *sizes, stop func()) {
	if from == nil {
		return nil, func() {}
	}
	s = &sizes{terms: make(chan int, 1)}
	select {
	case n, ok := <-from:
		if ok {
			s.set(n)
		}
	default:
	}
	over := make(chan struct{})
	var reader sync.WaitGroup
	reader.Go(func() {
		for {
			select {
			case n, ok := <-from:
				if !ok {
					return
				}
				s.set(n)
			case <-over:
				return
			}
		}
	})
	return s, func() {
		close(over)
		reader.Wait()
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
	if s == nil {
		return nil
	}
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
