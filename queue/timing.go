package queue

// timing holds the measurements of Options.Timing. Guarded by Queue.mu.
type timing[K comparable] struct {
	latency Histogram
	work    Histogram
	running lane[K] // handed out, oldest first: the entries' links are free while they run
}

// got records a hand-out.
func (t *timing[K]) got(e *entry[K], now int64) {
	t.latency.observe(now - e.since)
	e.since, e.start = 0, now
	t.running.push(e)
}

// done records the end of a run.
func (t *timing[K]) done(e *entry[K], now int64) {
	t.work.observe(now - e.start)
	e.start = 0
	t.running.remove(e)
}
