package fake

import (
	"context"
	"io"
	"math"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/reflector"
)

// readAhead is the number of records that a stream takes under the lock at a time.
const readAhead = 128

// watchEvent is one event of a stream; obj is nil in a bookmark.
type watchEvent struct {
	typ        reflector.EventType
	obj        *revision
	rv         uint64
	initialEnd bool
}

// stream is one open watch, pulled by one goroutine: poll returns an event that is ready, wait
// blocks until poll may have another. The server does not know its streams, so a stream needs no
// end; close frees its timer.
type stream struct {
	t         *table
	m         *matcher
	bookmarks bool

	initial []*revision // still to be sent as ADDED
	endMark bool        // a bookmark closes the initial events

	from   uint64    // the records up to here lie before the start, which may be yet to come
	pos    uint64    // number of the next record in the log
	buffer []*record // read, not yet sent
	at     uint64    // everything up to here has been sent, or lies before the start

	drops  <-chan struct{}
	silent bool // a fault: nothing is ever sent
	timer  *time.Timer
	timeUp bool
	ended  error // once set, poll returns only this
	wake   <-chan struct{}
	// closing says that buffer holds the last records.
	closing bool
}

// watch opens a stream. Errors that the API server puts into the stream are returned by
// the first poll instead. opts has passed checkOptions.
func (t *table) watch(m *matcher, opts metav1.ListOptions) (*stream, error) {
	in, rv, err := t.server.checkOptions(opts, true)
	if err != nil {
		return nil, err
	}
	w := &stream{t: t, m: m, bookmarks: in.AllowWatchBookmarks}
	initial := in.SendInitialEvents != nil && *in.SendInitialEvents || in.SendInitialEvents == nil && rv == 0
	if err := w.start(rv, initial); err != nil {
		return nil, err
	}
	if err := t.cacheable(w.initial); err != nil {
		return nil, err
	}
	w.endMark = w.bookmarks && in.SendInitialEvents != nil && *in.SendInitialEvents
	if in.TimeoutSeconds != nil && *in.TimeoutSeconds > 0 {
		seconds := min(*in.TimeoutSeconds, int64(math.MaxInt64/time.Second)) // for ever, practically
		w.timer = time.NewTimer(time.Duration(seconds) * time.Second)
	}
	return w, nil
}

// start finds the place in the log. It follows the API concepts page ("Semantics for watch") and,
// for initial events, of KEP-3157.
func (w *stream) start(rv uint64, initial bool) error {
	s := w.t.server
	s.mu.Lock()
	defer s.mu.Unlock()
	w.drops = s.drops
	if err := w.t.checkServed(); err != nil {
		return err
	}
	switch {
	case initial:
		if rv > s.rv {
			return errTooLarge(rv, s.rv)
		}
		w.initial = w.t.gather(w.m.namespace, types.NamespacedName{Namespace: w.m.namespace})
		w.at = s.rv
	case rv == 0:
		w.at = s.rv
	case rv < max(s.compacted, w.t.redefined):
		w.ended = errWatchStale(rv, max(s.compacted, w.t.redefined))
	default:
		w.at = rv // may be yet to come: then only later events are sent
	}
	w.from, w.pos = w.at, w.t.log.position(min(w.at, s.rv))
	return nil
}

func (w *stream) close() {
	if w.timer != nil {
		w.timer.Stop()
	}
}

// poll returns the next event. It reports false when there is none now. Errors end the
// stream: io.EOF for an orderly end, errDropped for a broken connection, or a Status.
func (w *stream) poll() (c watchEvent, ok bool, err error) {
	if w.ended != nil {
		return c, false, w.ended
	}
	select {
	case <-w.drops:
		return c, false, w.end(errDropped)
	default:
	}
	if w.silent {
		return c, false, w.checkTime()
	}
	for {
		switch c, ok, err := w.pollInitial(); {
		case err != nil:
			return c, false, w.end(err)
		case ok:
			return c, true, nil
		}
		for len(w.buffer) > 0 {
			r := w.buffer[0]
			w.buffer = w.buffer[1:]
			c, ok, err := w.translate(r)
			if err != nil {
				return c, false, w.end(err)
			}
			if ok {
				return c, true, nil
			}
		}
		if w.closing {
			return w.lastBookmark()
		}
		// One more read after the time is up, so that the bookmark is fresh and yet a
		// busy resource does not keep the watch open.
		w.closing = w.timeIsUp()
		if err := w.read(); err != nil {
			return c, false, w.end(err)
		}
		if len(w.buffer) == 0 && !w.closing {
			return c, false, nil
		}
	}
}

