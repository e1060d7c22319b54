package client

import (
	"bytes"
	"cmp"
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

	"github.com/kinform/kinform/internal/decode"
)

// statusLimit limits the part of a refusal's body that is read. A Status with one cause for
// each field of a large object has some 100 KB.
const statusLimit = 1 << 20

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

// status decodes a metav1.Status from JSON; ok is false if raw is not a Status.
func status(c *objectCodec, raw []byte) (st metav1.Status, ok bool) {
	h := c.json.Header(raw)
	if !mayBeStatus(h.APIVersion, h.Kind) {
		return st, false
	}
	// A field that does not fit is no reason to drop the others.
	_ = c.json.UnmarshalExact(raw, &st)
	if h.Kind == "" && !reportsFailure(st) {
		return metav1.Status{}, false
	}
	return st, true
}

// mayBeStatus reports whether an object can be a Status. Kubernetes sends it as v1. Other servers
// use the group of the Go package, or leave out the kind.
func mayBeStatus(apiVersion, kind string) bool {
	return (kind == statusKind || kind == "") && (apiVersion == "" || apiVersion == "v1" || isMeta(apiVersion))
}

// reportsFailure reports whether an object without a kind can only be the Status of a failure.
func reportsFailure(st metav1.Status) bool {
	return st.Status == metav1.StatusFailure || st.Code >= 300 && st.Code <= 599
}

// statusMembers collects the members of a Status in a body that should be something else.
type statusMembers struct{ text bytes.Buffer }

// keep reads the value of a member, and skips one that only other objects have.
func (m *statusMembers) keep(in *decode.Reader, name string) error {
	switch name {
	case "status", "message", "reason", "details", "code":
	default:
		return in.Skip()
	}
	raw, err := in.Value()
	if err == nil && m.text.Len()+len(raw) < statusLimit {
		fmt.Fprintf(&m.text, `,%q:%s`, name, raw)
	}
	return err
}

// refusalIn returns the error for a body that is the Status of a failure, and nil for another one.
func refusalIn(c *objectCodec, apiVersion, kind string, m *statusMembers) error {
	if !mayBeStatus(apiVersion, kind) {
		return nil
	}
	var st metav1.Status
	_ = c.json.UnmarshalExact([]byte(`{"kind":"Status","apiVersion":"v1"`+m.text.String()+"}"), &st)
	if st.Status == metav1.StatusSuccess || kind == "" && !reportsFailure(st) {
		return nil
	}
	return failed(st)
}

// failed returns the error for a Status of a failure. It adds a message to a Status without one,
// because the error shows nothing else.
func failed(st metav1.Status) error {
	if st.Message == "" {
		what := strings.Fields(cmp.Or(st.Status, metav1.StatusFailure) + " " + string(st.Reason))
		st.Message = fmt.Sprintf("%s without a message (code %d)", strings.Join(what, " "), st.Code)
	}
	return &apierrors.StatusError{ErrStatus: st}
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
