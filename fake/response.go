package fake

import (
	"bufio"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/fake/internal/refusal"
	"github.com/kinform/kinform/fake/internal/wire"
)

// response is an http.ResponseWriter that remembers whether the answer has begun, gathers
// small writes, and breaks the connection after cut bytes of body (-1: never).
type response struct {
	w     http.ResponseWriter
	buf   *bufio.Writer
	begun bool
	cut   int
	// protobuf says that the client reads refusals in protobuf.
	protobuf bool
}

func (w *response) begin(code int, contentType string) {
	h := w.w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "no-cache, private")
	w.w.WriteHeader(code)
	w.begun = true
	w.buf = bufio.NewWriterSize(rawBody{w}, 8<<10)
}

// rawBody is where the buffered body goes.
type rawBody struct{ r *response }

func (b rawBody) Write(p []byte) (int, error) {
	w := b.r
	if w.cut < 0 || len(p) < w.cut {
		n, err := w.w.Write(p)
		if w.cut >= 0 {
			w.cut -= n
		}
		return n, err
	}
	if w.cut > 0 {
		if _, err := w.w.Write(p[:w.cut]); err != nil {
			return 0, err
		}
	}
	w.abort()
	return 0, nil
}

// flush sends what was written so far to the client.
func (w *response) flush() error {
	if err := w.buf.Flush(); err != nil {
		return err
	}
	return http.NewResponseController(w.w).Flush()
}

// abort breaks the connection, so that the client sees an unexpected end.
func (w *response) abort() {
	// What was written must arrive; if that fails the connection is broken already.
	_ = http.NewResponseController(w.w).Flush()
	panic(http.ErrAbortHandler)
}

// breakOff sends what was written and breaks the connection.
func (w *response) breakOff() {
	_ = w.buf.Flush() // as in abort
	w.abort()
}

// finish ends an answer in order. A client that has gone cannot be told.
func (w *response) finish() {
	if w.buf != nil {
		_ = w.buf.Flush()
	}
}

// json answers with the JSON of v. contentType may say more about it than that it is JSON.
func (w *response) json(code int, contentType string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return w.bytes(code, contentType, b)
}

// status answers with a Status, in the encoding that was agreed on.
func (w *response) status(code int, st metav1.Status) error {
	if !w.protobuf {
		return w.json(code, wire.JSON, st)
	}
	b, err := wire.Envelope(statusKind, st.Marshal)
	if err != nil {
		return err
	}
	return w.bytes(code, wire.Protobuf, b)
}

func (w *response) bytes(code int, contentType string, b []byte) error {
	w.begin(code, contentType)
	_, err := w.buf.Write(b)
	return err
}

func (w *response) text(code int, text string) error {
	return w.bytes(code, "text/plain; charset=utf-8", []byte(text))
}

// fail answers with a refusal, or, when the answer has begun, breaks it off.
func (w *response) fail(err error) {
	if w.begun {
		w.breakOff()
	}
	if errors.Is(err, errDropped) { // no answer at all
		panic(http.ErrAbortHandler)
	}
	if errors.Is(err, errNoPath) {
		_ = w.text(http.StatusNotFound, "404 page not found\n")
		return
	}
	status := refusal.StatusOf(err)
	if d := status.Details; d != nil && d.RetryAfterSeconds > 0 {
		w.w.Header().Set("Retry-After", strconv.Itoa(int(d.RetryAfterSeconds)))
	}
	_ = w.status(int(status.Code), status) // a client that has gone cannot be told
}

// rescue answers for a panic of user code: in an object's methods, say.
func (w *response) rescue() {
	v := recover()
	if v == nil {
		return
	}
	if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) || w.begun {
		panic(http.ErrAbortHandler)
	}
	w.fail(errPanic{v})
	w.finish()
}
