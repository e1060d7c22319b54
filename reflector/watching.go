package reflector

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

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
