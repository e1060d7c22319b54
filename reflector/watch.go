package reflector

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"math"
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
func watchOnce[T any](r *Reflector[T], ctx context.Context) error {
	w := new(watch)
	defer closeWatch(r, w) // also when the source or the sink panics
	events := openWatch(r, ctx, w)
	receive(r, ctx, w, events)
	return watchClosed(r, ctx, w)
}

// openWatch makes the request, and starts the watchdog.
func openWatch[T any](r *Reflector[T], ctx context.Context, w *watch) iter.Seq2[Event[T], error] {
	opts := watchOptions(r)
	// A server that does not end the watch in time, or a proxy on the way to it, may have lost
	// the watch.
	limit := min(time.Duration(*opts.TimeoutSeconds)*time.Second, math.MaxInt64-grace) + grace
	w.limited, w.giveUp = context.WithTimeout(ctx, limit)
	var accepts func()
	if r.state.phase != streaming {
		accepts = func() { acceptedWatch(r, w) }
	}
	request, attempt := beginRequest(r, w.limited, false, accepts)
	w.attempt = attempt
	w.asked, w.began, w.end.rv, w.lasts = opts.ResourceVersion, time.Now(), r.state.rv, limit-grace
	w.listed = w.began
	w.guard = guard{request: request, asked: RequestError{Verb: "watch", ResourceVersion: w.asked}}
	source := r.source
	if r.state.phase == streaming {
		source = beginRecall(r.recall, source)
		w.guard.asked.Verb = "watchlist"
		r.stats.watchLists.Add(1)
		beginList(r, "watchlist")
		w.dog = guardStream(r, w)
	} else {
		r.stats.watches.Add(1)
		r.log.Debug("watch begins", slog.String("resourceVersion", w.asked))
		w.replay = newReplay(r, w.asked)
		w.dog = guardReplay(r, w)
		limit := max(r.opts.Backoff.Max, answerLimit)
		w.attempt.answerWithin(limit + r.waits.upTo(limit/spreadShare))
		if !r.server && r.silence.byLists(&r.state) { // it does not say whether the watch is accepted
			w.works = r.stats.worksAfter(r.silence.proof(max(r.opts.Backoff.Max, lastingAfter)))
		}
	}
	return source.Watch(request, opts)
}

// acceptedWatch follows the acceptance of w by the server. That is a success, unless the last watch was
// in vain: then w has to last for a while, or to bring something.
func acceptedWatch[T any](r *Reflector[T], w *watch) {
	if w.accepted {
		return
	}
	w.accepted = true
	why, least := r.vain, r.proof
	if why == noPause {
		succeeded(r)
		least = 0
	} else {
		w.proven = later(least, func() { watchLasted(r, why) })
	}
	if r.silence.byLists(&r.state) {
		w.works = r.stats.worksAfter(r.silence.proof(least))
	}
}

// closeWatch gives up what openWatch has begun.
func closeWatch[T any](r *Reflector[T], w *watch) {
	w.proven.stop()
	w.works.stop()
	w.dog.stop()
	endRecall(r.recall)
	w.attempt.end()
	if w.giveUp != nil {
		w.giveUp()
	}
}

// receive passes on the events until the watch ends.
func receive[T any](r *Reflector[T], ctx context.Context, w *watch, events iter.Seq2[Event[T], error]) {
	for ev, err := range events {
		if w.limited.Err() != nil {
			break // the source goes on regardless
		}
		var more bool
		if more, w.sinkErr = received(r, ctx, w, ev, err); !more {
			break
		}
	}
}

