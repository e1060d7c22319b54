package reflector

import (
	"context"
	"time"
)

// carryOut carries out st, except for replace: it reports the failure, if there is one, of a
// request that began at the given time, and waits. It does not wait for the breaker's turn;
// admit does.
func (r *core) carryOut(ctx context.Context, st step, report RequestError, began time.Time) {
	r.notePolling()
	if st.discard {
		r.stats.listed.Store(0)
		r.stats.listIsOver()
		r.listed = nil
		r.requests.endList(false)
		r.sink.Discard()
	}
	var wait, queue time.Duration
	if st.err != nil {
		wait, queue = r.waitAfter(&st, began)
	} else {
		wait = r.waits.after(time.Now(), st.pause, 0)
	}
	r.listInstead(&st, report, wait)
	hold := r.noteRelist(st)
	wait = max(wait, hold)
	if st.err == nil {
		r.breaker.sleep(ctx, noPause, wait, wait)
		return
	}
	r.stats.failures.Add(1)
	report.Resource, report.RetryIn, report.Err = r.resource, wait+queue, st.err
	now := time.Now()
	r.stats.fails(&report, now, now.Add(report.RetryIn))
	r.failing = true
	r.opts.OnError(&report)
	r.follows.holdOff(st.atLeast)
	if r.follows.goOn(&r.state, wait) {
		// Nobody knows what has become of the server since that watch. To have it repeat events costs
		// nothing. A doubt would cost a list, and lists fail.
		if r.recent.replayFrom() != "" || st.pause.connectionLost() {
			r.verifyHistory(st.pause)
		}
		return
	}
	if r.waits.inTurn(st.pause) {
		r.breaker.takeTurn(ctx, st.pause, r.waits.turnEvery(), wait)
		return
	}
	// The success of other reflectors is no reason to ask before the time that the server named.
	if r.breaker.sleep(ctx, st.pause, max(hold, st.atLeast), wait) {
		r.spareList()
	}
}

// listInstead replaces the watch that follows the one that ended, after a wait, by a list if one is due.
func (r *core) listInstead(st *step, ended RequestError, wait time.Duration) {
	next := time.Now().Add(wait)
	if ended.Verb != "watch" || st.relist != noRelist {
		return
	}
	if r.silence.listIsDue(next) {
		r.silence.shown = next // if the list fails, too, the next one has its time
	} else if !r.state.listIsDue(next, st.err) {
		return
	}
	// One who may not watch may be denied everything, until a list has come since.
	verify := !r.opts.TrustVersions && (st.pause != pauseDenied || r.state.byLists)
	r.state, st.relist = r.state.instead(next, verify)
}

// noteRelist records that a list replaces a watch, if one does. It returns how long the list has to
// wait, so that no server can ask for lists without end.
func (r *core) noteRelist(st step) time.Duration {
	if st.relist == noRelist {
		return 0
	}
	logRelist(&r.stats, r.log, st.relist, r.state.rv)
	return r.waits.relist.take(time.Now(), repeatEvery)
}

// waitAfter tells the breaker about a failure. It returns how long to wait because of it, and how
// long the breaker may hold up the next request after that. If the server is not away, a request
// without an answer is one that broke off.
func (r *core) waitAfter(st *step, began time.Time) (wait, queue time.Duration) {
	if st.pause == pauseAway {
		var away bool
		if queue, away = r.breaker.failed(began, r.opts.Backoff); !away {
			st.pause = pauseResume
		}
	}
	switch {
	case isStatus(st.err):
		r.breaker.answered()
	case st.pause == pauseResume || st.pause == pauseRetry:
		r.breaker.broke()
	}
	// Waits that grew in an outage say nothing about the server that is back.
	if n := r.breaker.longOutageCount(); n != r.outages || st.resetBackoff {
		r.outages = n
		r.waits.reset()
	}
	r.setReason(st.pause)
	now := time.Now()
	r.waits.lasted = now.Sub(began)
	wait = r.waits.after(now, st.pause, st.atLeast)
	// The spread is wide: with a narrow one all would wait at once, and nobody would notice a server that is back.
	share := scale(r.breaker.countFailing(st.pause, 0), 0.5+r.opts.Backoff.Random())
	switch {
	case st.pause == pauseDenied:
		wait = max(wait, share)
	case st.pause == pauseBusy && st.atLeast > 0 && (st.relist == noRelist || st.relist == becauseFailing):
		// The server has named a time. All reflectors together bring it few requests then.
		wait = min(wait, max(st.atLeast+r.waits.spread(), share))
	case st.pause == pauseBusy && !st.discard && r.state.byLists && r.state.failedLists == 0:
		wait = min(wait, r.state.untilDue(now)+r.waits.upTo(r.state.patience/spreadShare)) // lists work
	case r.waits.inTurn(st.pause):
		queue = r.breaker.turn(st.pause, r.waits.turnEvery())
	}
	return wait, queue
}
