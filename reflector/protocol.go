package reflector

import (
	"errors"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// maxWatchFailures is how many watches in a row may fail without news before the
// collection is listed again: a list tells more about what is wrong, and a server that
// was restored from a backup may never serve the version that the watch asks for.
const maxWatchFailures = 5

// state is where the protocol stands between two requests. Only the step functions
// below make a new one; they are pure.
type state struct {
	watching bool   // the sink holds a whole list, so the next request is a watch
	rv       string // newest resourceVersion seen; a watch starts from it
	listRV   string // resourceVersion that the list in progress asks for
	pageRV   string // resourceVersion of the list's first page; "" before it
	token    string // continue token of the next page; "" asks for the first
	whole    bool   // the list is asked for in one piece, because a page of it expired
	failures int    // watches that failed in a row without news
}

// start is the state before the first request. resourceVersion "0" is answered from the
// server's cache, which spares etcd when many clients start at once.
func start() state { return state{listRV: "0"} }

// step is what the loop does after an outcome, in the order of the fields.
type step struct {
	replace bool          // the list is whole: hand it to the sink at the new state's rv
	discard bool          // the list failed: the sink forgets it
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
			return s.relist(""), step{discard: true, err: ErrListTooOld}
		}
		// The first page's version is the one to watch from: should a later page be newer,
		// the watch brings what lies between.
		s.pageRV = page.ResourceVersion
	} else if page.ResourceVersion == "" || older(page.ResourceVersion, s.pageRV) || page.Continue == s.token {
		// Not the next page of this list, whatever it is.
		return s.relist(s.listRV), step{discard: true, err: ErrBadPage, backoff: true}
	}
	if page.Continue != "" {
		s.token = page.Continue
		return s, step{}
	}
	return state{watching: true, rv: s.pageRV}, step{replace: true}
}

// listFailed follows a page that was refused or broke off.
func (s state) listFailed(err error) (state, step) {
	unavailable := isExpired(err) || isTooLarge(err)
	switch {
	case unavailable && s.token != "" && !s.whole:
		// A sink that takes longer than a token lives would never see the last page.
		next := s.relist("")
		next.whole = true
		return next, step{discard: true, err: err}
	case unavailable && s.listRV != "":
		return s.relist(""), step{discard: true, err: err}
	}
	next := s.relist(s.listRV)
	if apierrors.IsBadRequest(err) {
		next.listRV = "" // what is bad may be the version
	}
	return next, step{discard: true, err: err, backoff: true, atLeast: retryAfter(err)}
}

// watchEnd says how a watch ended.
type watchEnd struct {
	rv     string // newest resourceVersion seen
	short  bool   // it lasted less than a second
	steady bool   // it lasted as long as the longest wait
	err    error  // nil when the server closed it in order
}

// watchEnded follows a watch that was refused, closed or broke off. It brought news if
// the version moved: what sends the same events to every watch must not be asked without
// a pause.
func (s state) watchEnded(end watchEnd) (state, step) {
	news := end.rv != s.rv
	s.rv = end.rv
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
	if end.short || isStatus(err) {
		s.failures++ // else the server took the version, and only the connection broke
	}
	// Where a proxy cuts every watch after a minute, waits must not grow: between the
	// cuts all is well.
	st := step{err: err, backoff: true, afresh: end.steady, atLeast: retryAfter(err)}
	switch {
	case isTooLarge(err):
		return s.relist(""), st
	case isExpired(err), errors.Is(err, ErrOutOfOrder), errors.Is(err, ErrUnreadableDelete), isClientError(err):
		return s.relist(s.rv), st
	case s.failures >= maxWatchFailures && !isBusy(err):
		return s.relist(s.rv), st
	}
	return s, st
}

// relist is the state that lists from the first page at resourceVersion rv, with what
// was seen kept in mind, and that pages expired.
func (s state) relist(rv string) state { return state{rv: s.rv, listRV: rv, whole: s.whole} }

// older reports whether resourceVersion a is older than b. Versions that are not
// comparable, as those of some aggregated API servers, are not (KEP-5504).
func older(a, b string) bool {
	c, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && c < 0
}

// isExpired reports whether the server no longer has the resourceVersion or the
// continue token. Old servers answer Gone where new ones answer Expired.
func isExpired(err error) bool { return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) }

// isTooLarge reports whether the resourceVersion is newer than all that the server has.
// Servers before 1.18 say so in the message alone (kubernetes#91073).
func isTooLarge(err error) bool {
	if apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) {
		return true
	}
	return apierrors.IsTimeout(err) && strings.Contains(err.Error(), "Too large resource version")
}

// isClientError reports whether the server found fault with the request itself, so that
// the same watch would be refused again.
func isClientError(err error) bool {
	code := statusOf(err).Code
	return code >= 400 && code < 500 && !apierrors.IsTooManyRequests(err)
}

// maxRetryAfter bounds the wait that a server can ask for: more than this is a mistake.
const maxRetryAfter = 5 * time.Minute

// retryAfter is how long the server asked to wait, zero if it did not.
func retryAfter(err error) time.Duration {
	if details := statusOf(err).Details; details != nil {
		return min(time.Duration(details.RetryAfterSeconds)*time.Second, maxRetryAfter)
	}
	return 0
}

// isStatus reports whether err is the server's answer and not the loss of it.
func isStatus(err error) bool { return statusOf(err).Code != 0 }

// statusOf returns the server's answer, zero if err is none.
func statusOf(err error) metav1.Status {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status()
	}
	return metav1.Status{}
}

// inOrder reports whether ev is for the sink; ErrOutOfOrder if it is older than what was
// seen. A deleted object carries the version of its deletion, so the rule holds for every
// type of event.
func inOrder[T any](ev Event[T], seen string) (fresh bool, err error) {
	c, err := resourceversion.CompareResourceVersion(ev.ResourceVersion, seen)
	switch {
	case err != nil || c > 0:
		return true, nil // versions that are not comparable are taken as they come
	case c == 0:
		return ev.Type == Bookmark, nil
	}
	return false, ErrOutOfOrder
}

func newest(seen, rv string) string {
	if rv == "" || older(rv, seen) {
		return seen
	}
	return rv
}

// isBusy reports whether the server is there but has no room, or is not up yet: both
// pass, and a list would only add to the load.
func isBusy(err error) bool {
	return apierrors.IsTooManyRequests(err) || utilnet.IsConnectionRefused(err)
}