// watchClosed carries out the step after a watch that the source has left.
func watchClosed[T any](r *Reflector[T], ctx context.Context, w *watch) error {
	w.proven.stop()
	w.works.stop()
	returned(r, &w.guard, w.dog)
	moved := interrupted(ctx)
	if moved && isCanceled(w.sinkErr) {
		w.sinkErr, w.end.err = nil, nil // the next watch brings what the sink did not take
	}
	if w.sinkErr != nil || ctx.Err() != nil && !moved {
		if r.state.phase == streaming {
			r.sink.Discard()
		}
		return w.sinkErr
	}
	w.end.err = causeOf(w.request, w.end.err)
	w.silent = errors.Is(context.Cause(w.request), errSilent)
	w.left = moved && (w.end.err == nil || isCanceled(w.end.err))
	cut := w.left || w.silent || w.limited.Err() != nil && !moved
	if r.state.phase != streaming && !moved && w.request.Err() != nil && w.attempt.progress().hung() {
		cut, w.end.err = false, ErrUnanswered
	}
	watchEnded(r, ctx, w, cut)
	delay := w.attempt.end()
	r.breaker.sleep(ctx, noPause, delay, delay)
	return nil
}

// watchEnded carries out the step that follows the end of a watch. cut: the client ended the watch
// because it took too long.
func watchEnded[T any](r *Reflector[T], ctx context.Context, w *watch, cut bool) {
	report := RequestError{Verb: "watch", ResourceVersion: w.asked}
	if w.next != nil {
		report.Verb = "watchlist"
		carryOut(r, ctx, *w.next, report, w.began)
		return
	}
	end := w.end
	r.log.Debug("watch ends", slog.String("resourceVersion", end.rv))
	end.at = time.Now()
	lived := end.at.Sub(w.began)
	if r.state.phase != streaming {
		r.stats.watchEnds(lived, end.heard)
	}
	end.began, end.short = w.listed, lived < lastingAfter
	end.early = !w.left && (end.short || lived < w.lasts-time.Second)
	if cut {
		end.err, end.short = nil, false
	}
	end.unreached = w.unreached(end.err)
	end.steady = end.at.Sub(w.listed) >= max(r.opts.Backoff.Max, lastingAfter) && !w.refused() && !end.unreached
	var st step
	if r.state.phase == streaming {
		report.Verb = "watchlist"
		if w.silent { // the connection is to blame
			end.err = ErrUnanswered
		}
		end.ignored = end.ignored || cut && !w.silent
		r.state, st = r.state.streamFailed(end)
	} else {
		r.silence = r.silence.after(w, end, &r.state)
		nothingNew := end.rv == r.state.rv && !isStatus(end.err) && w.attempt.progress().answered
		st = stepAfter(r, w, end)
		noteVain(r, end, nothingNew, lived)
	}
	if !cut && (end.err == nil || isStatus(end.err)) {
		r.breaker.answered() // the server closed the watch in order, or refused it
	}
	carryOut(r, ctx, st, report, w.began)
}

