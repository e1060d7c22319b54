package reflector

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

const (
	// grace is how much longer a watch may last than its request named.
	grace = 30 * time.Second
	// A streaming list that brings nothing for slowAfter is reported.
	slowAfter = 10 * time.Second
	// A streaming list that brings nothing at all for ignoredAfter counts as ignored: a server
	// that streams would have sent a bookmark by then.
	ignoredAfter = time.Minute
	// So does one whose end does not come within ignoredAfter of the first live change, and one that
	// brings less than slowestList objects in ignoredAfter, slowWindows times in a row, or less than
	// slowestRising if none of them was older than one before: those are most likely live creations. A slow list
	// that was created in key order is mistaken for them, and then comes in pages.
	slowestList   = 1000
	slowestRising = 10_000
	slowWindows   = 2
	// A watch that ends before lastingAfter is short.
	lastingAfter = time.Second
)

// watchRequest is one watch request, with the streaming list that it may begin with. The goroutine of
// Run owns it, except for atomic fields and the ones that stop waits for.
type watchRequest struct {
	turn    context.Context // in which the sink takes what comes: until Run ends, or the selection changes
	began   time.Time
	listed  time.Time     // when the streaming list was whole; began if there is none
	lasts   time.Duration // the time that the request names
	end     watchEnd
	sinkErr error // why the sink refused an event
	next    *step // what follows, if streamListed has decided it

	replay   replay             // how far the watch has repeated known events
	skipped  bool               // the streaming list has an object that could not be used
	accepted bool               // the answer is no refusal; false if the source does not say
	live     atomic.Bool        // the streaming list has had a live change
	fell     atomic.Bool        // since the last window of pace, an object was older than one before it
	limited  context.Context    // ends when the watch has taken too long
	giveUp   context.CancelFunc // ends the request
	attempt  *Attempt
	dog      *watchdog
	proven   *delayed    // waits until the watch has lasted; nil if it need not
	works    *delayed    // the same, for Stats.Polling
	aborted  atomic.Bool // the watchdog ended the request
	silent   bool        // the breaker ended the request
	left     bool        // the selection has changed, and nothing else ended the watch
	guard
}

// hadItsTime reports whether w lasted as long as its request named.
func (w *watchRequest) hadItsTime(end watchEnd) bool {
	return end.err == nil && !end.early && !w.left && !w.silent
}

// refused reports whether the server has not accepted w.
func (w *watchRequest) refused() bool {
	return w.attempt != nil && !w.attempt.plain && w.attempt.progress().reached() && !w.accepted && !w.end.heard
}

// unreached reports whether there was no connection for a watch that ended with err. It is taken to be so
// if the watch hung and the source does not trace connections.
func (w *watchRequest) unreached(err error) bool {
	if err == nil || isStatus(err) || w.end.heard {
		return false
	}
	return wasUnreached(w.attempt, err) || !w.attempt.progress().traced && errors.Is(err, errUnanswered)
}

// mayRepeat reports whether an event may be one that has come before, so that its object counts.
func (w *watchRequest) mayRepeat(e *notice) bool {
	return e.typ != Bookmark && (w.replay.active || e.rv == w.end.rv)
}

// badEvent handles an event that could not be used, and reports whether the watch continues.
func (w *watchRequest) badEvent(bad *ObjectError) bool {
	if bad.Type != Deleted {
		return true
	}
	w.end.rv, w.end.err = newest(w.end.rv, bad.ResourceVersion), errUnreadableDelete
	return false
}

// lists reports whether an event of a streaming list is about an object that the sink can take.
func (w *watchRequest) lists(typ EventType) bool {
	if typ == Bookmark || typ == Deleted && w.skipped {
		return false
	}
	if typ != Added {
		w.live.Store(true)
	}
	return true
}

// abort ends the request.
func (w *watchRequest) abort() {
	w.aborted.Store(true)
	if w.giveUp != nil {
		w.giveUp()
	}
}
