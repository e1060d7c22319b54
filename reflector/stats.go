package reflector

import "sync/atomic"

// Stats counts what a reflector did since New. All but Listed and Expected only grow.
type Stats struct {
	// Lists counts the lists that were handed to the sink, and Watches the watches that
	// were begun.
	Lists, Watches uint64
	// Events counts watch events that went to the sink, bookmarks included.
	Events uint64
	// BadObjects counts the objects that were reported and skipped.
	BadObjects uint64
	// Failures counts the lists and watches that failed.
	Failures uint64
	// Listed is the number of objects received of the list in progress, or of the last
	// one. Expected is how many it will have, zero while the server did not tell. It
	// tells on pages of a list without selectors (ListMeta.remainingItemCount), and
	// answers the first list, at resourceVersion "0", in one piece and so without it.
	Listed, Expected uint64
}

// counters are written by the goroutine of Run and read by any.
type counters struct {
	lists, watches, events, badObjects, failures, listed, expected atomic.Uint64
}

// Stats returns the counters. Safe from any goroutine; the counters are read one by one
// and need not be of the same moment.
func (r *Reflector[T]) Stats() Stats {
	c := &r.stats
	return Stats{
		Lists:      c.lists.Load(),
		Watches:    c.watches.Load(),
		Events:     c.events.Load(),
		BadObjects: c.badObjects.Load(),
		Failures:   c.failures.Load(),
		Listed:     c.listed.Load(),
		Expected:   c.expected.Load(),
	}
}
