package reflector

import (
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/internal/pages"
)

// After maxShortWatches watches in a row that the server accepted and ended at once, the collection is
// listed. Some servers answer a watch from an expired version in this way.
const maxShortWatches = 2

// After maxStreamFailures streaming lists in a row that broke off, the list is asked for in
// pages, which are shorter requests.
const maxStreamFailures = 2

// phase is the kind of the next request, or of the present one.
type phase uint8

const (
	phaseListing   phase = iota // the next page by LIST
	phaseStreaming              // a watch that begins with a list, up to the bookmark that ends it
	phaseWatching               // the sink holds a whole list
	phaseChecking               // as watching, but the server may have been restored: see restored.go
	phasePolling                // the sink holds a whole list without a version, from which nothing can be watched
)

// state is the protocol's state between two requests, and within a streaming list that goes
// over into a watch. Only the step functions below make a new state. They are pure: they make the
// next state and a step from a state and an outcome. The loop (run.go, list.go, watching.go) only
// carries out the steps. The newest events show whether an event is in order (recent.go). What the
// server repeats (replay.go) or answers (question.go) shows whether it was restored.
type state struct {
	phase    phase
	rv       string // newest resourceVersion seen; a watch starts from it
	listRV   string // resourceVersion that the list in progress asks for
	pageRV   string // resourceVersion of the list's first page; "" before it
	token    string // continue token of the next page; "" asks for the first
	trail    pages.Trail
	unpaged  bool // ask for no pages: they expire sooner than the sink takes them
	failures int  // watches in a row that ended at once and empty, or streaming lists in a row that failed; busy servers do not count
	// relisted: a watch ended in a relist, and since then no watch has brought anything new or
	// lasted long. The next relist has to wait.
	relisted bool
	// renews: the list in progress only looks for new contents at old versions (renew.go). If it fails,
	// the watch goes on.
	renews bool
	drought

	// The check for a restored server (restored.go).
	replayRV   string        // the watch starts here so that the server repeats the newest events; "" if it need not
	confirmed  bool          // a list has shown that the server has come as far as rv, or it cannot be asked for one
	asked      int           // known objects that this check has asked for and that proved nothing
	tried      int           // refusals in a row
	due        time.Time     // when a list in place of the watch after the check was due; zero if none is
	unverified time.Duration // how long a watch goes on without an answer to the check; zero if there was one
	learned
}

// learned is the knowledge that a reflector keeps for its whole life.
type learned struct {
	stream       streamSupport
	paged        bool   // the server has no cache: it sends pages even for version "0"
	versioned    bool   // a list had a version; sources other than servers may have none
	server       bool   // the source is a Server: a list without a version is listed again after a time
	polled       bool   // the newest list was one without a version, of a Server
	streamAtZero bool   // streaming lists ask for version "0" too, which allows any state
	nameless     bool   // the server refused to select an object by its name
	rewound      rewind // of the list in progress, or of one that waits for the end of the watch
	// internalRetry is how long watches that end with an InternalError are resumed without a
	// list: internalErrorRetry, but in tests.
	internalRetry time.Duration
	// patience is how long watches may fail and bring nothing before a list follows.
	patience time.Duration
}

// streamSupport says whether the server has streaming lists.
type streamSupport uint8

const (
	// streamNever: Tuning.DisableWatchList, or the source itself cannot stream lists.
	streamNever streamSupport = iota
	// streamUnsupported: the server refused. The reflector asks again after a connection
	// broke, because the next one may lead to another server.
	streamUnsupported
	streamUnknown
	// streamSupported: the server has sent one. From now on a refusal comes from another
	// server, as while servers are upgraded one by one, and is not remembered.
	streamSupported
)

// initialState is the state before the first request.
func initialState(o Tuning) state {
	s := state{learned: learned{internalRetry: internalErrorRetry, patience: o.Backoff.Max}}
	if !o.DisableWatchList {
		s.stream = streamUnknown
	}
	// The server answers "0" from its cache, which spares etcd when many clients start at
	// once. It answers a streaming list at "" from its cache too, once the cache has caught
	// up.
	first := "0"
	if o.FirstVersion != nil {
		first, s.streamAtZero = *o.FirstVersion, true
	}
	if first != "" && first != "0" {
		s.rv, s.versioned = first, true
	}
	return s.relist(first)
}

