package client

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// refusal makes the *apierrors.StatusError for an answer outside of 2xx: from the Status in
// its body if there is one, and otherwise from the HTTP status code.
func refusal(r *resource, c call, code int, a *answer) error {
	body, readErr := io.ReadAll(io.LimitReader(a, statusLimit))
	if ctxErr := a.ctx.Err(); ctxErr != nil && readErr != nil {
		return ctxErr // the refusal was not read to its end
	}
	retry := retryAfter(a.header)
	if st, ok := statusIn(codecOf(r), a.encoding(), body); ok && st.Status != metav1.StatusSuccess {
		if st.Code < 300 || st.Code > 599 {
			st.Code = int32(code) // that is what the server meant
		}
		if retry > 0 && (st.Details == nil || st.Details.RetryAfterSeconds == 0) {
			if st.Details == nil {
				st.Details = &metav1.StatusDetails{}
			}
			st.Details.RetryAfterSeconds = int32(retry)
		}
		return failed(st)
	}
	text := a.excerpt()
	if strings.HasPrefix(a.header.Get("Content-Type"), "text/plain") && len(body) > 0 {
		text = strings.TrimSpace(string(body[:min(len(body), 1024)]))
	}
	if to := a.header.Get("Location"); code/100 == 3 && to != "" {
		text = fmt.Sprintf("redirecting to %q", publicURL(to)) // the body has the query, too
	}
	if readErr != nil {
		text += "; reading it failed: " + readErr.Error()
	}
	err := apierrors.NewGenericServerResponse(code, c.method, r.gvr.GroupResource(), c.key.Name, text, retry, true)
	if !strings.Contains(err.ErrStatus.Message, text) {
		err.ErrStatus.Message += ": " + text
	}
	return err
}

// statusIn decodes a metav1.Status in any encoding; ok is false if body is not a Status.
func statusIn(c *objectCodec, e encoding, body []byte) (st metav1.Status, ok bool) {
	if e == inProtobuf {
		m, _ := openEnvelope(body, expectation{})
		return m.status()
	}
	return jsonStatus(c, body)
}

// retryAfter reads the Retry-After header in whole seconds, rounded up; 0 if there is none. A
// delay of 0 or a date in the past becomes one second, because 0 in a Status means no delay.
// The result fits the int32 of a Status: a larger delay means never anyway.
func retryAfter(h http.Header) int {
	v := h.Get("Retry-After")
	n, err := strconv.ParseInt(v, 10, 32)
	switch {
	case n < 0:
		return 0
	case err == nil || errors.Is(err, strconv.ErrRange):
		return int(max(n, 1)) // out of range it is the end of the range
	}
	if t, err := http.ParseTime(v); err == nil {
		seconds := math.Ceil(time.Until(t).Seconds())
		return int(min(max(seconds, 1), math.MaxInt32))
	}
	return 0
}
