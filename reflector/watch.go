package reflector

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// watch is one watch request, with the streaming list that it may begin with. The goroutine of
// Run owns it, except for atomic fields and the ones that stop waits for.
type watch struct {
	asked   string // the resourceVersion to resume from, for reports
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
	attempt  *Attempt           // nil if the source is not a Server
	dog      *watchdog
	proven   *delayed    // waits until the watch has lasted; nil if it need not
	works    *delayed    // the same, for Stats.Polling
	aborted  atomic.Bool // the watchdog ended the request
	silent   bool        // the breaker ended the request
	left     bool        // the selection has changed, and nothing else ended the watch
	guard
}

// watchOnce carries out one watch and the step that follows its end. The error is the sink's. Opening
// and ending it are functions of their own, so that only a small part of the stack is in use while
// it waits for events.
func (p *protocol) watchOnce(ctx context.Context) error {
	w := new(watch)
	defer p.closeWatch(w) // also when the source or the sink panics
	p.requests.watch(ctx, w)
	return p.watchClosed(ctx, w)
}

// beginWatch begins the request, and starts the watchdog.
func (p *protocol) beginWatch(ctx context.Context, w *watch) metav1.ListOptions {
	opts := p.watchOptions()
	// A server that does not end the watch in time, or a proxy on the way to it, may have lost
	// the watch.
	limit := min(time.Duration(*opts.TimeoutSeconds)*time.Second, math.MaxInt64-grace) + grace
	w.limited, w.giveUp = context.WithTimeout(ctx, limit)
	var accepts func()
	if p.state.phase != streaming {
		accepts = func() { p.acceptedWatch(w) }
	}
	request, attempt := p.beginRequest(w.limited, false, accepts)
	w.attempt = attempt
	w.asked, w.began, w.end.rv, w.lasts = opts.ResourceVersion, time.Now(), p.state.rv, limit-grace
	w.listed = w.began
	w.guard = guard{request: request, asked: RequestError{Verb: "watch", ResourceVersion: w.asked}}
	if p.state.phase == streaming {
		w.guard.asked.Verb = "watchlist"
		p.stats.watchLists.Add(1)
		p.beginList("watchlist")
		w.dog = p.guardStream(w)
	} else {
		p.stats.watches.Add(1)
		p.log.Debug("watch begins", slog.String("resourceVersion", w.asked))
		w.replay = p.newReplay(w.asked)
		w.dog = p.guardReplay(w)
		limit := max(p.opts.Backoff.Max, answerLimit)
		w.attempt.answerWithin(limit + p.waits.upTo(limit/spreadShare))
		if !p.server && p.silence.byLists(&p.state) { // it does not say whether the watch is accepted
			w.works = p.stats.worksAfter(p.silence.proof(max(p.opts.Backoff.Max, lastingAfter)))
		}
	}
	return opts
}

// acceptedWatch follows the acceptance of w by the server. That is a success, unless the last watch was
// in vain: then w has to last for a while, or to bring something.
func (p *protocol) acceptedWatch(w *watch) {
	if w.accepted {
		return
	}
	w.accepted = true
	why, least := p.vain, p.proof
	if why == noPause {
		p.succeeded()
		least = 0
	} else {
		w.proven = later(least, func() { p.watchLasted(why) })
	}
	if p.silence.byLists(&p.state) {
		w.works = p.stats.worksAfter(p.silence.proof(least))
	}
}

// closeWatch gives up what beginWatch has begun.
func (p *protocol) closeWatch(w *watch) {
	w.proven.stop()
	w.works.stop()
	w.dog.stop()
	w.attempt.end()
	if w.giveUp != nil {
		w.giveUp()
	}
}

// watchClosed carries out the step after a watch that the source has left.
func (p *protocol) watchClosed(ctx context.Context, w *watch) error {
	w.proven.stop()
	w.works.stop()
	p.returned(&w.guard, w.dog)
	moved := interrupted(ctx)
	if moved && isCanceled(w.sinkErr) {
		w.sinkErr, w.end.err = nil, nil // the next watch brings what the sink did not take
	}
	if w.sinkErr != nil || ctx.Err() != nil && !moved {
		if p.state.phase == streaming {
			p.sink.Discard()
		}
		return w.sinkErr
	}
	w.end.err = causeOf(w.request, w.end.err)
	w.silent = errors.Is(context.Cause(w.request), errSilent)
	w.left = moved && (w.end.err == nil || isCanceled(w.end.err))
	cut := w.left || w.silent || w.limited.Err() != nil && !moved
	if p.state.phase != streaming && !moved && w.request.Err() != nil && w.attempt.progress().hung() {
		cut, w.end.err = false, ErrUnanswered
	}
	p.watchEnded(ctx, w, cut)
	delay := w.attempt.end()
	p.breaker.sleep(ctx, noPause, delay, delay)
	return nil
}