// version is the resourceVersion of the next request, or of the present one.
func (s state) version() string {
	switch {
	case s.phase == phaseWatching && s.replayRV != "":
		return s.replayRV
	case s.phase == phaseWatching || s.phase == phaseChecking:
		return s.rv
	case s.phase == phaseStreaming && s.listRV == "0" && !s.streamAtZero:
		return ""
	}
	return s.listRV
}

// lists reports whether the request is one for a list.
func (s state) lists() bool { return s.phase == phaseListing || s.phase == phaseStreaming }

// relist lists again at resourceVersion rv. It keeps the newest version seen, and the
// knowledge that pages expired.
func (s state) relist(rv string) state {
	next := s.pages(rv)
	if s.stream >= streamUnknown && !s.polled && !s.byLists {
		next.phase = phaseStreaming
	}
	return next
}

// pages is relist by LIST.
func (s state) pages(rv string) state {
	return state{phase: phaseListing, rv: s.rv, listRV: rv, unpaged: s.unpaged, relisted: s.relisted, drought: s.drought, learned: s.learned}
}

// watch watches from rv after a list.
func (s state) watch(rv string) state {
	return state{phase: phaseWatching, rv: rv, relisted: s.relisted, drought: s.drought.listed(), learned: s.learned}
}

// reconnected forgets the refusals of the server at the other end of a lost connection.
func (s state) reconnected() state {
	if s.stream == streamUnsupported {
		s.stream = streamUnknown
	}
	return s
}

// step tells the loop what to do after an outcome, in the order of the fields.
type step struct {
	replace      bool          // the list is whole: hand it to the sink at the new state's rv
	discard      bool          // the list failed: the sink drops it
	relist       relistReason  // why a list replaces the watch
	err          error         // to report
	pause        pause         // wait before the next request
	resetBackoff bool          // wait as after a first failure
	atLeast      time.Duration // the wait that the server asked for
}

// failedStep is the step after a request that failed with err.
func failedStep(err error) step {
	return step{err: err, pause: pauseFor(err), atLeast: retryAfter(err)}
}

// pageListed follows a complete page of a list. empty: it had no objects. newest is the newest
// version of this list's objects so far. It stands in for the list's version if the source gives
// none and is no server. Once a source has shown versions, a list without a version is invalid.
func (s state) pageListed(page metav1.ListMeta, empty bool, newest string) (state, step) {
	if s.pageRV == "" {
		if page.ResourceVersion == "" {
			if page.Continue != "" || s.versioned {
				return s.badPage(errNoResourceVersion)
			}
			if s.server {
				s.polled = true
				return state{phase: phasePolling, learned: s.learned}, step{replace: true}
			}
			return s.watch(newest), step{replace: true}
		}
		s.versioned, s.polled = true, false
		// At listRV "" the server answers from its storage, which is the truth even if it is
		// older.
		if s.listRV != "" && isOlder(page.ResourceVersion, s.rv) {
			return s.pages(""), step{discard: true, err: errListTooOld}
		}
		// The watch starts at the first page's version: if a later page is newer, the watch
		// brings the changes in between.
		s.pageRV = page.ResourceVersion
	} else if page.ResourceVersion == "" || isOlder(page.ResourceVersion, s.pageRV) {
		// Not the next page of this list, whatever it is.
		return s.badPage(errBadPage)
	}
	if page.Continue == "" {
		if !s.trial.IsZero() && s.listRV == "" { // the check before it had no answer
			s.rewound = max(s.rewound, perhapsRewound)
		}
		return s.watch(s.pageRV), step{replace: true}
	}
	trail, err := s.trail.Next(s.token, page.Continue, empty)
	if err != nil {
		return s.badPage(fmt.Errorf("%w: %w", errBadPage, err))
	}
	s.token, s.trail = page.Continue, trail
	s.paged = s.paged || s.listRV == "0"
	return s, step{}
}

// badPage follows a page that is of no use.
func (s state) badPage(err error) (state, step) {
	st := step{discard: true, err: err, pause: pauseBusy}
	if !s.trial.IsZero() {
		return s.triedInVain(), st
	}
	return s.relist(s.listRV), st
}

