package reflector

import (
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/internal/pages"
)

// maxWatchFailures is how many watches in a row may fail without news before the
// collection is listed again: a list tells more about what is wrong, and a server that
// was restored from a backup may never serve the version that the watch asks for.
const maxWatchFailures = 5

// maxFlaps is how many watches in a row may break off within a second and without news before
// they count among those failures. The line is to blame before the version is.
const maxFlaps = 8

// maxIgnoredStreams is how many streaming lists in a row may show no sign of being one before
// they count as refused. One may be slow.
const maxIgnoredStreams = 2

// maxStreamFailures is how many streaming lists in a row may break off before the list is
// asked for in pages, which are shorter.
const maxStreamFailures = 2

// phase is what the next request is, or the present one.
type phase uint8

const (
	listing   phase = iota // the next page by LIST
	streaming              // a watch that begins with a list, up to the bookmark that ends it
	watching               // the sink holds a whole list
	checking               // so it does, and the server may have been restored: see restored.go
)

// state is where the protocol stands between two requests, and in a streaming list that
// goes over into a watch. Only the step functions below make a new one; they are pure.
type state struct {
	phase         phase
	rv            string // newest resourceVersion seen; a watch starts from it
	listRV        string // resourceVersion that the list in progress asks for
	pageRV        string // resourceVersion of the list's first page; "" before it
	token         string // continue token of the next page; "" asks for the first
	trail         pages.Trail
	unpaged       bool      // pages expire sooner than the sink takes them: none are asked for
	flaps         int       // watches that broke off in a row within a second and without news
	failures      int       // watches, or streaming lists, that failed in a row without news, busy servers aside
	internalSince time.Time // end of the first watch of those in a row that had an InternalError
	// relisted says that a watch was given up for a list, and no watch brought news since: the
	// next one that is given up must wait.
	relisted bool

	// replayRV is the version that the watch begins with so that the newest events come again;
	// empty if they need not. asked says that the server has come as far as these events.
	replayRV  string
	confirmed bool
	learned
}

// learned is what is known for as long as the reflector lives.
type learned struct {
	stream       streamSupport
	ignored      int  // streaming lists in a row that showed no sign of being one
	paged        bool // the server has no cache: it sends pages even for version "0"
	versioned    bool // a list had a version: those of a source that is no server may have none
	streamAtZero bool // a streaming list may be of any state, too
	rewound      bool // the server was restored, and no list has come since
	// internalRetry is how long watches that end with an InternalError are begun again.
	internalRetry time.Duration
}

// streamSupport is whether the server has streaming lists.
type streamSupport uint8

const (
	// The zero value: Options.DisableWatchList.
	_ streamSupport = iota
	// streamUnsupported: it said no. It is asked again after a connection broke, since then it may be
	// another one.
	streamUnsupported
	streamUnknown
	// streamSupported: one was seen. From now on a refusal is another server's, as in an upgrade of
	// one server after the other, and not remembered.
	streamSupported
)

// start is the state before the first request.
func start(o Options) state {
	s := state{learned: learned{internalRetry: o.InternalErrorRetry}}
	if !o.DisableWatchList {
		s.stream = streamUnknown
	}
	// "0" is answered from the server's cache, which spares etcd when many clients start
	// at once. So is a streaming list at "", after the cache has caught up.
	first := "0"
	if o.FirstVersion != nil {
		first, s.streamAtZero = *o.FirstVersion, true
	}
	if first != "" && first != "0" {
		s.rv, s.versioned = first, true
	}
	return s.relist(first)
}

// version is the resourceVersion that the next request asks for, or the present one.
func (s state) version() string {
	switch {
	case s.phase == watching && s.replayRV != "":
		return s.replayRV
	case s.phase == watching || s.phase == checking:
		return s.rv
	case s.phase == streaming && s.listRV == "0" && !s.streamAtZero:
		return ""
	}
	return s.listRV
}

// relist is the state that lists anew at resourceVersion rv, with what was seen kept in
// mind, and that pages expired.
func (s state) relist(rv string) state {
	next := s.pages(rv)
	if s.stream >= streamUnknown {
		next.phase = streaming
	}
	return next
}

// pages is relist by LIST.
func (s state) pages(rv string) state {
	return state{phase: listing, rv: s.rv, listRV: rv, unpaged: s.unpaged, flaps: s.flaps, relisted: s.relisted, learned: s.learned}
}

// watch is the state that watches from rv, after a list.
func (s state) watch(rv string) state {
	return state{phase: watching, rv: rv, flaps: s.flaps, relisted: s.relisted, learned: s.learned}
}

// reconnected forgets what the server at the other end of a lost connection could not do.
func (s state) reconnected() state {
	if s.ignored = 0; s.stream == streamUnsupported {
		s.stream = streamUnknown
	}
	return s
}