// noteVain records whether the watch that lasted for so long was in vain. One that breaks later than
// soon is in vain, too, if lists alone keep the sink up to date: to last as long proves nothing.
func noteVain[T any](r *Reflector[T], end watchEnd, nothingNew bool, lived time.Duration) {
	r.vain = noPause
	soon := end.short || r.state.byLists && end.err != nil && !end.steady
	if !soon || !nothingNew {
		return
	}
	if r.vain = pauseBusy; end.err != nil {
		r.vain = pauseFor(end.err)
	}
	r.proof = max(lastingAfter, min(2*lived, r.opts.Backoff.Max))
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
func stepAfter[T any](r *Reflector[T], w *watch, end watchEnd) (st step) {
	end.idle = w.aborted.Load()
	noteEnd(&r.recent, end.at.Sub(r.made))
	switch {
	case errors.Is(end.err, ErrRestored):
		r.state, st = r.state.restored(end.err)
		return st
	case errors.Is(end.err, errDiffers):
		r.state, st = r.state.doubted(becauseRestored)
		return st
	case w.replay.strict && w.replay.pending() && isExpired(end.err):
		return repeatLess(r, w)
	case w.replay.strict && w.replay.pending() && end.idle:
		if r.state = r.state.check(); !w.attempt.progress().answered {
			return step{err: ErrUnanswered, pause: pauseAway}
		}
		return st
	case w.replay.strict && w.replay.pending() && end.err == nil && !end.short && (!r.state.confirmed || r.state.unverified > 0):
		r.state = r.state.check() // the watch was too short for guardReplay, or the list had no answer
		return st
	case !w.replay.pending():
		r.state.replayRV = ""
	}
	if end.idle {
		r.stats.idle.Add(1)
	}
	unexpected := endedUnexpectedly(end) || w.silent
	verify := (unexpected || r.state.unverified > 0) && r.state.replayRV == ""
	if unexpected {
		r.state.confirmed = false // what the server has shown before may not hold any more
	}
	if r.state, st = r.state.watchEnded(end); st.pause == pauseAway || st.pause == pauseBusy {
		r.state.unverified = 0 // the list of one object was not to blame
	}
	lasted := end.err == nil && !w.silent && (end.idle || !end.early)
	if !w.left && r.state.listsLater() && !r.follows.awaitsList() && (lasted || !w.refused() && !end.unreached && r.silence.mayDoubt(end.at)) {
		r.state, st = r.state.doubted(becauseRestored)
		return st
	}
	if verify {
		verifyHistory(r, st.pause)
	}
	if st.relist == noRelist && mayRenew(r, w, end) {
		r.state = r.state.renew()
		st.relist = becauseEnded
	}
	return st
}

// verifyHistory has the server show its history before the watch goes on. why is the pause before that.
func verifyHistory[T any](r *Reflector[T], why pause) {
	switch from, _ := replayFrom(&r.recent); {
	case r.opts.TrustVersions:
	case from != "":
		r.state = r.state.verifyFrom(from)
	case why != pauseDenied: // a second request would only be denied, too
		r.state = r.state.verifyFrom("")
	}
}

// received handles one pair of a watch. It reports whether the watch continues. The error is
// the sink's.
func received[T any](r *Reflector[T], ctx context.Context, w *watch, ev Event[T], err error) (more bool, sinkErr error) {
	dog := w.dog // the handling may replace it
	dog.received()
	defer dog.handled()
	w.attempt.received()
	var bad *ObjectError
	if err != nil {
		if bad = badObject(r, err); bad == nil {
			w.end.err = err
			return false, nil
		}
	}
	if !w.end.heard {
		w.end.heard = true
		r.breaker.answered()
	}
	if bad == nil && !w.end.useful {
		w.end.useful = true
		if r.state.phase == watching && r.silence.byLists(&r.state) {
			r.stats.polls(Polling{})
		}
	}
	if r.state.phase == streaming {
		return receivedListed(r, ctx, w, ev, bad)
	}
	if bad != nil {
		return w.badEvent(bad), nil
	}
	if w.replay.active {
		if isNew, err := replayed(r, w, ev); !isNew {
			w.end.err = err
			return err == nil, nil
		}
	}
	fresh, err := inOrder(&r.recent, ev, w.end.rv)
	if err != nil {
		w.end.err = err
		return false, nil
	}
	if !fresh {
		return true, nil
	}
	if err := r.sink.Apply(ctx, ev); err != nil {
		return false, err
	}
	succeeded(r)
	// The version moves only now: an event that the sink did not take must be asked for again.
	at := time.Since(r.made)
	addRecent(&r.recent, at, w.end.rv, ev)
	w.end.rv = advance(w.end.rv, ev)
	r.stats.applied(ev.Type, w.end.rv, at)
	return true, nil
}

// badEvent handles an event that could not be used, and reports whether the watch continues.
func (w *watch) badEvent(bad *ObjectError) bool {
	if bad.Type != Deleted {
		return true
	}
	w.end.rv, w.end.err = newest(w.end.rv, bad.ResourceVersion), ErrUnreadableDelete
	return false
}

// receivedListed is received for the initial events of a streaming list: the existing objects
// as Added, and then their changes in the meantime.
func receivedListed[T any](r *Reflector[T], ctx context.Context, w *watch, ev Event[T], bad *ObjectError) (more bool, sinkErr error) {
	switch {
	case bad != nil && bad.Type == Bookmark:
		return true, nil
	case bad != nil && bad.Type == Deleted, ev.Type == Deleted && w.skipped:
		// The deletion may be that of the unreadable object, which would otherwise be kept for
		// ever.
		w.end.err = ErrUnreadableDelete
		return false, nil
	case bad != nil:
		w.skipped, r.emptyList = true, false
		r.sink.Skipped(bad)
		return true, nil
	case ev.Type != Bookmark:
		if ev.Type != Added {
			w.live.Store(true)
		}
		if sinkErr = takeListed(r, ctx, ev); r.listed.fell {
			r.listed.fell = false
			w.fell.Store(true)
		}
		return sinkErr == nil, sinkErr
	case !ev.InitialEventsEnd:
		// The first bookmark of a streaming list has the mark.
		w.end.ignored, w.end.err = true, ErrNoInitialEventsEnd
		return false, nil
	}
	var st step
	settle(r.listed)
	if r.state, st = r.state.streamListed(ev.ResourceVersion, r.listed.version); !st.replace {
		w.next = &st
		return false, nil
	}
	endRecall(r.recall)
	r.stats.expected.Store(r.stats.listed.Load())
	r.stats.watches.Add(1)
	w.asked, w.end.rv = r.state.rv, r.state.rv
	w.accepted, w.listed, w.end.heard, w.end.useful = true, time.Now(), false, false // a watch from now on
	w.dog.stop()
	w.guard.asked = RequestError{Verb: "watch", ResourceVersion: w.asked}
	w.dog = guardWatch(r, w)
	w.dog.received() // the sink may take its time
	defer w.dog.handled()
	if r.vain == noPause {
		r.breaker.succeeded(endFailing(r)) // of a request for a watch, unlike the success of a LIST
	}
	if sinkErr = replace(r, ctx); r.silence.byLists(&r.state) {
		w.works = r.stats.worksAfter(r.silence.proof(max(lastingAfter, r.proof)))
	}
	return sinkErr == nil, sinkErr
}

// guardWatch returns a watchdog for a watch.
func guardWatch[T any](r *Reflector[T], w *watch) *watchdog {
	if r.opts.IdleTimeout < 0 {
		return guardCall(r, &w.guard)
	}
	return guardFor(r, w, r.opts.IdleTimeout)
}

// guardFor returns a watchdog that ends the request once nothing has come for so long.
func guardFor[T any](r *Reflector[T], w *watch, patience time.Duration) *watchdog {
	return newWatchdog(patience/4, omittedBy(r), func(quiet time.Duration) {
		if quiet >= patience {
			w.abort()
		}
		checkLate(r, &w.guard, quiet)
	})
}

// guardStream returns a watchdog for a streaming list.
func guardStream[T any](r *Reflector[T], w *watch) *watchdog {
	patience := ignoredAfter
	if r.opts.IdleTimeout > 0 {
		patience = min(patience, r.opts.IdleTimeout)
	}
	warned := false
	slow := &SlowListError{Resource: r.source.Resource(), ResourceVersion: w.asked}
	dog := &watchdog{every: min(patience, slowAfter) / 4, omitted: omittedBy(r)}
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
			if warn(r, &w.guard, slow); w.panic != nil {
				w.abort()
			}
		}
		checkLate(r, &w.guard, quiet)
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

// omittedBy returns the function that counts the events which the source left out. It is nil if
// the source leaves out none.
func omittedBy[T any](r *Reflector[T]) func() uint64 {
	if s, ok := r.source.(omitter); ok {
		return s.omitted
	}
	return nil
}

// abort ends the request.
func (w *watch) abort() {
	w.aborted.Store(true)
	if w.giveUp != nil {
		w.giveUp()
	}
}
