package demo

import (
	"context"
	"io"
	"net/http"
	"path"
	"time"
)

// SlowList returns a transport that delivers the first list, of about the given number of
// pods, within some seconds, so that people can watch it. It does not delay anything else.
func SlowList(next http.RoundTripper, pods int) http.RoundTripper {
	return slowList{next, max(512, pods)}
}

type slowList struct {
	next  http.RoundTripper
	chunk int // number of bytes in one piece
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

// slowChunks is the number of delayed chunks. It is limited because a stream continues
// after its list.
const slowChunks = 300

type slowBody struct {
	io.ReadCloser
	ctx   context.Context
	chunk int
	left  int // bytes of the present chunk
	slow  int // chunks left to delay
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
