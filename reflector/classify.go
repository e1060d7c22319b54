package reflector

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// isExpired reports whether the server no longer has the resourceVersion or the continue
// token. Old servers answer Gone, new ones Expired.
func isExpired(err error) bool { return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) }

// isTooLarge reports whether the resourceVersion is newer than everything that the server has.
// Servers before 1.18 say so in the message alone (kubernetes#91073).
func isTooLarge(err error) bool {
	if apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) {
		return true
	}
	return apierrors.IsTimeout(err) && strings.Contains(err.Error(), "Too large resource version")
}

// isClientError reports whether the server found fault with the request itself and would
// refuse the same watch again.
func isClientError(err error) bool {
	code := statusOf(err).Code
	return code >= 400 && code < 500 && !apierrors.IsTooManyRequests(err)
}

// isUnexplained reports whether the server said that something is wrong, but not what: an ERROR event
// without code and reason, or with another object than a Status. It may be about the version.
func isUnexplained(err error) bool {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		st := status.Status()
		return st.Code == 0 && st.Reason == metav1.StatusReasonUnknown
	}
	var object *apierrors.UnexpectedObjectError
	return errors.As(err, &object)
}

// maxRetryAfter bounds the wait that a server can ask for. A longer one is a mistake.
const maxRetryAfter = 5 * time.Minute

// retryAfter is the wait that the server asked for, zero if it asked for none.
func retryAfter(err error) time.Duration {
	if details := statusOf(err).Details; details != nil {
		return min(time.Duration(details.RetryAfterSeconds)*time.Second, maxRetryAfter)
	}
	return 0
}

// isStatus reports whether err is an answer of the server, and not the lack of one.
func isStatus(err error) bool { return statusOf(err).Code != 0 }

// statusOf returns the server's answer, or zero if err is not one.
func statusOf(err error) metav1.Status {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status()
	}
	return metav1.Status{}
}

// isRefused reports whether the server found fault with a watch, which may be with its version. A
// server that does not know the client, or does not admit it, has not looked at the version. Once it
// does, the watch resumes where it ended.
func isRefused(err error) bool {
	switch statusOf(err).Code {
	case http.StatusUnauthorized, http.StatusForbidden:
		return false
	}
	return isClientError(err)
}

// isStoreRead reports whether the server could not read an object from its storage. It sends
// this error once somebody deletes the object nevertheless (KEP-3926). The same watch would
// end at the same place.
func isStoreRead(err error) bool { return apierrors.IsStoreReadError(err) }

// pause is the kind of wait before the next request. The last failure decides it.
type pause uint8

const (
	noPause pause = iota
	// pauseEnd: a watch ended in order within a second, and brought something new.
	pauseEnd
	// pauseResume: a watch broke off. The server may be well.
	pauseResume
	// pauseRetry: a list broke off. Beginning it again costs more than resuming a watch.
	pauseRetry
	// pauseAway: no answer came (refused, reset, no route, no name, timeout).
	pauseAway
	// pauseDenied: the request will be refused until somebody changes something: rights,
	// served resources, certificates.
	pauseDenied
	// pauseBusy: the server cannot answer now, or its answer is of no use.
	pauseBusy
	pauseKinds // the number of them
)

// connectionLost reports whether the connection was lost, or never came about.
func (p pause) connectionLost() bool {
	return p == pauseResume || p == pauseRetry || p == pauseAway
}

// pauseFor is the pause after a request that failed with err.
func pauseFor(err error) pause {
	switch {
	case isDenied(err):
		return pauseDenied
	case isStatus(err) || errors.Is(err, ErrUnusable):
		return pauseBusy
	case isUnanswered(err):
		return pauseAway
	case isBroken(err):
		return pauseResume
	}
	return pauseBusy
}

// isDenied reports whether the same request will be refused until somebody changes something.
func isDenied(err error) bool {
	switch code := statusOf(err).Code; code {
	case 0:
		return isTLS(err)
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusGone, http.StatusTooEarly, http.StatusTooManyRequests:
		return false
	default:
		return code >= 300 && code < 500 || code == http.StatusNotImplemented
	}
}

// isUnconnected reports whether there was no connection for a request without an answer. A source that
// is no [Server] shows this by the type of its error.
func isUnconnected(err error) bool {
	var op *net.OpError
	var name *net.DNSError
	return errors.As(err, &name) || errors.As(err, &op) && op.Op == "dial" || utilnet.IsConnectionRefused(err) || isTLS(err)
}

// isUnanswered reports whether the request had no answer, not even the beginning of one. An
// http.Client shows this by the type of its error.
func isUnanswered(err error) bool {
	var request *url.Error
	var op *net.OpError
	var name *net.DNSError
	return errors.As(err, &request) || errors.As(err, &name) || errors.As(err, &op) && op.Op == "dial" ||
		errors.Is(err, errUnanswered) || utilnet.IsConnectionRefused(err)
}

// isBroken reports whether an answer broke off.
func isBroken(err error) bool {
	var op net.Error
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &op) || isHTTP2(err)
}

// isHTTP2 reports whether err is one of HTTP/2: the server, or a proxy, ended a stream or a
// connection. The types of net/http for it are not exported.
func isHTTP2(err error) bool {
	text := err.Error()
	return strings.Contains(text, "http2: ") || strings.Contains(text, "stream error: stream ID ") ||
		strings.Contains(text, "connection error: ")
}

// cannotStream reports whether the server says that it has no streaming lists. Releases before
// 1.27 refuse resourceVersionMatch in a watch. Later ones without the feature refuse
// sendInitialEvents. Both say Invalid.
func cannotStream(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsMethodNotSupported(err) ||
		statusOf(err).Code == http.StatusNotImplemented
}

// isUnsupported reports whether the server refused the request for what it is, so that it would
// refuse it from everybody and at any time.
func isUnsupported(err error) bool {
	switch code := statusOf(err).Code; code {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestTimeout, http.StatusConflict,
		http.StatusTooEarly, http.StatusTooManyRequests:
		return false
	default:
		return code >= 400 && code < 500 || code == http.StatusNotImplemented || errors.Is(err, errors.ErrUnsupported)
	}
}

// isLasting is RequestError.Lasting for a request at the given version.
func isLasting(err error, version string) bool {
	switch code := statusOf(err).Code; code {
	case 0:
		return errors.Is(err, ErrUnusable) || errors.Is(err, errNoResourceVersion) || isTLS(err)
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		return version == "" || version == "0"
	}
	return isDenied(err)
}

// isTLS reports whether client and server fail to agree on TLS. An alert of the server
// ("remote error") is usually about the client's certificate or about TLS versions.
func isTLS(err error) bool {
	var untrusted *tls.CertificateVerificationError
	var noTLS tls.RecordHeaderError
	var op *net.OpError
	return errors.As(err, &untrusted) || errors.As(err, &noTLS) || errors.Is(err, http.ErrSchemeMismatch) ||
		errors.As(err, &op) && op.Op == "remote error" && !strings.HasSuffix(op.Error(), "internal error")
}
