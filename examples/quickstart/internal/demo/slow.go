package demo

import (
	"context"
	"io"
	"net/http"
	"path"
	"time"
)

// SlowList returns a transport that delivers a first list of about the given number of
// pods slowly enough to be watched, in some seconds, and everything else as it comes.
func SlowList(next http.RoundTripper, pods int) http.RoundTripper {
	return slowList{next, max(512, pods)}
}

type slowList struct {
	next  http.RoundTripper
	chunk int // bytes that come at once
}

func (t slowList) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(r)
	query := r.URL.Query()
	// A reflector's first list asks for resourceVersion 0, or streams from none.
	first := query.Get("watch") == "" && query.Get("resourceVersion") == "0" ||
		query.Get("sendInitialEvents") != "" && query.Get("resourceVersion") == ""
	if err != nil || path.Base(r.URL.Path) != "pods" || !first {
		return resp, err
	}
	resp.Body = &slowBody{ReadCloser: resp.Body, ctx: r.Context(), chunk: t.chunk, slow: slowChunks}
	return resp, nil
}

// slowChunks is how many chunks come slowly: a stream goes on after its list.
const slowChunks = 300

type slowBody struct {
	io.ReadCloser
	ctx   context.Context
	chunk int
	left  int // of the chunk that has come
	slow  int // chunks that are still to come slowly
}

func (b *slowBody) Read(p []byte) (int, error) {
	if b.slow == 0 {
		return b.ReadCloser.Read(p)
	}
	if b.left == 0 {
		select {
		case <-b.ctx.Done():
			return 0, b.ctx.Err()
		case <-time.After(10 * time.Millisecond):
			b.left = b.chunk
			b.slow--
		}
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
