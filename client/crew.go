package client

import (
	"fmt"
	"sync"
	"time"

	"github.com/kinform/kinform/internal/usercode"
)

const (
	// crewSoon is the number of objects of a list that its reader decodes itself, so that small
	// lists start no goroutine.
	crewSoon = 32

	// A load is handed to a decoder when it has so many objects or bytes.
	loadObjects = 32
	loadBytes   = 16 << 10
	// mostAhead is the number of bytes after which the reader waits for the oldest load.
	mostAhead = 1 << 20
	// staleAfter is the time without a delivered object after which the reader first delivers what
	// it has: then the server is slow, and a progress display must not wait for more.
	staleAfter = 100 * time.Millisecond
)

// errUndecoded is the error of an object whose own method ended the goroutine that decoded it.
var errUndecoded = fmt.Errorf("decoding: %w", usercode.ErrGoexit)

// crew decodes objects of one list or watch in its own goroutines. The reader puts objects in and
// takes them out in the same order. It holds a bounded number of them. All methods belong to the
// reader's goroutine.
//
// A crew begins once the kind is known, because the expected kind must not change while objects are
// being decoded. It ends with the list, or with the first event of a watch that is no Added. A watch
// without bookmarks has none, because nothing marks the end of its initial events. A relist has none: its
// reader asks for each object before it would decode it. The decoders and the reader share one table of
// parts; each has its own table of strings.
type crew struct {
	objects  *objectCodec
	encoding encoding
	want     expectation
	work     *workspace // the reader's

	jobs    chan *load
	running sync.WaitGroup

	filling *load
	ahead   []*load // handed over, oldest first
	most    int     // loads ahead
	held    int     // bytes ahead
	free    []*load
	last    time.Time // of the last delivery
}

// load is a number of objects for one decoder.
type load struct {
	raw     []byte // of all objects, without gaps
	objects []part
	next    int           // object to decode
	decoded chan struct{} // gets a token when the load is decoded
}

// part is one object of a load.
type part struct {
	message rawMessage // its bytes are in the load
	end     int
	problem error

	object decoded
	err    error
}

// newCrew starts n decoders. want must be settled. The caller must close the crew.
func newCrew(n int, objects *objectCodec, encoding encoding, want expectation, work *workspace) *crew {
	c := &crew{objects: objects, encoding: encoding, want: want, work: work, most: 2 * n, last: time.Now()}
	c.jobs = make(chan *load, c.most+1)
	for range n {
		c.running.Go(func() { decodeCrew(c, helperWorkspace(objects, encoding, work.sharer), nil) })
	}
	return c
}

// closeCrew ends the decoders. What was not taken out is lost. It may be called for nil.
func closeCrew(c *crew) {
	if c != nil {
		close(c.jobs)
		c.running.Wait()
	}
}

// decodeCrew works until the crew is closed. It begins with the rest of l, which may be nil.
func decodeCrew(c *crew, w *workspace, l *load) {
	ended := false
	defer func() {
		if !ended { // an object's own method has ended the goroutine
			c.running.Go(func() { decodeCrew(c, w, l) })
		}
	}()
	for more := true; more; l, more = <-c.jobs {
		if l != nil {
			decodeLoad(c, l, w)
		}
	}
	ended = true
}

func decodeLoad(c *crew, l *load, w *workspace) {
	for l.next < len(l.objects) {
		p := &l.objects[l.next]
		from := 0
		if l.next > 0 {
			from = l.objects[l.next-1].end
		}
		l.next++
		p.message.raw = l.raw[from:p.end:p.end]
		p.err = errUndecoded
		if c.encoding == inProtobuf {
			p.object, p.err = decodeMessage(c.objects, p.message, p.problem, c.want, w)
		} else {
			p.object, p.err = decodeObject(c.objects, p.message.raw, p.problem, c.want, w)
		}
	}
	l.decoded <- struct{}{}
}

// toCrew takes an object, whose bytes it copies. deliver gets objects that were put before, while
// there are too many of them. It returns false if deliver does.
func toCrew(c *crew, m rawMessage, problem error, deliver func(decoded, error) bool) bool {
	if c.filling == nil {
		c.filling = newLoad(c)
	}
	l := c.filling
	l.raw = append(l.raw, m.raw...)
	m.raw = nil
	l.objects = append(l.objects, part{message: m, end: len(l.raw), problem: problem})
	if time.Since(c.last) >= staleAfter {
		return flushCrew(c, deliver)
	}
	if len(l.objects) >= loadObjects || len(l.raw) >= loadBytes {
		handOver(c)
	}
	for len(c.ahead) > c.most || c.held > mostAhead {
		if !deliverCrew(c, deliver) {
			return false
		}
	}
	return true
}

// newLoad returns an empty load.
func newLoad(c *crew) *load {
	if n := len(c.free); n > 0 {
		l := c.free[n-1]
		c.free = c.free[:n-1]
		return l
	}
	return &load{decoded: make(chan struct{}, 1)}
}

// handOver gives the load that is being filled to a decoder.
func handOver(c *crew) {
	l := c.filling
	if l == nil {
		return
	}
	c.filling = nil
	c.held += len(l.raw)
	c.ahead = append(c.ahead, l)
	c.jobs <- l // has room for all
}

// flushCrew delivers all objects. It may be called for nil.
func flushCrew(c *crew, deliver func(decoded, error) bool) bool {
	if c == nil {
		return true
	}
	handOver(c)
	for len(c.ahead) > 0 {
		if !deliverCrew(c, deliver) {
			return false
		}
	}
	return true
}

// deliverCrew delivers the oldest load.
func deliverCrew(c *crew, deliver func(decoded, error) bool) bool {
	l := c.ahead[0]
	c.ahead = c.ahead[:copy(c.ahead, c.ahead[1:])]
	<-l.decoded
	for i := range l.objects {
		p := &l.objects[i]
		if p.err == nil {
			p.err = shareParts(c.work, p.object.object)
		}
		if !deliver(p.object, p.err) {
			return false
		}
	}
	c.last = time.Now()
	c.held -= len(l.raw)
	clear(l.objects)
	l.raw, l.objects, l.next = l.raw[:0], l.objects[:0], 0
	if cap(l.raw) <= 4*loadBytes {
		c.free = append(c.free, l)
	}
	return true
}
