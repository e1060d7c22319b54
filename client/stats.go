package client

import (
	"sync/atomic"
	"time"
)

// Stats counts what a Resource has received, since it was made.
type Stats struct {
	// Bytes is how much of lists, watches and single objects was read, after the
	// transport took compression off. Refusals do not count.
	Bytes int64
	// Objects is how many objects were decoded, bookmarks not among them, and
	// ObjectErrors how many could not be used.
	Objects, ObjectErrors int64
	// DecodeTime is the time that it took to make Go values of those objects. Waiting
	// for the server, finding out where in a body they begin and end, and what is done
	// with them is not in it.
	DecodeTime time.Duration
}

// counters are the Stats as they are counted, by any goroutine.
type counters struct {
	bytes, objects, failures, nanos atomic.Int64
}

// decoded counts an object that took the time since start.
func (c *counters) decoded(start time.Time, err error) {
	c.nanos.Add(int64(time.Since(start)))
	if err != nil {
		c.failures.Add(1)
		return
	}
	c.objects.Add(1)
}

// Stats returns the counters as they are now. It takes no lock: the numbers may be of
// moments a few objects apart.
func (r *Resource[T]) Stats() Stats {
	c := r.objects.stats
	return Stats{
		Bytes:        c.bytes.Load(),
		Objects:      c.objects.Load(),
		ObjectErrors: c.failures.Load(),
		DecodeTime:   time.Duration(c.nanos.Load()),
	}
}
