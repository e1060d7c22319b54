package queue

// counters only grow. Guarded by Queue.mu.
type counters struct {
	adds    uint64
	retries uint64
	panics  uint64
}

// timing is what Options.Timing adds. Guarded by Queue.mu.
type timing[K comparable] struct {
}

func (t *timing[K]) got(e *entry[K], now int64) { e.start = now }

func (t *timing[K]) done(e *entry[K], now int64) { e.start = 0 }
