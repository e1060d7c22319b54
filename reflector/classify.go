package reflector

import (
	"errors"
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
