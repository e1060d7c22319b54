package client

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/internal/decode"
)

// statusLimit limits the part of a refusal's body that is read. A Status with one cause for
// each field of a large object has some 100 KB.
const statusLimit = 1 << 20

// jsonStatus decodes a metav1.Status from JSON; ok is false if raw is not a Status.
func jsonStatus(c *objectCodec, raw []byte) (st metav1.Status, ok bool) {
	h := c.json().Header(raw)
	if !mayBeStatus(h.APIVersion, h.Kind) {
		return st, false
	}
	// A field that does not fit is no reason to drop the others.
	_ = c.json().UnmarshalExact(raw, &st)
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
	_ = c.json().UnmarshalExact([]byte(`{"kind":"Status","apiVersion":"v1"`+m.text.String()+"}"), &st)
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