// watchEnded carries out the step that follows the end of a watch. cut: the client ended the watch
// because it took too long.
func (p *protocol) watchEnded(ctx context.Context, w *watch, cut bool) {
	report := RequestError{Verb: "watch", ResourceVersion: w.asked}
	if w.next != nil {
		report.Verb = "watchlist"
		p.carryOut(ctx, *w.next, report, w.began)
		return
	}
	end := w.end
	p.log.Debug("watch ends", slog.String("resourceVersion", end.rv))
	end.at = time.Now()
	lived := end.at.Sub(w.began)
	if p.state.phase != streaming {
		p.stats.watchEnds(lived, end.heard)
	}
	end.began, end.short = w.listed, lived < lastingAfter
	end.early = !w.left && (end.short || lived < w.lasts-time.Second)
	if cut {
		end.err, end.short = nil, false
	}
	end.unreached = w.unreached(end.err)
	end.steady = end.at.Sub(w.listed) >= max(p.opts.Backoff.Max, lastingAfter) && !w.refused() && !end.unreached
	var st step
	if p.state.phase == streaming {
		report.Verb = "watchlist"
		if w.silent { // the connection is to blame
			end.err = ErrUnanswered
		}
		end.ignored = end.ignored || cut && !w.silent
		p.state, st = p.state.streamFailed(end)
	} else {
		p.silence = p.silence.after(w, end, &p.state)
		nothingNew := end.rv == p.state.rv && !isStatus(end.err) && w.attempt.progress().answered
		st = p.stepAfter(w, end)
		p.noteVain(end, nothingNew, lived)
	}
	if !cut && (end.err == nil || isStatus(end.err)) {
		p.breaker.answered() // the server closed the watch in order, or refused it
	}
	p.carryOut(ctx, st, report, w.began)
}

// noteVain records whether the watch that lasted for so long was in vain. One that breaks later than
// soon is in vain, too, if lists alone keep the sink up to date: to last as long proves nothing.
func (p *protocol) noteVain(end watchEnd, nothingNew bool, lived time.Duration) {
	p.vain = noPause
	soon := end.short || p.state.byLists && end.err != nil && !end.steady
	if !soon || !nothingNew {
		return
	}
	if p.vain = pauseBusy; end.err != nil {
		p.vain = pauseFor(end.err)
	}
	p.proof = max(lastingAfter, min(2*lived, p.opts.Backoff.Max))
}

// refused reports whether the server has not accepted w.
func (w *watch) refused() bool {
	return w.attempt != nil && w.attempt.progress().reached() && !w.accepted && !w.end.heard
}

// unreached reports whether there was no connection for a watch that ended with err. It is taken to be so
// if the watch hung and the source does not trace connections.
func (w *watch) unreached(err error) bool {
	if err == nil || isStatus(err) || w.end.heard {
		return false
	}
	return unreached(w.attempt, err) || !w.attempt.progress().traced && errors.Is(err, ErrUnanswered)
}

// stepAfter decides the step after a watch, or after a streaming list that had become one.
func (p *protocol) stepAfter(w *watch, end watchEnd) (st step) {
	end.idle = w.aborted.Load()
	p.recent.noteEnd(end.at.Sub(p.made))
	switch {
	case errors.Is(end.err, ErrRestored):
		p.state, st = p.state.restored(end.err)
		return st
	case errors.Is(end.err, errDiffers):
		p.state, st = p.state.doubted(becauseRestored)
		return st
	case w.replay.strict && w.replay.pending() && isExpired(end.err):
		return p.repeatLess(w)
	case w.replay.strict && w.replay.pending() && end.idle:
		if p.state = p.state.check(); !w.attempt.progress().answered {
			return step{err: ErrUnanswered, pause: pauseAway}
		}
		return st
	case w.replay.strict && w.replay.pending() && end.err == nil && !end.short && (!p.state.confirmed || p.state.unverified > 0):
		p.state = p.state.check() // the watch was too short for guardReplay, or the list had no answer
		return st
	case !w.replay.pending():
		p.state.replayRV = ""
	}
	if end.idle {
		p.stats.idle.Add(1)
	}
	unexpected := endedUnexpectedly(end) || w.silent
	verify := (unexpected || p.state.unverified > 0) && p.state.replayRV == ""
	if unexpected {
		p.state.confirmed = false // what the server has shown before may not hold any more
	}
	if p.state, st = p.state.watchEnded(end); st.pause == pauseAway || st.pause == pauseBusy {
		p.state.unverified = 0 // the list of one object was not to blame
	}
	lasted := end.err == nil && !w.silent && (end.idle || !end.early)
	if !w.left && p.state.listsLater() && !p.follows.awaitsList() && (lasted || !w.refused() && !end.unreached && p.silence.mayDoubt(end.at)) {
		p.state, st = p.state.doubted(becauseRestored)
		return st
	}
	if verify {
		p.verifyHistory(st.pause)
	}
	if st.relist == noRelist && p.mayRenew(w, end) {
		p.state = p.state.renew()
		st.relist = becauseEnded
	}
	return st
}

