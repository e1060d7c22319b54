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

// maxStreamFailures is how many streaming lists in a row may break off before the list is
// asked for in pages, which are shorter.
const maxStreamFailures = 2

// phase is what the next request is, or the present one.
type phase uint8

const (
	listing   phase = iota // the next page by LIST
	streaming              // a watch that begins with a list, up to the bookmark that ends it
	watching               // the sink holds a whole list
)

// state is where the protocol stands between two requests, and in a streaming list that
// goes over into a watch. Only the step functions below make a new one; they are pure.
type state struct {
	phase    phase
	rv       string // newest resourceVersion seen; a watch starts from it
	listRV   string // resourceVersion that the list in progress asks for
	pageRV   string // resourceVersion of the list's first page; "" before it
	token    string // continue token of the next page; "" asks for the first
	trail    pages.Trail
	whole    bool      // pages expire sooner than the sink takes them: none are asked for
	failures int       // watches, or streaming lists, that failed in a row without news, busy servers aside
	internal time.Time // end of the first watch of those in a row that had an InternalError
	memory
}

// memory is what is known for as long as the reflector lives.
type memory struct {
	stream        ability
	paged         bool // the server has no cache: it sends pages even for version "0"
	cachedStreams bool // a streaming list may be of any state, too
	// internalFor is how long watches that end with an InternalError are begun again.
	internalFor time.Duration
}

// ability is whether the server has streaming lists.
type ability uint8

const (
	cannot ability = iota
	mayBe
	// can: one was seen. From now on a refusal is another server's, as in an upgrade of
	// one server after the other, and not remembered.
	can
)

// start is the state before the first request.
func start(o Options) state {
	s := state{memory: memory{internalFor: o.InternalErrorRetry}}
	if !o.DisableWatchList {
		s.stream = mayBe
	}
	// "0" is answered from the server's cache, which spares etcd when many clients start
	// at once. So is a streaming list at "", after the cache has caught up.
	first := "0"
	if o.FirstVersion != nil {
		first, s.cachedStreams = *o.FirstVersion, true
	}
	if first != "" && first != "0" {
		s.rv = first
	}
	return s.relist(first)
}

// version is the resourceVersion that the next request asks for, or the present one.
func (s state) version() string {
	switch {
	case s.phase == watching:
		return s.rv
	case s.phase == streaming && s.listRV == "0" && !s.cachedStreams:
		return ""
	}
	return s.listRV
}

// relist is the state that lists anew at resourceVersion rv, with what was seen kept in
// mind, and that pages expired.
func (s state) relist(rv string) state {
	next := s.pages(rv)
	if s.stream != cannot {
		next.phase = streaming
	}
	return next
}

// pages is relist by LIST.
func (s state) pages(rv string) state {
	return state{phase: listing, rv: s.rv, listRV: rv, whole: s.whole, memory: s.memory}
}

// watch is the state that watches from rv, after a list.
func (s state) watch(rv string) state { return state{phase: watching, rv: rv, memory: s.memory} }

// step is what the loop does after an outcome, in the order of the fields.
type step struct {
	replace bool          // the list is whole: hand it to the sink at the new state's rv
	discard bool          // the list failed: the sink forgets it
	relist  relistReason  // the watch is given up for a list
	err     error         // to report
	backoff bool          // wait before the next request
	afresh  bool          // the wait is that of a first failure
	atLeast time.Duration // the server asked to wait this long
}

