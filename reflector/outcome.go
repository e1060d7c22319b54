package reflector

import (
	"context"
	"time"
)

// carryOut carries out st, except for replace: it reports the failure, if there is one, of a
// request that began at the given time, and waits. It does not wait for the breaker's turn;
// admit does.
func (p *protocol) carryOut(ctx context.Context, st step, report RequestError, began time.Time) {
	p.notePolling()
	if st.discard {
		p.stats.listed.Store(0)
		p.listed = nil
		p.requests.endList(false)
		p.sink.Discard()
	}
	var wait, queue time.Duration
	if st.err != nil {
		wait, queue = p.waitAfter(&st, began)
	} else {
		wait = p.waits.after(time.Now(), st.pause, 0)
	}
	p.listInstead(&st, report, wait)
	hold := p.noteRelist(st)
	wait = max(wait, hold)
	if st.err == nil {
		p.breaker.sleep(ctx, noPause, wait, wait)
		return
	}
	p.stats.failures.Add(1)
	report.Resource, report.RetryIn, report.Err = p.resource, wait+queue, st.err
	now := time.Now()
	p.stats.fails(&report, now, now.Add(report.RetryIn))
	p.failing = true
	p.opts.OnError(&report)
	p.follows.holdOff(st.atLeast)
	if p.follows.goOn(&p.state, wait) {
		// Nobody knows what has become of the server since that watch. To have it repeat events costs
		// nothing. A doubt would cost a list, and lists fail.
		if from, _ := p.recent.replayFrom(); from != "" || st.pause.connectionLost() {
			p.state.confirmed = false
			p.verifyHistory(st.pause)
		}
		return
	}
	if p.waits.inTurn(st.pause) {
		p.breaker.takeTurn(ctx, st.pause, p.waits.turnEvery(), wait)
		return
	}
	// The success of other reflectors is no reason to ask before the time that the server named.
	if p.breaker.sleep(ctx, st.pause, max(hold, st.atLeast), wait) {
		p.spareList()
	}
}

// listInstead replaces the watch that follows the one that ended, after a wait, by a list if one is due.
func (p *protocol) listInstead(st *step, ended RequestError, wait time.Duration) {
	next := time.Now().Add(wait)
	if ended.Verb != "watch" || st.relist != noRelist {
		return
	}
	if p.silence.listIsDue(next) {
		p.silence.shown = next // if the list fails, too, the next one has its time
	} else if !p.state.listIsDue(next, st.err) {
		return
	}
	// One who may not watch may be denied everything, until a list has come since.
	verify := !p.opts.TrustVersions && (st.pause != pauseDenied || p.state.byLists)
	p.state, st.relist = p.state.instead(next, verify)
}

// noteRelist records that a list replaces a watch, if one does. It returns how long the list has to
// wait, so that no server can ask for lists without end.
func (p *protocol) noteRelist(st step) time.Duration {
	if st.relist == noRelist {
		return 0
	}
	logRelist(&p.stats, p.log, st.relist, p.state.rv)
	return p.waits.relist.take(time.Now(), repeatEvery)
}

// waitAfter tells the breaker about a failure. It returns how long to wait because of it, and how
// long the breaker may hold up the next request after that. If the server is not away, a request
// without an answer is one that broke off.
func (p *protocol) waitAfter(st *step, began time.Time) (wait, queue time.Duration) {
	if st.pause == pauseAway {
		var away bool
		if queue, away = p.breaker.failed(began, p.opts.Backoff); !away {
			st.pause = pauseResume
		}
	}
	switch {
	case isStatus(st.err):
		p.breaker.answered()
	case st.pause == pauseResume || st.pause == pauseRetry:
		p.breaker.broke()
	}
	// Waits that grew in an outage say nothing about the server that is back.
	if n := p.breaker.longOutageCount(); n != p.outages || st.resetBackoff {
		p.outages = n
		p.waits.reset()
	}
	p.setReason(st.pause)
	now := time.Now()
	p.waits.lasted = now.Sub(began)
	wait = p.waits.after(now, st.pause, st.atLeast)
	// The spread is wide: with a narrow one all would wait at once, and nobody would notice a server that is back.
	share := scale(p.breaker.countFailing(st.pause, 0), 0.5+p.opts.Backoff.Random())
	switch {
	case st.pause == pauseDenied:
		wait = max(wait, share)
	case st.pause == pauseBusy && st.atLeast > 0 && (st.relist == noRelist || st.relist == becauseFailing):
		// The server has named a time. All reflectors together bring it few requests then.
		wait = min(wait, max(st.atLeast+p.waits.spread(), share))
	case st.pause == pauseBusy && !st.discard && p.state.byLists && p.state.failedLists == 0:
		wait = min(wait, p.state.untilDue(now)+p.waits.upTo(p.state.patience/spreadShare)) // lists work
	case p.waits.inTurn(st.pause):
		queue = p.breaker.turn(st.pause, p.waits.turnEvery())
	}
	return wait, queue
}
