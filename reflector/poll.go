package reflector

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Polling says that lists alone keep the sink up to date, because watches bring nothing. The zero value
// means that watches do: one has brought something, was idle, or has lasted as long as asked, or twice as
// long as others that ended nevertheless.
type Polling struct {
	// Since is when that began.
	Since time.Time
	// Every is the time between two lists. If lists have no version, nothing can be watched, and it is
	// Tuning.PollInterval. If watches fail or are silent, the next list is due so long after the last one,
	// and takes the place of the next watch. If many reflectors of a connection are denied, they list less
	// often. Stats.Failing has the reason until the next list, if there is one.
	Every time.Duration
}

// drought is about watches that have failed and brought nothing, since one has brought something. If
// they do so for Backoff.Max, a list follows the next one that fails, and then again and again. The
// zero value means that watches work.
type drought struct {
	dry    time.Time // when the first of them ended
	barren time.Time // the same, or when the first since the last list began; zero after a list
	// byLists: a list has come, and watches have failed nevertheless.
	byLists bool
	// trial is when a list in place of the next watch was due, also one after silence. Zero unless that list
	// is the next request, or in progress. If it fails, the watch goes on.
	trial       time.Time
	failedLists int // such lists in a row that failed
}

// The wait for a list that follows watches doubles with each such list that fails, and becomes
// mostPatience times as long at most.
const mostPatience = 10

// A list in place of a watch has trialLimit until its answer begins: the watch may work. API servers
// give up a list after a minute.
const trialLimit = 90 * time.Second

// failed follows a watch that failed and brought nothing.
func (d drought) failed(end watchEnd) drought {
	switch {
	case d.dry.IsZero():
		d.dry, d.barren = end.at, end.at
	case d.barren.IsZero():
		d.barren, d.byLists = end.began, true
	}
	return d
}

// listed follows a list.
func (d drought) listed() drought { return drought{dry: d.dry, byLists: d.byLists} }

// instead replaces the watch that is to follow at the time next by a list. verify: the server first has to
// show that its history is still the one seen, because the watch cannot: a list from a restored server
// would be taken for one from this history.
func (s state) instead(next time.Time, verify bool) (state, relistReason) {
	if s.phase != watching && s.phase != checking {
		return s, noRelist
	}
	if s.replayRV != "" || verify && s.phase == watching && !s.confirmed && comparable(s.rv) {
		s.replayRV = ""
		s = s.check()
	}
	s.due = next
	return s.verified()
}

// verified replaces the watch that is to follow a check by a list, if one is due. If the server could not
// show its history, the list is one that does not depend on it.
func (s state) verified() (state, relistReason) {
	if s.phase != watching || s.due.IsZero() {
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

// listIsDue reports whether watches that last failed with err will have brought nothing for so long at a
// time that a list is due. The first list waits for InternalErrors to pass.
func (s state) listIsDue(at time.Time, err error) bool {
	patience := s.patience
	if apierrors.IsInternalError(err) && !s.byLists {
		patience = s.internalRetry
	}
	return !s.barren.IsZero() && at.Sub(s.barren) >= s.lengthened(patience)
}

// lengthened is the patience after lists that failed.
func (d drought) lengthened(patience time.Duration) time.Duration {
	return scale(patience, min(float64(int(1)<<min(d.failedLists, 8)), mostPatience))
}

// untilDue returns how long it takes until a list is due, if none has failed.
func (s state) untilDue(now time.Time) time.Duration { return max(0, s.patience-now.Sub(s.barren)) }

// triedInVain goes on with the watch after a list in its place that failed.
func (s state) triedInVain() state {
	s.failedLists++
	if !s.barren.IsZero() {
		s.barren = s.trial
	}
	return s.goOn()
}

// goOn goes on with the watch in place of which a list was to come.
func (s state) goOn() state {
	next := s.watch(s.rv)
	next.drought = s.drought
	next.trial = time.Time{}
	return next
}

// spareList has the watch go on in place of which a list is to come. The check before it has found the
// server away, or another request has found out that the server is back: the end of an outage should not
// cost a list.
func (p *protocol) spareList() {
	trial := !p.state.trial.IsZero()
	if p.silence.spared || p.state.token != "" || !trial && p.state.due.IsZero() {
		return
	}
	if p.silence.spared = true; !trial {
		p.state.due = time.Time{} // only the check comes
		return
	}
	p.state = p.state.goOn()
	p.verifyHistory(p.reason)
}

// poll waits between two lists without a version.
func (p *protocol) poll(ctx context.Context) {
	if p.breaker.sleep(ctx, noPause, p.opts.PollInterval, p.opts.PollInterval); ctx.Err() != nil {
		return
	}
	p.state = p.state.pages("")
	logRelist(&p.stats, p.log, becauseNoVersion, "")
}

// notePolling records whether lists alone keep the sink up to date.
func (p *protocol) notePolling() {
	now := p.silence.polling(&p.state)
	if p.state.polled {
		now = Polling{Since: time.Now(), Every: p.opts.PollInterval}
	}
	p.stats.polls(now)
}

// byLists reports whether lists alone may keep the sink up to date.
func (s silence) byLists(st *state) bool { return st.byLists || s.lists }

// polling returns what Stats says of watches that bring nothing.
func (s silence) polling(st *state) Polling {
	if !s.byLists(st) {
		return Polling{}
	}
	now := Polling{Since: s.since, Every: s.limit}
	if st.byLists {
		now.Every = st.lengthened(st.patience)
	}
	if now.Since.IsZero() {
		now.Since = st.dry
	}
	return now
}