// verifyHistory has the server show its history before the watch goes on. why is the pause before that.
func (p *protocol) verifyHistory(why pause) {
	switch from, _ := p.recent.replayFrom(); {
	case p.opts.TrustVersions:
	case from != "":
		p.state = p.state.verifyFrom(from)
	case why != pauseDenied: // a second request would only be denied, too
		p.state = p.state.verifyFrom("")
	}
}

// receives follows the arrival of one pair of a watch, which has an error or none. It reports whether the
// watch continues. bad is the error of a single object.
func (p *protocol) receives(w *watch, err error) (bad *ObjectError, more bool) {
	w.attempt.received()
	if err != nil {
		if bad = p.badObject(err); bad == nil {
			w.end.err = err
			return nil, false
		}
	}
	if !w.end.heard {
		w.end.heard = true
		p.breaker.answered()
	}
	if bad == nil && !w.end.useful {
		w.end.useful = true
		if p.state.phase == watching && p.silence.byLists(&p.state) {
			p.stats.polls(Polling{})
		}
	}
	return bad, true
}

// mayRepeat reports whether an event may be one that has come before, so that its object counts.
func (w *watch) mayRepeat(e *notice) bool {
	return e.typ != Bookmark && (w.replay.active || e.rv == w.end.rv)
}

// mayApply reports whether an event is new to the sink. If it is not, more reports whether the watch
// continues.
func (p *protocol) mayApply(w *watch, e *notice) (fresh, more bool) {
	var err error
	if w.replay.active {
		if isNew, err := p.replayed(w, e); !isNew {
			w.end.err = err
			return false, err == nil
		}
	}
	if fresh, err = p.recent.inOrder(e, w.end.rv); err != nil {
		w.end.err = err
		return false, false
	}
	return fresh, true
}

// applied follows an event that the sink has taken.
func (p *protocol) applied(w *watch, e *notice) {
	p.succeeded()
	// The version moves only now: an event that the sink did not take must be asked for again.
	at := time.Since(p.made)
	p.recent.addRecent(at, w.end.rv, e)
	w.end.rv = advance(w.end.rv, e.typ, e.rv)
	p.stats.applied(e.typ, w.end.rv, at)
}

// badEvent handles an event that could not be used, and reports whether the watch continues.
func (w *watch) badEvent(bad *ObjectError) bool {
	if bad.Type != Deleted {
		return true
	}
	w.end.rv, w.end.err = newest(w.end.rv, bad.ResourceVersion), ErrUnreadableDelete
	return false
}

// lists reports whether an event of a streaming list is about an object that the sink can take.
func (w *watch) lists(typ EventType) bool {
	if typ == Bookmark || typ == Deleted && w.skipped {
		return false
	}
	if typ != Added {
		w.live.Store(true)
	}
	return true
}

// tookListed follows an event that lists has let pass.
func (p *protocol) tookListed(w *watch) {
	if p.listed.fell {
		p.listed.fell = false
		w.fell.Store(true)
	}
}

// receivedOther follows what is no object for the sink in a streaming list.
func (p *protocol) receivedOther(ctx context.Context, w *watch, e *notice, bad *ObjectError) (more bool, sinkErr error) {
	switch {
	case bad != nil && bad.Type == Bookmark:
		return true, nil
	case bad != nil && bad.Type == Deleted, e.typ == Deleted && w.skipped:
		// The deletion may be that of the unreadable object, which would otherwise be kept for
		// ever.
		w.end.err = ErrUnreadableDelete
		return false, nil
	case bad != nil:
		w.skipped, p.emptyList = true, false
		p.sink.Skipped(bad)
		return true, nil
	case !e.initialEnds:
		// The first bookmark of a streaming list has the mark.
		w.end.ignored, w.end.err = true, ErrNoInitialEventsEnd
		return false, nil
	}
	return p.streamListed(ctx, w, e.rv)
}

