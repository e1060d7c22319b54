package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

const (
	// longestWait limits the wait before a retry. For a longer delay, a work queue should
	// retry later instead of blocking a worker.
	longestWait = time.Minute
	// firstBrokenWait and lastBrokenWait limit the waits after broken connections. The first
	// is for a connection that the server closed while it was idle.
	firstBrokenWait = 100 * time.Millisecond
	lastBrokenWait  = 5 * time.Second
)

// again returns whether to retry a call that failed with err, and after what wait. The call
// has been tried tries times.
func (e endpoint) again(c call, tries int, err error) (wait time.Duration, again bool) {
	if !c.retry || tries > e.retries {
		return 0, false
	}
	if status := (apierrors.APIStatus)(nil); errors.As(err, &status) {
		st := status.Status()
		if st.Code != http.StatusTooManyRequests && st.Code < 500 || st.Details == nil || st.Details.RetryAfterSeconds <= 0 {
			return 0, false
		}
		wait = time.Duration(st.Details.RetryAfterSeconds) * time.Second
		return wait, wait <= longestWait
	}
	if c.method == http.MethodGet && broken(err) {
		return min(firstBrokenWait<<min(tries-1, 10), lastBrokenWait), true
	}
	return 0, false
}

// mayBeDone reports whether a call that failed with err, and is worth a retry, may have changed
// something.
func (c call) mayBeDone(err error) bool {
	return c.method != http.MethodGet && !apierrors.IsTooManyRequests(err)
}

// broken reports whether a connection failed after it was made.
func broken(err error) bool {
	return utilnet.IsConnectionReset(err) || utilnet.IsHTTP2ConnectionLost(err) || utilnet.IsProbableEOF(err) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// worthwhile reports whether ctx lives longer than the wait.
func worthwhile(ctx context.Context, wait time.Duration) bool {
	deadline, ok := ctx.Deadline()
	return ctx.Err() == nil && (!ok || time.Until(deadline) > wait)
}

// counted adds the number of tries to the error.
func counted(tries int, err error) error {
	if tries == 1 {
		return err
	}
	return fmt.Errorf("tried %d times: %w", tries, err)
}