// step is what the loop does after an outcome, in the order of the fields.
type step struct {
	replace      bool          // the list is whole: hand it to the sink at the new state's rv
	discard      bool          // the list failed: the sink forgets it
	relist       relistReason  // the watch is given up for a list
	err          error         // to report
	pause        pause         // wait before the next request
	resetBackoff bool          // the wait is that of a first failure
	atLeast      time.Duration // the server asked to wait this long
}

// failed is the step after a request that failed with err.
func failed(err error) step { return step{err: err, pause: pauseFor(err), atLeast: retryAfter(err)} }

// pageListed follows a page of a list that was received whole. newest is the newest version
// of the objects of this list so far, which stands for that of a list without one, as
// sources write that are no servers. Once a source has shown versions, a list without is
// none of its own.
func (s state) pageListed(page metav1.ListMeta, newest string) (state, step) {
	if s.pageRV == "" {
		if page.ResourceVersion == "" {
			if page.Continue != "" || s.versioned {
				return s.relist(s.listRV), step{discard: true, err: ErrNoResourceVersion, pause: pauseBusy}
			}
			return s.watch(newest), step{replace: true}
		}
		s.versioned = true
		// At listRV "" the server answered from its storage: older or not, it is the truth.
		if s.listRV != "" && older(page.ResourceVersion, s.rv) {
			return s.pages(""), step{discard: true, err: ErrListTooOld}
		}
		// The first page's version is the one to watch from: should a later page be newer,
		// the watch brings what lies between.
		s.pageRV = page.ResourceVersion
	} else if page.ResourceVersion == "" || older(page.ResourceVersion, s.pageRV) || s.trail.Turns(s.token, page.Continue) {
		// Not the next page of this list, whatever it is.
		return s.relist(s.listRV), step{discard: true, err: ErrBadPage, pause: pauseBusy}
	}
	if page.Continue != "" {
		s.token, s.trail = page.Continue, s.trail.Add(page.Continue)
		s.paged = s.paged || s.listRV == "0"
		return s, step{}
	}
	return s.watch(s.pageRV), step{replace: true}
}

// listFailed follows a page that was refused or broke off.
func (s state) listFailed(err error) (state, step) {
	st := failed(err)
	st.discard = true
	if st.pause.connectionLost() {
		s = s.reconnected()
	}
	unavailable := isExpired(err) || isTooLarge(err)
	switch {
	case unavailable && s.token != "" && !s.unpaged:
		// A sink that takes longer than a token lives would never see the last page.
		next := s.pages("")
		next.unpaged = true
		return next, step{discard: true, err: err}
	case unavailable && s.listRV != "":
		return s.pages(""), step{discard: true, err: err}
	case st.pause == pauseResume:
		st.pause = pauseRetry
	}
	next := s.relist(s.listRV)
	if apierrors.IsBadRequest(err) {
		next.listRV = "" // what is bad may be the version
	}
	return next, st
}

// streamListed follows the bookmark that ends the initial events of a streaming list. A
// bookmark without a version is taken where pageListed takes a list without one.
func (s state) streamListed(rv, newest string) (state, step) {
	s.stream, s.ignored = streamSupported, 0
	if rv == "" {
		if s.versioned {
			return s.pages(s.listRV), step{discard: true, err: ErrNoResourceVersion, pause: pauseBusy}
		}
		return s.watch(newest), step{replace: true}
	}
	s.versioned = true
	if s.version() != "" && older(rv, s.rv) {
		return s.relist(""), step{discard: true, err: ErrListTooOld}
	}
	return s.watch(rv), step{replace: true}
}

// streamFailed follows a streaming list that was refused, or ended before its list did.
func (s state) streamFailed(end watchEnd) (state, step) {
	err := end.err
	if err == nil {
		err = ErrNoInitialEventsEnd
	}
	st := failed(err)
	if st.discard = true; st.pause.connectionLost() {
		s = s.reconnected()
	}
	atOnce := step{discard: true, err: err}
	switch {
	case (isExpired(err) || isTooLarge(err)) && s.version() != "":
		return s.relist(""), atOnce
	case end.ignored:
		// A bookmark without the mark is an answer. Silence is one only if it comes again.
		if s.ignored++; end.err != nil || s.ignored >= maxIgnoredStreams {
			return s.withoutStream(), atOnce
		}
		return s.pages(s.listRV), atOnce
	case errors.Is(err, errors.ErrUnsupported):
		return s.withoutStream(), step{discard: true}
	case errors.Is(err, ErrUnreadableDelete):
		return s.pages(s.listRV), atOnce // the list will not have it
	case errors.Is(err, ErrUnusable):
		return s.pages(s.listRV), atOnce // a server that knows no watches may know lists
	case isStatus(err) && !apierrors.IsTooManyRequests(err) && !isExpired(err):
		return s.streamRefused(st)
	case end.err != nil && !end.heard && st.pause == pauseBusy && !isStatus(err):
		return s.pages(s.listRV), atOnce // a refusal in the source's own words
	}
	next := s.relist(s.listRV)
	if st.pause == pauseAway || apierrors.IsTooManyRequests(err) {
		next.failures = s.failures
		return next, st
	}
	if st.resetBackoff = end.steady; st.pause != pauseBusy || end.err == nil {
		st.pause = pauseRetry
	}
	if next.failures = s.failures + 1; end.steady || next.failures >= maxStreamFailures {
		next = s.pages(s.listRV)
	}
	return next, st
}