// listFailed follows a page that was refused or broke off.
func (s state) listFailed(err error) (state, step) {
	st := failedStep(err)
	st.discard = true
	if st.pause.connectionLost() {
		s = s.reconnected()
	}
	unavailable := isExpired(err) || isTooLarge(err)
	switch {
	case s.renews:
		return s.notRenewed(st)
	case unavailable && s.token != "" && !s.unpaged:
		// A sink that needs longer than a token lives would never see the last page.
		next := s.pages("")
		next.unpaged = true
		return next, step{discard: true, err: err}
	case unavailable && s.listRV != "":
		return s.pages(""), step{discard: true, err: err}
	case !s.trial.IsZero():
		return s.triedInVain(), st
	case st.pause == pauseResume:
		st.pause = pauseRetry
	}
	next := s.relist(s.listRV)
	if apierrors.IsBadRequest(err) {
		next.listRV = "" // the version may be the bad part
	}
	return next, st
}

// streamListed follows the bookmark that ends the initial events of a streaming list. listed is the
// newest version of its objects. It accepts a bookmark without a version where pageListed accepts a
// list without one.
func (s state) streamListed(rv, listed string) (state, step) {
	s.stream = streamSupported
	if rv == "" {
		if s.versioned {
			return s.pages(s.listRV), step{discard: true, err: errNoResourceVersion, pause: pauseBusy}
		}
		return s.watch(listed), step{replace: true}
	}
	s.versioned = true
	// A server that sends live changes before the bookmark may give it the version of the beginning.
	rv = newest(listed, rv)
	if s.version() != "" && isOlder(rv, s.rv) {
		return s.relist(""), step{discard: true, err: errListTooOld}
	}
	return s.watch(rv), step{replace: true}
}

// streamFailed follows a streaming list that was refused, or that ended before its list did.
func (s state) streamFailed(end watchEnd) (state, step) {
	err := end.err
	if err == nil {
		err = errNoInitialEventsEnd
	}
	st := failedStep(err)
	st.discard = true
	atOnce := step{discard: true, err: err}
	switch {
	case (isExpired(err) || isTooLarge(err)) && s.version() != "":
		return s.relist(""), atOnce
	case end.ignored && end.err != nil:
		return s.withoutStream(), atOnce
	case end.ignored:
		return s.withoutEnd(), atOnce
	case errors.Is(err, errors.ErrUnsupported):
		s.stream = streamNever
		return s.pages(s.listRV), step{discard: true}
	case errors.Is(err, errUnreadableDelete):
		return s.pages(s.listRV), atOnce // the list will not have it
	case errors.Is(err, ErrUnusable):
		return s.pages(s.listRV), atOnce // a server that knows no watches may know lists
	case isStatus(err) && !apierrors.IsTooManyRequests(err) && !isExpired(err):
		return s.streamRefused(st)
	case end.err != nil && !end.heard && st.pause == pauseBusy && !isStatus(err):
		return s.pages(s.listRV), atOnce // a refusal that is not a Status
	}
	next := s.relist(s.listRV)
	if st.pause == pauseAway && end.unreached || apierrors.IsTooManyRequests(err) {
		if next.failures = s.failures; end.unreached {
			return next, st
		}
		if next.drought = s.drought.failed(end); next.listIsDue(end.at, err) {
			next = next.pages(s.listRV) // LIST may be allowed
		}
		return next, st
	}
	if st.resetBackoff = end.steady; st.pause != pauseBusy && st.pause != pauseAway || end.err == nil {
		st.pause = pauseRetry
	}
	if next.failures = s.failures + 1; end.steady && st.pause != pauseAway || next.failures >= maxStreamFailures {
		next = s.pages(s.listRV)
	}
	return next, st
}

// streamRefused follows a Status in place of a streaming list.
func (s state) streamRefused(st step) (state, step) {
	err := st.err
	if st.atLeast == 0 {
		if st.pause = noPause; isClientError(err) {
			st.err = nil // if streaming is not the cause, LIST will report it
		}
	}
	if cannotStream(err) {
		return s.withoutStream(), st
	}
	return s.pages(s.listRV), st
}

// withoutStream lists by LIST. If the server never sent a streaming list, it is not asked for
// one again until a connection breaks.
func (s state) withoutStream() state {
	if s.stream == streamUnknown {
		s.stream = streamUnsupported
	}
	return s.pages(s.listRV)
}

// withoutEnd lists by LIST after a streaming list without an end. If the server has never sent one
// with an end, or twice in a row one without, no other list is streamed: each would take as long.
func (s state) withoutEnd() state {
	switch s.stream {
	case streamSupported:
		s.stream = streamUnknown
	default:
		s.stream = streamNever
	}
	return s.pages(s.listRV)
}

