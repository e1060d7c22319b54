package client

import (
	"sync/atomic"
	"time"
)

// Stats counts what a Resource has received, since it was made.
type Stats struct {
	// Bytes is the number of bytes read of lists, watches and single objects, after
	// decompression by the transport. Refusals do not count.
	Bytes int64
	// Objects is the number of decoded objects without bookmarks, ObjectErrors the number of
	// objects that could not be used.
	Objects, ObjectErrors int64
	// Recalled is the number of objects of lists that were not decoded, because the reflector
	// had them: see [reflector.Source].
	Recalled int64
	// DecodeTime is the time spent turning those objects into Go values. It does not include
	// waiting for the server, finding the ends of objects in a body, and the use of the
	// objects. It is the sum over all goroutines that decode.
	DecodeTime time.Duration
}

// counters are the Stats in the form that any goroutine can count in.
type counters struct {
	bytes, objects, failures, recalled, nanos atomic.Int64
}

// countDecoded counts an object whose decoding began at start.
func (c *counters) countDecoded(start time.Time, err error) {
	c.nanos.Add(int64(time.Since(start)))
	if err != nil {
		c.failures.Add(1)
		return
	}
	c.objects.Add(1)
}

// now returns the current counters.
func (c *counters) now() Stats {
	return Stats{
		Bytes:        c.bytes.Load(),
		Objects:      c.objects.Load(),
		ObjectErrors: c.failures.Load(),
		Recalled:     c.recalled.Load(),
		DecodeTime:   time.Duration(c.nanos.Load()),
	}
}
