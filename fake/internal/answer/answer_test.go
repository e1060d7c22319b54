package answer_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kinform/kinform/fake/internal/answer"
)

// write runs f on a Writer as a server does, and reports whether the connection broke.
func write(f func(*answer.Writer)) (r *httptest.ResponseRecorder, broke bool) {
	r = httptest.NewRecorder()
	defer func() {
		if v := recover(); v != nil {
			broke = v == http.ErrAbortHandler
		}
	}()
	w := answer.New(r)
	defer w.Rescue()
	f(w)
	w.Finish()
	return r, false
}

func TestAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		write func(*answer.Writer)
		code  int
		body  string
		broke bool
	}{
		"bytes":   {func(w *answer.Writer) { _ = w.Bytes(201, "text/plain", []byte("abc")) }, 201, "abc", false},
		"json":    {func(w *answer.Writer) { _ = w.JSON(200, "application/json", []int{1}) }, 200, "[1]", false},
		"no path": {func(w *answer.Writer) { w.Fail(fmt.Errorf("x: %w", answer.ErrNoPath)) }, 404, "404 page not found\n", false},
		"refusal": {func(w *answer.Writer) { w.Fail(apierrors.NewBadRequest("no")) }, 400, `"message":"no"`, false},
		"error":   {func(w *answer.Writer) { w.Fail(errors.New("no")) }, 500, `"reason":"InternalError"`, false},
		"panic":   {func(*answer.Writer) { panic("boom") }, 500, "panic: boom", false},
		"dropped": {func(w *answer.Writer) { w.Fail(http.ErrAbortHandler) }, 200, "", true},
		"cut":     {func(w *answer.Writer) { w.Cut = 2; _ = w.Bytes(200, "text/plain", []byte("abc")) }, 200, "ab", true},
		"not cut": {func(w *answer.Writer) { w.Cut = 4; _ = w.Bytes(200, "text/plain", []byte("abc")) }, 200, "abc", false},
		"refused late": {func(w *answer.Writer) {
			_ = w.Bytes(200, "text/plain", []byte("abc"))
			w.Fail(errors.New("no"))
		}, 200, "abc", true},
		"panic late": {func(w *answer.Writer) {
			_ = w.Bytes(200, "text/plain", []byte("abc"))
			panic("boom")
		}, 200, "", true},
	} {
		r, broke := write(c.write)
		if r.Code != c.code || !strings.Contains(r.Body.String(), c.body) || broke != c.broke {
			t.Errorf("%s: %d %q, broken %t", name, r.Code, r.Body, broke)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	r, _ := write(func(w *answer.Writer) { w.Protobuf = true; w.Fail(apierrors.NewTooManyRequests("wait", 7)) })
	if r.Header().Get("Retry-After") != "7" || r.Header().Get("Content-Type") != "application/vnd.kubernetes.protobuf" {
		t.Errorf("header %v", r.Header())
	}
}
