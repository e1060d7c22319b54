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

// judgesVersion reports whether err may be about the version that a watch asked for. A
// server that was not reached, or has no room, has not looked at it: after a restart, all
// clients would ask it for lists. Nor has one that does not know its client, or does not
// let it: once it does, the watch goes on where it ended.
func judgesVersion(err error) bool {
	switch statusOf(err).Code {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable:
		return false
	}
	return pauseFor(err) != pauseAway && !isTLS(err)
}

// isStoreRead reports whether the server could not read an object from its storage, of
// which it tells once the object was deleted nevertheless (KEP-3926). The same watch would
// come to the same place.
func isStoreRead(err error) bool { return apierrors.IsStoreReadError(err) }

// pause is how to wait before the next request, by what went wrong with the last one.
type pause uint8

const (
	noPause pause = iota
	// pauseResume: a watch broke off. The server may be well.
	pauseResume
	// pauseFlap: a watch broke off within a second and without news.
	pauseFlap
	// pauseRetry: a list broke off, which costs more to begin again.
	pauseRetry
	// pauseAway: no answer came: refused, reset, no route, no name, timeout.
	pauseAway
	// pauseDenied: the request is against a rule that somebody may change: rights, what the
	// server serves, certificates.
	pauseDenied
	// pauseBusy: the server cannot answer now, or what it answers is of no use.
	pauseBusy
)

// lost reports whether the connection was lost, or there was none.
func (p pause) connectionLost() bool {
	return p == pauseResume || p == pauseFlap || p == pauseRetry || p == pauseAway
}

// pauseFor is the pause after a request that failed with err.
func pauseFor(err error) pause {
	switch {
	case isDenied(err):
		return pauseDenied
	case isStatus(err):
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

// isUnanswered reports whether the request came to no answer, not even the beginning of one.
// An http.Client says so by the type of the error.
func isUnanswered(err error) bool {
	var request *url.Error
	var op *net.OpError
	var name *net.DNSError
	return errors.As(err, &request) || errors.As(err, &name) || errors.As(err, &op) && op.Op == "dial" ||
		errors.Is(err, ErrUnanswered) || utilnet.IsConnectionRefused(err)
}

// isBroken reports whether an answer broke off.
func isBroken(err error) bool {
	var op net.Error
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &op) ||
		utilnet.IsConnectionReset(err) || utilnet.IsHTTP2ConnectionLost(err) || isHTTP2(err)
}

// isHTTP2 reports whether err is one of HTTP/2, whose types net/http keeps to itself: the
// server, or a proxy, ended a stream or a connection.
func isHTTP2(err error) bool {
	text := err.Error()
	return strings.Contains(text, "http2: ") || strings.Contains(text, "stream error: stream ID ") ||
		strings.Contains(text, "connection error: ")
}

// cannotStream reports whether the server says of a streaming list that it has none.
// Releases before 1.27 refuse resourceVersionMatch in a watch, and later ones without the
// feature sendInitialEvents, both as Invalid.
func cannotStream(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsMethodNotSupported(err) ||
		statusOf(err).Code == http.StatusNotImplemented
}

// isLasting is RequestError.Lasting for a request at a version.
func isLasting(err error, version string) bool {
	switch code := statusOf(err).Code; code {
	case 0:
		return errors.Is(err, ErrUnusable) || errors.Is(err, ErrNoResourceVersion) || isTLS(err)
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		return version == "" || version == "0"
	}
	return isDenied(err)
}

// isTLS reports whether client and server do not agree on TLS. An alert of the server
// ("remote error") is about the client's certificate, as a rule, or about the versions.
func isTLS(err error) bool {
	var untrusted *tls.CertificateVerificationError
	var noTLS tls.RecordHeaderError
	var op *net.OpError
	return errors.As(err, &untrusted) || errors.As(err, &noTLS) || errors.Is(err, http.ErrSchemeMismatch) ||
		errors.As(err, &op) && op.Op == "remote error" && !strings.HasSuffix(op.Error(), "internal error")
}
