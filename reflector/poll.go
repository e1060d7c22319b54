package reflector

import (
	"context"
	"time"
)

// A list in place of a watch has trialLimit until its answer begins: the watch may work. API servers
// give up a list after a minute.
const trialLimit = 90 * time.Second

// instead replaces the watch that is to follow at the time next by a list. verify: the server first has to
// show that its history is still the one seen, because the watch cannot: a list from a restored server
// would be taken for one from this history.
func (s state) instead(next time.Time, verify bool) (state, relistReason) {
	if s.phase != phaseWatching && s.phase != phaseChecking {
		return s, noRelist
	}
	if s.replayRV != "" || verify && s.phase == phaseWatching && !s.confirmed && comparable(s.rv) {
		s.replayRV = ""
		s = s.check()
	}
	s.due = next
	return s.verified()
}

// verified replaces the watch that is to follow a check by a list, if one is due. If the server could not
// show its history, the list is one that does not depend on it.
func (s state) verified() (state, relistReason) {
	if s.phase != phaseWatching || s.due.IsZero() {
		return s, noRelist
	}
	from, due := s.rv, s.due
	if s.unverified > 0 {
		from = ""
	}
	s.relisted = true
	s = s.pages(from)
	s.trial = due
	return s, becauseFailing
}

// untilDue returns how long it takes until a list is due, if none has failed.
func (s state) untilDue(now time.Time) time.Duration { return max(0, s.patience-now.Sub(s.barren)) }

// spareList has the watch go on in place of which a list is to come. The check before it has found the
// server away, or another request has found out that the server is back: the end of an outage should not
// cost a list.
func (r *core) spareList() {
	trial := !r.state.trial.IsZero()
	if r.silence.spared || r.state.token != "" || !trial && r.state.due.IsZero() {
		return
	}
	if r.silence.spared = true; !trial {
		r.state.due = time.Time{} // only the check comes
		return
	}
	r.state = r.state.goOn()
	r.verifyHistory(r.reason)
}

// poll waits between two lists without a version.
func (r *core) poll(ctx context.Context) {
	if r.breaker.sleep(ctx, noPause, r.opts.PollInterval, r.opts.PollInterval); ctx.Err() != nil {
		return
	}
	r.state = r.state.pages("")
	logRelist(&r.stats, r.log, becauseNoVersion, "")
}

// notePolling records whether lists alone keep the sink up to date.
func (r *core) notePolling() {
	now := r.silence.polling(&r.state)
	if r.state.polled {
		now = Polling{Since: time.Now(), Every: r.opts.PollInterval}
	}
	r.stats.polls(now)
}