// pageListed follows a page of a list that was received whole.
func (s state) pageListed(page metav1.ListMeta) (state, step) {
	if s.pageRV == "" {
		if page.ResourceVersion == "" {
			return s.relist(s.listRV), step{discard: true, err: ErrNoResourceVersion, backoff: true}
		}
		// At listRV "" the server answered from its storage: older or not, it is the truth.
		if s.listRV != "" && older(page.ResourceVersion, s.rv) {
			return s.pages(""), step{discard: true, err: ErrListTooOld}
		}
		// The first page's version is the one to watch from: should a later page be newer,
		// the watch brings what lies between.
		s.pageRV = page.ResourceVersion
	} else if page.ResourceVersion == "" || older(page.ResourceVersion, s.pageRV) || s.trail.Turns(s.token, page.Continue) {
		// Not the next page of this list, whatever it is.
		return s.relist(s.listRV), step{discard: true, err: ErrBadPage, backoff: true}
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
	unavailable := isExpired(err) || isTooLarge(err)
	switch {
	case unavailable && s.token != "" && !s.whole:
		// A sink that takes longer than a token lives would never see the last page.
		next := s.pages("")
		next.whole = true
		return next, step{discard: true, err: err}
	case unavailable && s.listRV != "":
		return s.pages(""), step{discard: true, err: err}
	}
	next := s.relist(s.listRV)
	if apierrors.IsBadRequest(err) {
		next.listRV = "" // what is bad may be the version
	}
	return next, step{discard: true, err: err, backoff: true, atLeast: retryAfter(err)}
}

// streamListed follows the bookmark that ends the initial events of a streaming list.
func (s state) streamListed(rv string) (state, step) {
	s.stream = can
	if rv == "" {
		return s.pages(s.listRV), step{discard: true, err: ErrNoResourceVersion, backoff: true}
	}
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
	st := step{discard: true, err: err}
	switch {
	case (isExpired(err) || isTooLarge(err)) && s.version() != "":
		return s.relist(""), st
	case end.deaf:
		return s.withoutStream(), st
	case errors.Is(err, errors.ErrUnsupported):
		return s.withoutStream(), step{discard: true}
	case errors.Is(err, ErrUnreadableDelete):
		return s.pages(s.listRV), st // the list will not have it
	case errors.Is(err, ErrUnusable):
		return s.pages(s.listRV), st // a server that knows no watches may know lists
	case isStatus(err) && !isBusy(err) && !isExpired(err):
		if isClientError(err) {
			st.err = nil // if the reason is not the streaming, LIST will say so
		}
		if st.atLeast = retryAfter(err); st.atLeast > 0 {
			st.backoff, st.err = true, err
		}
		if cannotStream(err) {
			return s.withoutStream(), st
		}
		return s.pages(s.listRV), st
	}
	st.backoff, st.afresh, st.atLeast = true, end.steady, retryAfter(err)
	next := s.relist(s.listRV)
	if isBusy(err) {
		next.failures = s.failures
		return next, st
	}
	if next.failures = s.failures + 1; end.steady || next.failures >= maxStreamFailures {
		next = s.pages(s.listRV)
	}
	return next, st
}

// withoutStream lists by LIST, for ever if no streaming list was ever seen.
func (s state) withoutStream() state {
	if s.stream == mayBe {
		s.stream = cannot
	}
	return s.pages(s.listRV)
}

// watchEnd says how a watch, or a streaming list, ended.
type watchEnd struct {
	at     time.Time
	rv     string // newest resourceVersion seen
	short  bool   // it lasted less than a second
	steady bool   // it lasted as long as the longest wait
	// deaf says that it was asked to be a streaming list and shows no sign of being one:
	// it sends other bookmarks, or events without end, or nothing at all.
	deaf bool
	err  error // nil when the server closed it in order
}

// watchEnded follows a watch that was refused, closed or broke off. It brought news if
// the version moved: what sends the same events to every watch must not be asked without
// a pause.
func (s state) watchEnded(end watchEnd) (state, step) {
	news := end.rv != s.rv
	s.rv = end.rv
	if news || end.steady || end.err == nil {
		s.internal = time.Time{}
	}
	if news {
		s.failures = 0
	}
	err := end.err
	if err == nil {
		if news || !end.short {
			s.failures = 0
			return s, step{}
		}
		err = ErrShortWatch
	}
	// Where a proxy cuts every watch after a minute, waits must not grow: between the
	// cuts all is well.
	st := step{err: err, backoff: true, afresh: end.steady, atLeast: retryAfter(err)}
	if apierrors.IsInternalError(err) {
		if s.internal.IsZero() {
			s.internal = end.at
		}
		if end.at.Sub(s.internal) < s.internalFor {
			return s, st
		}
		st.relist = becauseFailing
		return s.relist(s.rv), st
	}
	// Where the connection broke later, the server took the version. Where it has no room,
	// or is not up, it has not looked at it: after a restart, all would ask it for lists.
	if (end.short || isStatus(err)) && !isBusy(err) {
		s.failures++
	}
	if st.relist = s.why(err); st.relist == becauseTooLarge {
		return s.relist(""), st
	} else if st.relist != notAtAll {
		return s.relist(s.rv), st
	}
	return s, st
}

// why is what a watch that ended with err is given up for, if it is.
func (s state) why(err error) relistReason {
	switch {
	case isTooLarge(err):
		return becauseTooLarge
	case isExpired(err):
		return becauseExpired
	case errors.Is(err, ErrOutOfOrder):
		return becauseOutOfOrder
	case errors.Is(err, ErrUnreadableDelete):
		return becauseUnreadable
	case isClientError(err):
		return becauseRefused
	case s.failures >= maxWatchFailures:
		return becauseFailing
	}
	return notAtAll
}

// relistReason is why a watch is given up for a list: an index of counters.relists.
type relistReason uint8

const (
	notAtAll relistReason = iota
	becauseExpired
	becauseTooLarge
	becauseOutOfOrder
	becauseUnreadable
	becauseRefused
	becauseFailing
	relistReasons
)

// String is for the log.
func (r relistReason) String() string {
	return [relistReasons]string{"", "expired", "too large", "out of order", "unreadable", "refused", "failing"}[r]
}
