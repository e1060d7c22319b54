package reflector

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
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

// isBusy reports whether the server is there but has no room, or is not up yet: both
// pass, and a list would only add to the load.
func isBusy(err error) bool {
	return apierrors.IsTooManyRequests(err) || utilnet.IsConnectionRefused(err)
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
	switch code := statusOf(err).Code; {
	case code == 0:
		return errors.Is(err, ErrUnusable) || errors.Is(err, ErrNoResourceVersion) || isTLS(err)
	case code == http.StatusBadRequest, code == http.StatusUnprocessableEntity:
		return version == "" || version == "0"
	case code == http.StatusRequestTimeout, code == http.StatusConflict, code == http.StatusGone,
		code == http.StatusTooEarly, code == http.StatusTooManyRequests:
		return false
	default:
		return code >= 300 && code < 500 || code == http.StatusNotImplemented
	}
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