func (w *stream) end(err error) error {
	w.ended = err
	return err
}

func (w *stream) pollInitial() (c watchEvent, ok bool, err error) {
	for len(w.initial) > 0 {
		v, err := w.t.view(w.initial[0])
		if err != nil {
			return c, false, err
		}
		w.initial = w.initial[1:]
		if w.m.match(v.obj) {
			return watchEvent{typ: reflector.Added, obj: v, rv: v.rv}, true, nil
		}
	}
	w.initial = nil
	if w.endMark {
		w.endMark = false
		return watchEvent{typ: reflector.Bookmark, rv: w.at, initialEnd: true}, true, nil
	}
	return c, false, nil
}

// read takes the next records. If there are none, it notes the channel to wait for.
func (w *stream) read() error {
	s := w.t.server
	s.mu.Lock()
	defer s.mu.Unlock()
	var ok bool
	w.buffer, ok = w.t.log.read(w.buffer[:0:0], w.pos, readAhead)
	if !ok {
		return errWatchStale(w.at, s.compacted)
	}
	w.pos += uint64(len(w.buffer))
	if len(w.buffer) == 0 && w.t.current.Load() != w.t.main() {
		return io.EOF // the resource has another definition, or none
	}
	if len(w.buffer) == 0 {
		w.at = max(w.at, s.rv)
		w.wake = w.t.wake.Wait()
	}
	return nil
}

// translate turns a record into the event that this selection sees of it, if any.
func (w *stream) translate(r *record) (c watchEvent, ok bool, err error) {
	if r.rv < w.at || r.rv == w.from && !r.bookmark() {
		return c, false, nil // before a start that was yet to come
	}
	w.at = r.rv
	if r.bookmark() {
		return watchEvent{typ: reflector.Bookmark, rv: r.rv}, w.bookmarks, nil
	}
	old, err := w.t.view(r.old)
	if err != nil {
		return c, false, err
	}
	cur, err := w.t.view(r.cur)
	if err != nil {
		return c, false, err
	}
	was := old != nil && w.m.match(old.obj)
	is := cur != nil && w.m.match(cur.obj)
	c = watchEvent{obj: cur, rv: r.rv}
	switch {
	case is && was:
		c.typ = reflector.Modified
	case is:
		c.typ = reflector.Added
	case was:
		c.typ = reflector.Deleted
		if c.obj, err = r.gone(); err == nil {
			c.obj, err = w.t.view(c.obj)
		}
	default:
		return c, false, nil
	}
	return c, err == nil, err
}

func (w *stream) timeIsUp() bool {
	if w.timer != nil {
		select {
		case <-w.timer.C:
			w.timeUp = true
		default:
		}
	}
	return w.timeUp
}

// lastBookmark lets a client that resumes skip the events that it has.
func (w *stream) lastBookmark() (c watchEvent, ok bool, err error) {
	err = w.end(io.EOF)
	if !w.bookmarks {
		return c, false, err
	}
	return watchEvent{typ: reflector.Bookmark, rv: w.at}, true, nil
}

func (w *stream) checkTime() error {
	if w.timeIsUp() {
		return w.end(io.EOF)
	}
	return nil
}

// wait blocks until poll may have another event, or ctx is done. It waits on channels alone, so
// that it is durably blocked to testing/synctest.
func (w *stream) wait(ctx context.Context) error {
	var timeUp <-chan time.Time
	if w.timer != nil {
		timeUp = w.timer.C
	}
	wake := w.wake
	if w.silent {
		wake = nil
	}
	select {
	case <-wake:
	case <-timeUp:
		w.timeUp = true
	case <-w.drops:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}
