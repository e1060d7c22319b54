package reflector

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"syscall"
	"testing"

	"go.uber.org/goleak"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// noAlarm fails the test if err says that the server was restored, where it was not.
func noAlarm(t *testing.T, err error) {
	t.Helper()
	if errors.Is(err, ErrRestored) {
		t.Errorf("a false alarm: %v", err)
	}
}

// noRestores fails the test if the server was taken for restored, where it was not.
func noRestores(t *testing.T, stats Stats) {
	t.Helper()
	if stats.Restores > 0 {
		t.Errorf("false alarms: %+v", stats)
	}
}

// failure returns the error that the tests call by a word: what a source returns when a
// server answers so. Each is wrapped once, since a source may add its own words.
func failure(word string, retryAfter int) error {
	pods := schema.GroupResource{Resource: "pods"}
	var err error
	switch word {
	case "expired":
		err = apierrors.NewResourceExpired("too old resource version")
	case "expired-without-code": // an ERROR event need not carry one
		err = &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonExpired}}
	case "unexplained": // an ERROR event without code and reason
		err = &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Message: "something is wrong"}}
	case "mentions-too-large": // not a Timeout
		err = apierrors.NewInternalError(errors.New("Too large resource version: 9, current: 3"))
	case "gone": // what old servers say for expired
		err = &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: 410, Reason: metav1.StatusReasonGone, Message: "too old resource version",
		}}
	case "too-large":
		status := apierrors.NewTimeoutError("Too large resource version: 9, current: 3", 1)
		status.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge}}
		err = status
	case "too-large-1.17":
		err = apierrors.NewTimeoutError("Too large resource version: 9, current: 3", 1)
	case "timeout":
		err = apierrors.NewTimeoutError("the request took too long", 0)
	case "busy":
		err = apierrors.NewTooManyRequests("too many requests", retryAfter)
	case "refused":
		dial := &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
		err = &url.Error{Op: "Get", URL: "https://server", Err: dial}
	case "eof":
		err = io.ErrUnexpectedEOF
	case "reset": // while a connection is made; through an http.Client
		err = &url.Error{Op: "Get", URL: "https://server", Err: &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}}
	case "reset-later": // while a body is read
		err = &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
	case "no-name":
		err = &url.Error{Op: "Get", URL: "https://server", Err: &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "server"}}}
	case "dial-timeout":
		err = &net.OpError{Op: "dial", Net: "tcp", Err: os.ErrDeadlineExceeded}
	case "unanswered":
		err = errUnanswered
	case "http2-lost":
		err = errors.New("http2: client connection lost")
	case "http2":
		err = errors.New("stream error: stream ID 7; INTERNAL_ERROR; received from peer")
	case "untrusted":
		err = &url.Error{Op: "Get", URL: "https://server", Err: &tls.CertificateVerificationError{Err: errors.New("unknown authority")}}
	case "store-read": // an object that was deleted though it could not be read
		err = &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: 500, Reason: metav1.StatusReasonStoreReadError, Message: "data corrupt",
		}}
	case "unknown":
		err = errors.New("something of the source's own")
	case "internal":
		err = apierrors.NewInternalError(errors.New("etcd has no leader"))
	case "forbidden":
		err = apierrors.NewForbidden(pods, "", errors.New("no such role"))
	case "unauthorized":
		err = apierrors.NewUnauthorized("no token")
	case "not-found":
		err = apierrors.NewGenericServerResponse(404, "get", pods, "", "no such resource", 0, true)
	case "bad-request":
		err = apierrors.NewBadRequest("invalid resource version")
	case "invalid": // what servers without streaming lists say
		err = apierrors.NewInvalid(schema.GroupKind{Group: "meta.k8s.io", Kind: "ListOptions"}, "", nil)
	case "method-not-allowed":
		err = apierrors.NewMethodNotSupported(pods, "watch")
	case "not-implemented":
		err = apierrors.NewGenericServerResponse(501, "get", pods, "", "no watch here", 0, true)
	case "unavailable":
		err = apierrors.NewServiceUnavailable("starting")
		err.(*apierrors.StatusError).ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: int32(retryAfter)}
	case "unreadable-delete":
		err = errUnreadableDelete
	case "out-of-order":
		err = errOutOfOrder
	case "unsupported":
		err = errors.ErrUnsupported
	case "no-version":
		err = errNoResourceVersion
	case "unusable":
		err = ErrUnusable
	default:
		panic("unknown failure " + word)
	}
	return fmt.Errorf("scripted: %w", err)
}
