package controller

import "sync"

// ring holds the newest n values.
type ring[E any] struct {
	mu    sync.Mutex
	buf   []E // grows to its capacity, then the oldest is overwritten
	size  int
	total uint64
}

func newRing[E any](n int) *ring[E] { return &ring[E]{size: n} }

func (r *ring[E]) add(e E) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.buf) < r.size {
		r.buf = append(r.buf, e)
	} else {
		r.buf[r.total%uint64(r.size)] = e
	}
	r.total++
}

// newest returns a copy, the newest first, and the number of values ever added.
func (r *ring[E]) newest() ([]E, uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]E, len(r.buf))
	for i := range all {
		all[i] = r.buf[(r.total-1-uint64(i))%uint64(r.size)]
	}
	return all, r.total
}
