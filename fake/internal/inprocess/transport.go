// Package inprocess is an HTTP client whose requests a handler of the same process answers,
// without sockets.
package inprocess

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// Transport answers requests by calling Handler, each in its own goroutine. The goroutine has ended
// when RoundTrip returns an error, or when the response's Body was read to its end or closed. A
// Transport has no connections, so nothing needs to be closed.
type Transport struct{ Handler http.Handler }

// RoundTrip implements [http.RoundTripper]. The response streams: it begins with the handler's
// first flush and continues at the reader's pace. A panic of the handler breaks the
// connection, as it does in net/http. Errors: the cause of the request's context, and
// [io.ErrUnexpectedEOF] for a connection that broke before the response began.
func (t Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	in := r.Clone(ctx)
	if in.Body == nil {
		in.Body = http.NoBody
	}
	in.RequestURI, in.RemoteAddr = r.URL.RequestURI(), "192.0.2.1:1"
	if in.Host == "" {
		in.Host = r.URL.Host
	}
	if _, ok := in.Header["User-Agent"]; !ok { // net/http sends one, too
		in.Header.Set("User-Agent", "Go-http-client/1.1")
	}
	pr, pw := io.Pipe()
	w := &memoryResponse{header: http.Header{}, pipe: pw, ready: make(chan struct{}), done: make(chan struct{})}
	go w.run(t.Handler, in)
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

// memoryResponse collects a response until the handler flushes or returns. From the first flush
// on, flushed bytes go through the pipe at the client's pace.
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

// Flush implements http.Flusher. It waits until the client has read the bytes or the request
// has ended.
func (w *memoryResponse) Flush() {
	w.WriteHeader(http.StatusOK)
	w.once.Do(func() { close(w.ready) })
	if w.buf.Len() > 0 {
		// The request's context tells the handler when the client is gone.
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
				err = fmt.Errorf("%w: panic: %v", io.ErrUnexpectedEOF, v)
			}
		}
	}()
	defer r.Body.Close()
	handler.ServeHTTP(w, r)
	return nil
}

// memoryBody is the client's end of a response.
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

var errBodyClosed = errors.New("response body closed")