// streamRefused follows a Status in place of a streaming list.
func (s state) streamRefused(st step) (state, step) {
	err := st.err
	if st.atLeast == 0 {
		if st.pause = noPause; isClientError(err) {
			st.err = nil // if the reason is not the streaming, LIST will say so
		}
	}
	if cannotStream(err) {
		return s.withoutStream(), st
	}
	return s.pages(s.listRV), st
}

// withoutStream lists by LIST until a connection breaks, if no streaming list was ever seen.
func (s state) withoutStream() state {
	if s.stream == streamUnknown {
		s.stream = streamUnsupported
	}
	return s.pages(s.listRV)
}

// watchEnd says how a watch, or a streaming list, ended.
type watchEnd struct {
	at     time.Time
	rv     string // newest resourceVersion seen
	short  bool   // it lasted less than a second
	steady bool   // it lasted as long as the longest wait
	// ignored says that it was asked to be a streaming list and shows no sign of being one:
	// it sends other bookmarks, which is err, or events without end, or nothing at all.
	ignored bool
	idle    bool  // nothing came for as long as is waited for
	early   bool  // it ended before the time that was asked for
	heard   bool  // something came, be it an object that could not be used
	err     error // nil when the server closed it in order
}

// watchEnded follows a watch that was refused, closed or broke off. It brought news if
// the version moved: what sends the same events to every watch must not be asked without
// a pause.
func (s state) watchEnded(end watchEnd) (state, step) {
	news := end.rv != s.rv
	s.rv = end.rv
	if news || end.steady {
		s.relisted = false
	}
	if news || !end.short {
		s.flaps = 0
	}
	if news || end.steady || end.err == nil {
		s.internalSince = time.Time{}
	}
	if news {
		s.failures = 0
	}
	err := end.err
	if err == nil {
		if news || !end.short {
			s.failures = 0
			return s.resume(step{})
		}
		err = ErrShortWatch
	}
	st := failed(err)
	// Where a proxy cuts every watch after a minute, waits must not grow: between the
	// cuts all is well.
	st.resetBackoff = end.steady
	if st.pause.connectionLost() {
		s = s.reconnected()
	}
	if st.pause == pauseResume && end.short && !news {
		st.pause = pauseFlap
		if s.flaps++; s.flaps <= maxFlaps || s.relisted {
			return s.resume(st) // the last list, if there was one, has not mended it
		}
	}
	if apierrors.IsInternalError(err) {
		if s.internalSince.IsZero() {
			s.internalSince = end.at
		}
		if end.at.Sub(s.internalSince) < s.internalRetry {
			return s.resume(st)
		}
		st.relist = becauseFailing
		return s.relistFor(st)
	}
	if (end.short || isStatus(err)) && judgesVersion(err) {
		s.failures++
	}
	if st.relist = s.relistReasonFor(err); st.relist == noRelist {
		return s.resume(st)
	}
	return s.relistFor(st)
}

// resume watches again from where the watch ended, if there is a version that says where.
func (s state) resume(st step) (state, step) {
	if s.rv == "" {
		st.relist = becauseNoVersion
		return s.relist(""), st
	}
	return s, st
}

// giveUp lists the collection again, for the reason that st has. What the list will mend is
// not waited for, unless the last list has not mended it: the backoff that an outage grew is
// none of its business.
func (s state) relistFor(st step) (state, step) {
	again := s.relisted
	s.relisted = true
	switch {
	case st.relist == becauseFailing || isStoreRead(st.err):
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

// relistReasonFor is what a watch that ended with err is given up for, if it is.
func (s state) relistReasonFor(err error) relistReason {
	switch {
	case isTooLarge(err):
		return becauseTooLarge
	case isExpired(err):
		return becauseExpired
	case errors.Is(err, ErrOutOfOrder):
		return becauseOutOfOrder
	case errors.Is(err, ErrUnreadableDelete), isStoreRead(err):
		return becauseUnreadable
	case isClientError(err) && judgesVersion(err):
		return becauseRefused
	case s.failures >= maxWatchFailures:
		return becauseFailing
	}
	return noRelist
}

// relistReason is why a watch is given up for a list: an index of counters.relists.
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
	relistReasons
)

// String is for the log.
func (r relistReason) String() string {
	return [relistReasons]string{"", "expired", "too large", "out of order", "unreadable", "refused", "failing", "no version to go on from", "restored"}[r]
}
