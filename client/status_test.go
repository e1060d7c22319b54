package client_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/client"
)

// A Status without a message, or with a code that is none of a refusal, still says what happened.
func TestOddStatus(t *testing.T) {
	for _, c := range []struct {
		code       int
		body, want string
		wantCode   int32
	}{
		{http.StatusForbidden, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":-5}`, "Failure without a message (code 403)", 403},
		{http.StatusForbidden, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":200}`, "Failure without a message (code 403)", 403},
		{http.StatusForbidden, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Gone","code":410}`, "Failure Gone without a message (code 410)", 410},
		{http.StatusForbidden, `{"kind":"Status","apiVersion":"v1","code":1000}`, "Failure without a message (code 403)", 403},
		{http.StatusOK, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":500}`, "Failure without a message (code 500)", 500},
		{http.StatusOK, `{"kind":"Status","apiVersion":"meta.k8s.io/v1","status":"Failure","code":410}`, "Failure without a message (code 410)", 410},
		{http.StatusOK, `{"apiVersion":"meta.k8s.io/v1","kind":"Status","status":"Failure","code":410}`, "Failure without a message (code 410)", 410},
		{http.StatusOK, `{"status":"Failure","code":410}`, "Failure without a message (code 410)", 410},
		{http.StatusForbidden, `{"status":"Failure","message":"too old","code":410}`, "too old", 410},
		{http.StatusForbidden, `{"kind":"Status","apiVersion":"meta.k8s.io/v1","status":"Failure","code":410}`, "Failure without a message (code 410)", 410},
	} {
		r := newResource[*widget](t, client.Connection{URL: "http://server.invalid", HTTP: &http.Client{Transport: &answering{code: c.code, body: c.body}}}, client.Options{})
		err := list(t.Context(), r, metav1.ListOptions{}).err
		var status apierrors.APIStatus
		if !errors.As(err, &status) || status.Status().Code != c.wantCode || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d %s: %v, want %q", c.code, c.body, err, c.want)
		}
	}
}