// streamListed follows the bookmark that ends a streaming list. The watch goes on after it.
func (p *protocol) streamListed(ctx context.Context, w *watch, rv string) (more bool, sinkErr error) {
	var st step
	if p.state, st = p.state.streamListed(rv, p.listed.version); !st.replace {
		w.next = &st
		return false, nil
	}
	p.stats.expected.Store(p.stats.listed.Load())
	p.stats.watches.Add(1)
	w.asked, w.end.rv = p.state.rv, p.state.rv
	w.accepted, w.listed, w.end.heard, w.end.useful = true, time.Now(), false, false // a watch from now on
	w.dog.stop()
	w.guard.asked = RequestError{Verb: "watch", ResourceVersion: w.asked}
	w.dog = p.guardWatch(w)
	w.dog.received() // the sink may take its time
	defer w.dog.handled()
	if p.vain == noPause {
		p.breaker.succeeded(p.endFailing()) // of a request for a watch, unlike the success of a LIST
	}
	if sinkErr = p.replace(ctx); p.silence.byLists(&p.state) {
		w.works = p.stats.worksAfter(p.silence.proof(max(lastingAfter, p.proof)))
	}
	return sinkErr == nil, sinkErr
}

// guardWatch returns a watchdog for a watch.
func (p *protocol) guardWatch(w *watch) *watchdog {
	if p.opts.IdleTimeout < 0 {
		return p.guardCall(&w.guard)
	}
	return p.guardFor(w, p.opts.IdleTimeout)
}

// guardFor returns a watchdog that ends the request once nothing has come for so long.
func (p *protocol) guardFor(w *watch, patience time.Duration) *watchdog {
	return newWatchdog(patience/4, p.omitted, func(quiet time.Duration) {
		if quiet >= patience {
			w.abort()
		}
		p.checkLate(&w.guard, quiet)
	})
}

// guardStream returns a watchdog for a streaming list.
func (p *protocol) guardStream(w *watch) *watchdog {
	patience := ignoredAfter
	if p.opts.IdleTimeout > 0 {
		patience = min(patience, p.opts.IdleTimeout)
	}
	warned := false
	slow := &SlowListError{Resource: p.resource, ResourceVersion: w.asked}
	dog := &watchdog{every: min(patience, slowAfter) / 4, omitted: p.omitted}
	pace := pace{every: dog.every, patience: patience}
	dog.looked = func(pulse uint64) {
		if pace.look(pulse, w.live.Load(), &w.fell) {
			w.abort()
		}
	}
	dog.react = func(quiet time.Duration) {
		if quiet >= patience {
			w.abort()
		} else if quiet >= slowAfter && !warned {
			warned = true
			slow.Quiet = quiet
			if p.warn(&w.guard, slow); w.panic != nil {
				w.abort()
			}
		}
		p.checkLate(&w.guard, quiet)
	}
	return dog.start()
}

// pace tells a list that comes slowly from live changes in place of one. It belongs to a watchdog.
type pace struct {
	every, patience time.Duration // set once

	live, window time.Duration // since the first live change, and since the window began
	began        uint64        // pulse at the beginning of the window
	slow         int           // windows in a row with too few objects
}

// look follows a look of the watchdog, and reports whether the stream is no list. fell says that an object of the
// window was older than one before it; look clears it at the end of a window. The time that the sink takes does not
// count.
func (p *pace) look(pulse uint64, live bool, fell *atomic.Bool) bool {
	if pulse%2 == 1 {
		return false
	}
	if live {
		p.live += p.every
	}
	if p.window += p.every; p.window >= p.patience {
		least := uint64(slowestRising)
		if fell.Swap(false) {
			least = slowestList
		}
		if p.slow++; pulse-p.began >= 2*least {
			p.slow = 0
		}
		p.window, p.began = 0, pulse
	}
	return p.live >= p.patience || p.slow >= slowWindows
}

// abort ends the request.
func (w *watch) abort() {
	w.aborted.Store(true)
	if w.giveUp != nil {
		w.giveUp()
	}
}
