// Package answer writes the answers of an API server over HTTP.
package answer

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/kinform/kinform/fake/internal/refusal"
	"github.com/kinform/kinform/fake/internal/wire"
)

// ErrNoPath is the plain 404 of a path that belongs to no resource.
var ErrNoPath = errors.New("fake: no such path")

// Writer writes one answer. It gathers small writes, knows whether the answer has begun, and can
// break the connection.
type Writer struct {
	// Cut breaks the connection after that number of bytes of the body; zero means never.
	Cut int
	// Protobuf says that the client reads refusals in protobuf.
	Protobuf bool
	// Gzip compresses the body. What each [Writer.Flush] sends can be read at once.
	Gzip bool
	// Accept are the Accept headers of the request, by which refusals are in YAML.
	Accept []string
	// Answered is called once, before the client gets the code and, of a refusal, the message. The
	// code is zero if the connection breaks before. It may be nil.
	Answered func(code int, message string)

	w     http.ResponseWriter
	buf   *bufio.Writer
	zip   *gzip.Writer // compresses what buf hands on; nil between flushes
	begun bool

	message string // of a refusal

	warned   map[string]bool // the texts of warnings
	warnings int             // their length in the header
}

// New returns a Writer on w. The caller defers [Writer.Rescue] and ends with [Writer.Finish].
func New(w http.ResponseWriter) *Writer { return &Writer{w: w} }

// The API server's own limits for warnings, in runes: one for all warnings of an answer together,
// and one for each warning that does not fit into that.
const (
	maxWarnings    = 4 << 10
	maxLateWarning = 256
)

// Warn adds a warning for the people behind the client, unless the answer has it already or has
// many. It must precede [Writer.Begin].
func (w *Writer) Warn(text string) {
	if w.warned[text] || w.warnings >= maxWarnings {
		return
	}
	if w.warned == nil {
		w.warned = map[string]bool{}
	}
	w.warned[text] = true
	if runes := []rune(text); w.warnings+len(runes) > maxWarnings {
		text = string(runes[:min(len(runes), maxLateWarning)])
	}
	if header, err := utilnet.NewWarningHeader(299, "-", text); err == nil { // else text is no UTF-8
		w.warnings += utf8.RuneCountInString(text)
		w.w.Header().Add("Warning", header)
	}
}

// Begin sends the head of the answer.
func (w *Writer) Begin(code int, contentType string) {
	h := w.w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "no-cache, private")
	if w.Gzip {
		h.Set("Content-Encoding", "gzip")
		h.Add("Vary", "Accept-Encoding")
	}
	w.answered(code, w.message)
	w.w.WriteHeader(code)
	w.begun = true
	w.buf = bufio.NewWriterSize(parts{w}, 8<<10)
}

func (w *Writer) answered(code int, message string) {
	if w.Answered != nil {
		w.Answered(code, message)
	}
}

// zips are free compressors. Each takes a megabyte, which a stream that is quiet does without.
var zips = sync.Pool{New: func() any {
	zip, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	if err != nil {
		panic(err) // the level is one of the package's
	}
	return zip
}}

// parts takes the buffered bytes, and compresses them with Gzip. Like the API server, it makes a
// gzip member of all bytes up to a flush: a client may not read bytes of a member that goes on.
type parts struct{ *Writer }

func (p parts) Write(b []byte) (int, error) {
	if !p.Gzip {
		return body(p).Write(b)
	}
	if p.zip == nil {
		p.zip = zips.Get().(*gzip.Writer)
		p.zip.Reset(body(p))
	}
	return p.zip.Write(b)
}

// body takes the bytes of the body as they are sent.
type body struct{ *Writer }

func (b body) Write(p []byte) (int, error) {
	if b.Cut == 0 || len(p) < b.Cut {
		n, err := b.w.Write(p)
		if b.Cut > 0 {
			b.Cut -= n
		}
		return n, err
	}
	if _, err := b.w.Write(p[:b.Cut]); err != nil {
		return 0, err
	}
	b.abort()
	return 0, nil
}

// Write writes a part of the body, after [Writer.Begin].
func (w *Writer) Write(p []byte) (int, error) { return w.buf.Write(p) }

// Flush sends the bytes written so far to the client.
func (w *Writer) Flush() error {
	if err := w.drain(); err != nil {
		return err
	}
	return http.NewResponseController(w.w).Flush()
}

// drain passes on the bytes written so far.
func (w *Writer) drain() error {
	if err := w.buf.Flush(); err != nil || w.zip == nil {
		return err
	}
	// Without the flush, a client gets the bytes only with the next member.
	err := errors.Join(w.zip.Flush(), w.zip.Close())
	zips.Put(w.zip)
	w.zip = nil
	return err
}

// abort breaks the connection, so that the client sees an unexpected end.
func (w *Writer) abort() {
	// The client must get all bytes so far; if this fails, the connection is broken already.
	_ = http.NewResponseController(w.w).Flush()
	panic(http.ErrAbortHandler)
}

// BreakOff sends the bytes written so far and breaks the connection.
func (w *Writer) BreakOff() {
	_ = w.drain() // as in abort
	w.abort()
}

// Finish ends an answer in order. A client that has gone cannot be told.
func (w *Writer) Finish() {
	if w.buf != nil {
		_ = w.drain()
	}
}

// Bytes answers with a whole body. For the content type of YAML it makes YAML of the JSON b.
func (w *Writer) Bytes(code int, contentType string, b []byte) (err error) {
	if contentType == wire.YAML {
		if b, err = wire.JSONToYAML(b); err != nil {
			return err
		}
	}
	w.Begin(code, contentType)
	_, err = w.Write(b)
	return err
}

// JSON answers with the JSON of v.
func (w *Writer) JSON(code int, contentType string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return w.Bytes(code, contentType, b)
}

// Status answers with a Status, in the encoding that was agreed on.
func (w *Writer) Status(code int, st metav1.Status) error {
	b, err := wire.Status(st, w.Protobuf)
	if err != nil {
		return err
	}
	media := wire.Media{Protobuf: w.Protobuf, YAML: !w.Protobuf && wire.PrefersYAML(w.Accept)}
	return w.Bytes(code, media.ContentType(), b)
}

// Fail answers with a refusal. If the answer has begun, or err is [http.ErrAbortHandler], it
// breaks the connection instead.
func (w *Writer) Fail(err error) {
	switch {
	case w.begun:
		w.BreakOff()
	case errors.Is(err, http.ErrAbortHandler):
		w.answered(0, "")
		panic(http.ErrAbortHandler)
	case errors.Is(err, ErrNoPath):
		_ = w.Bytes(http.StatusNotFound, "text/plain; charset=utf-8", []byte("404 page not found\n"))
		return
	}
	status := refusal.StatusOf(err)
	w.message = status.Message
	if d := status.Details; d != nil && d.RetryAfterSeconds > 0 {
		w.w.Header().Set("Retry-After", strconv.Itoa(int(d.RetryAfterSeconds)))
	}
	_ = w.Status(int(status.Code), status) // a client that has gone cannot be told
}

// Rescue answers for a panic of user code, for example of an object's methods. It must be
// deferred.
func (w *Writer) Rescue() {
	v := recover()
	if v == nil {
		return
	}
	if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) || w.begun {
		panic(http.ErrAbortHandler)
	}
	w.Fail(refusal.Panic(v))
	w.Finish()
}