// watchEnded follows a watch that was refused, closed or broke off. A watch brought something new
// if its version moved. A server that sends the same events to every watch must not be asked
// without a pause.
func (s state) watchEnded(end watchEnd) (state, step) {
	moved := end.rv != s.rv
	s.rv = end.rv
	if moved || end.steady {
		s.relisted = false
	}
	if moved || !end.isEmpty() {
		s.failures = 0
	}
	switch {
	case end.err != nil:
		return s.watchFailed(end, moved, end.err)
	case end.short && !moved:
		return s.watchFailed(end, moved, ErrShortWatch)
	}
	s.drought = drought{}
	if end.short {
		return s.resume(step{pause: pauseEnd})
	}
	return s.resume(step{})
}

// watchFailed resumes or lists after a watch that ended with an error.
func (s state) watchFailed(end watchEnd, moved bool, err error) (state, step) {
	st := failedStep(err)
	// Waits must not grow where a proxy cuts every watch after a minute: all is well between
	// the cuts.
	st.resetBackoff = end.steady
	if st.pause.connectionLost() {
		s = s.reconnected()
	}
	if s.drought = s.drought.failed(end); end.brought(moved) || end.steady {
		s.drought = drought{}
	}
	if end.isEmpty() {
		s.failures++
	}
	if st.relist = s.relistReasonFor(end, err); st.relist != noRelist {
		return s.relistFor(st)
	}
	return s.resume(st)
}

// resume watches again from the version where the watch ended, and lists if there is no
// version.
func (s state) resume(st step) (state, step) {
	if s.rv != "" {
		return s, st
	}
	if st.relist = becauseNoVersion; s.byLists {
		st.pause = pauseBusy // no list has been a repair
	}
	return s.relist(""), st
}

// relistFor lists again for the reason in st. A list that can repair the failure is not
// delayed: the backoff that an outage grew does not apply to it. It waits only if the list
// before it brought no repair. Where watches fail, a stream would fail, too.
func (s state) relistFor(st step) (state, step) {
	again := s.relisted
	s.relisted = true
	switch {
	case st.relist == becauseFailing:
		return s.pages(s.rv), st
	case isStoreRead(st.err): // the storage is in trouble: the list keeps the failure's wait
	case again:
		st.pause = pauseBusy
	case st.relist == becauseRefused:
		if !apierrors.IsNotFound(st.err) {
			st.pause = pauseBusy
		}
	default:
		st.pause, st.atLeast = noPause, 0
	}
	if st.relist == becauseTooLarge {
		return s.relist(""), st
	}
	return s.relist(s.rv), st
}

// relistReasonFor is the reason why nothing but a list helps after a watch that failed with err, or
// noRelist.
func (s state) relistReasonFor(end watchEnd, err error) relistReason {
	switch {
	case isTooLarge(err):
		return becauseTooLarge
	case isExpired(err):
		return becauseExpired
	case errors.Is(err, errOutOfOrder):
		return becauseOutOfOrder
	case errors.Is(err, errUnreadableDelete), isStoreRead(err):
		return becauseUnreadable
	case isRefused(err), isUnexplained(err):
		return becauseRefused
	case s.byLists: // a list did not help
		return noRelist
	case end.isEmpty() && s.failures >= maxShortWatches:
		return becauseFailing
	}
	return noRelist
}

// relistReason is why a list replaces a watch. It is an index of counters.relists.
type relistReason uint8

const (
	noRelist relistReason = iota
	becauseExpired
	becauseTooLarge
	becauseOutOfOrder
	becauseUnreadable
	becauseRefused
	becauseFailing
	becauseNoVersion
	becauseRestored
	becauseEnded
	becauseMoved
	relistReasons
)

// String returns the word of Relists.ByReason.
func (r relistReason) String() string {
	return [relistReasons]string{"", "expired", "too large", "out of order", "unreadable", "refused", "failing", "no version", "restored", "ended", "moved"}[r]
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

// notRenewed goes on with the watch after a list that failed.
func (s state) notRenewed(st step) (state, step) {
	if st.discard = true; errors.Is(st.err, errOtherConnection) {
		st = step{discard: true}
	}
	s.rewound = notRewound
	return s.goOn(), st
}

// rewind says whether the sink may compare the next list with its contents by versions.
type rewind uint8

const (
	notRewound     rewind = iota
	perhapsRewound        // the server could not show that it was not restored
	rewound               // the server was restored
)
