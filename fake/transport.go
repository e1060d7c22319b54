package fake

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// URL is a base address for [Server.Client]. Any other does as well: nothing is looked up.
const URL = "http://fake.invalid"

// Client returns an HTTP client whose requests are answered by s in process, without
// sockets, watches included. It is deterministic under testing/synctest, and has no idle
// connections to close.
func (s *Server) Client() *http.Client { return &http.Client{Transport: transport{s}} }

// transport calls a handler in a goroutine of its own. The goroutine has ended when
// RoundTrip returned an error, or the response's Body was read to its end or closed.
type transport struct{ handler http.Handler }

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	in := r.Clone(ctx)
	if in.Body == nil {
		in.Body = http.NoBody
	}
	in.RequestURI, in.RemoteAddr = r.URL.RequestURI(), "192.0.2.1:1"
	if in.Host == "" {
		in.Host = r.URL.Host
	}
	pr, pw := io.Pipe()
	w := &memoryResponse{header: http.Header{}, pipe: pw, ready: make(chan struct{}), done: make(chan struct{})}
	go w.run(t.handler, in)
	select {
	case <-w.ready:
	case <-ctx.Done():
		// The handler may be reading or writing.
		_ = in.Body.Close()
		_ = pr.CloseWithError(context.Cause(ctx))
		<-w.done
		cancel(nil)
		return nil, context.Cause(r.Context())
	}
	if w.err != nil {
		<-w.done
		cancel(nil)
		return nil, w.err
	}
	return &http.Response{
		Status:     fmt.Sprintf("%d %s", w.code, http.StatusText(w.code)),
		StatusCode: w.code,
		Proto:      "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:        w.sent,
		ContentLength: -1,
		Request:       r,
		Body:          &memoryBody{r: pr, cancel: cancel, done: w.done, whole: w.whole},
	}, nil
}

// memoryResponse gathers an answer until the handler flushes or ends. From the first
// flush on, what is flushed goes through the pipe, at the client's pace.
type memoryResponse struct {
	header http.Header
	pipe   *io.PipeWriter
	buf    bytes.Buffer // written, not flushed

	// Set by the handler's goroutine before it closes ready, read by RoundTrip after.
	ready chan struct{}
	once  sync.Once
	code  int
	sent  http.Header
	whole []byte // the body of an answer that ended without a flush
	err   error  // the connection broke before anything was sent

	done chan struct{} // closed when the handler's goroutine ends
}

var _ http.Flusher = (*memoryResponse)(nil)

func (w *memoryResponse) Header() http.Header { return w.header }

func (w *memoryResponse) WriteHeader(code int) {
	if w.code == 0 {
		w.code, w.sent = code, w.header.Clone()
	}
}

func (w *memoryResponse) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.buf.Write(b)
}

// Flush implements http.Flusher. Without a reader it waits; the end of the request ends
// the wait.
func (w *memoryResponse) Flush() {
	w.WriteHeader(http.StatusOK)
	w.once.Do(func() { close(w.ready) })
	if w.buf.Len() > 0 {
		// A client that has gone is noticed by the request's context.
		_, _ = w.pipe.Write(w.buf.Bytes())
		w.buf.Reset()
	}
}

// run is the handler's goroutine.
func (w *memoryResponse) run(handler http.Handler, r *http.Request) {
	defer close(w.done)
	err := w.call(handler, r)
	w.once.Do(func() {
		if err != nil {
			w.err = err
		} else {
			w.WriteHeader(http.StatusOK)
			w.whole = bytes.Clone(w.buf.Bytes())
			w.buf.Reset()
		}
		close(w.ready)
	})
	if err == nil && w.buf.Len() > 0 {
		_, _ = w.pipe.Write(w.buf.Bytes()) // as in Flush
	}
	if ended := context.Cause(r.Context()); err == nil && ended != nil {
		err = ended
	}
	w.pipe.CloseWithError(err) // nil means io.EOF
}

// call runs the handler. A panic breaks the connection, as it does in net/http.
func (w *memoryResponse) call(handler http.Handler, r *http.Request) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = io.ErrUnexpectedEOF
			if e, ok := v.(error); !ok || !errors.Is(e, http.ErrAbortHandler) {
				err = fmt.Errorf("%w: %w", io.ErrUnexpectedEOF, errPanic{v})
			}
		}
	}()
	defer r.Body.Close()
	handler.ServeHTTP(w, r)
	return nil
}

// memoryBody is the client's end of an answer.
type memoryBody struct {
	whole  []byte
	r      *io.PipeReader
	cancel context.CancelCauseFunc
	done   chan struct{}
}

func (b *memoryBody) Read(p []byte) (int, error) {
	if len(b.whole) > 0 {
		n := copy(p, b.whole)
		b.whole = b.whole[n:]
		return n, nil
	}
	return b.r.Read(p)
}

// Close ends the request and waits for its handler.
func (b *memoryBody) Close() error {
	b.cancel(errBodyClosed)
	err := b.r.Close()
	<-b.done
	return err
}

var errBodyClosed = errors.New("fake: response body closed")
