package reflector

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// watchOnce carries out one watch and the step that follows its end. The error is the sink's.
// Separate functions open and end it, so that only a small part of the stack is in use while it waits
// for events.
func (r *core) watchOnce(ctx context.Context) error {
	w := &watchRequest{turn: ctx}
	defer r.closeWatch(w) // even when the source or the sink panics
	r.requests.watch(w)
	return r.watchClosed(w)
}

// beginWatch begins the request, and starts the watchdog.
func (r *core) beginWatch(w *watchRequest) metav1.ListOptions {
	opts := r.watchOptions()
	// A server that does not end the watch in time, or a proxy on the way to it, may have lost
	// the watch.
	limit := min(time.Duration(*opts.TimeoutSeconds)*time.Second, math.MaxInt64-grace) + grace
	w.limited, w.giveUp = context.WithTimeout(w.turn, limit)
	var accepts func()
	if r.state.phase != phaseStreaming {
		accepts = func() { r.acceptedWatch(w) }
	}
	request, attempt := r.beginRequest(w.limited, false, accepts)
	w.attempt = attempt
	w.began, w.end.rv, w.lasts = time.Now(), r.state.rv, limit-grace
	w.listed = w.began
	w.guard = guard{request: request, asked: RequestError{Verb: "watch", ResourceVersion: opts.ResourceVersion}}
	if r.state.phase == phaseStreaming {
		w.asked.Verb = "watchlist"
		r.stats.watchLists.Add(1)
		r.beginList("watchlist")
		w.dog = r.guardStream(w)
	} else {
		r.stats.watches.Add(1)
		r.log.Debug("watch begins", slog.String("resourceVersion", opts.ResourceVersion))
		w.replay = r.newReplay(opts.ResourceVersion)
		w.dog = r.guardReplay(w)
		limit := max(r.opts.Backoff.Max, answerLimit)
		w.attempt.answerWithin(limit + r.waits.upTo(limit/spreadShare))
		if !r.server && r.silence.byLists(&r.state) { // it does not say whether the watch is accepted
			w.works = r.stats.worksAfter(r.silence.proof(max(r.opts.Backoff.Max, lastingAfter)))
		}
	}
	return opts
}

// acceptedWatch follows the acceptance of w by the server. That is a success, unless the last watch was
// in vain: then w has to last for a while, or to bring something.
func (r *core) acceptedWatch(w *watchRequest) {
	if w.accepted {
		return
	}
	w.accepted = true
	why, least := r.vain, r.proof
	if why == noPause {
		r.succeeded()
		least = 0
	} else {
		w.proven = later(least, func() { r.watchLasted(why) })
	}
	if r.silence.byLists(&r.state) {
		w.works = r.stats.worksAfter(r.silence.proof(least))
	}
}

// closeWatch gives up what beginWatch has begun.
func (r *core) closeWatch(w *watchRequest) {
	w.proven.stop()
	w.works.stop()
	w.dog.stop()
	w.attempt.end()
	if w.giveUp != nil {
		w.giveUp()
	}
}

// watchClosed carries out the step after a watch that the source has left.
func (r *core) watchClosed(w *watchRequest) error {
	ctx := w.turn
	w.proven.stop()
	w.works.stop()
	r.returned(&w.guard, w.dog)
	moved := interrupted(ctx)
	if moved && isCanceled(w.sinkErr) {
		w.sinkErr, w.end.err = nil, nil // the next watch brings what the sink did not take
	}
	if w.sinkErr != nil || ctx.Err() != nil && !moved {
		if r.state.phase == phaseStreaming {
			r.sink.Discard()
		}
		return w.sinkErr
	}
	w.end.err = causeOf(w.request, w.end.err)
	w.silent = errors.Is(context.Cause(w.request), errSilent)
	w.left = moved && (w.end.err == nil || isCanceled(w.end.err))
	w.end.overdue = w.limited.Err() != nil && !moved
	cut := w.left || w.silent || w.end.overdue
	if r.state.phase != phaseStreaming && !moved && w.request.Err() != nil && w.attempt.progress().hung() {
		cut, w.end.err = false, errUnanswered
	}
	r.watchEnded(w, cut)
	delay := w.attempt.end()
	r.breaker.sleep(ctx, noPause, delay, delay)
	return nil
}

// watchEnded carries out the step that follows the end of a watch. cut: the client ended the watch
// because it took too long.
func (r *core) watchEnded(w *watchRequest, cut bool) {
	if w.next != nil {
		r.carryOut(w.turn, *w.next, w.asked, w.began)
		return
	}
	end := w.end
	r.log.Debug("watch ends", slog.String("resourceVersion", end.rv))
	end.at = time.Now()
	lived := end.at.Sub(w.began)
	if r.state.phase != phaseStreaming {
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
	if r.state.phase == phaseStreaming {
		if w.silent { // the connection is to blame
			end.err = errUnanswered
		}
		end.ignored = end.ignored || cut && !w.silent
		r.state, st = r.state.streamFailed(end)
	} else {
		r.silence = r.silence.after(w, end, &r.state)
		nothingNew := end.rv == r.state.rv && !isStatus(end.err) && w.attempt.progress().answered
		st = r.stepAfter(w, end)
		r.noteVain(end, nothingNew, lived)
	}
	if !cut && (end.err == nil || isStatus(end.err)) {
		r.breaker.answered() // the server closed the watch in order, or refused it
	}
	r.carryOut(w.turn, st, w.asked, w.began)
}

// noteVain records whether the watch that lasted for so long was in vain. One that breaks later than
// soon is in vain, too, if lists alone keep the sink up to date: to last as long proves nothing.
func (r *core) noteVain(end watchEnd, nothingNew bool, lived time.Duration) {
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

// stepAfter decides the step after a watch, or after a streaming list that had become one.
func (r *core) stepAfter(w *watchRequest, end watchEnd) (st step) {
	end.idle = w.aborted.Load()
	r.recent.noteEnd(end.at.Sub(r.made))
	owes, answered := w.replay.strict && w.replay.pending(), w.attempt.progress().answered
	shown := r.state.confirmed && r.state.unverified == 0 // the list of one object is over, and had an answer
	switch {
	case errors.Is(end.err, ErrRestored):
		r.state, st = r.state.doubted(becauseRestored, end.err)
		return st
	case owes && isExpired(end.err):
		return r.repeatLess(w)
	case errors.Is(end.err, errDiffers), owes && shown && (end.idle && answered || w.hadItsTime(end)):
		r.state, st = r.state.doubted(becauseRestored, nil) // the server could have repeated the events
		return st
	case owes && (end.idle || end.err == nil && !end.short && !shown): // or the watch was too short for guardReplay
		if r.state = r.state.check(); end.idle && !answered {
			return step{err: errUnanswered, pause: pauseAway}
		}
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
	lasted := end.err == nil && !w.silent && end.idle || w.hadItsTime(end)
	if !w.left && r.state.listsLater() && !r.follows.awaitsList() && (lasted || !w.refused() && !end.unreached && r.silence.mayDoubt(end.at)) {
		r.state, st = r.state.doubted(becauseRestored, nil)
		return st
	}
	if verify {
		r.verifyHistory(st.pause)
	}
	if st.relist == noRelist && r.mayRenew(w, end) {
		r.state = r.state.renew()
		st.relist = becauseEnded
	}
	return st
}
