package client

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"

	"github.com/kinform/kinform/internal/pause"
	"github.com/kinform/kinform/reflector"
)

// sendCall sends the call and returns an answer of status 2xx, whose body the caller closes. Any
// other status is an *apierrors.StatusError. Errors are complete: they name verb and resource.
func sendCall(ctx context.Context, r *resource, c call) (*answer, error) {
	unclear := false // whether the server may have carried out an earlier try
	for tries := 1; ; tries++ {
		a, err := sendOnce(ctx, r, c)
		if err == nil {
			return a, nil
		}
		if unclear {
			err = remark{err, ErrUnclear}
		}
		unclear = unclear || c.mayBeDone(err)
		wait, again := r.server.again(c, tries, err)
		if !again || !worthwhile(ctx, wait) {
			return nil, callError(r, c, counted(tries, err))
		}
		if interrupted := pause.For(ctx, wait); interrupted != nil {
			return nil, callError(r, c, fmt.Errorf("%w, while waiting to try again after: %w", interrupted, counted(tries, err)))
		}
	}
}

// sendOnce sends one request.
func sendOnce(ctx context.Context, r *resource, c call) (*answer, error) {
	ctx, err := r.server.limit(ctx)
	if err != nil {
		return nil, err
	}
	attempt := reflector.AttemptOf(ctx)
	if attempt.Send() {
		r.server.refresh()
	}
	a := &answer{ctx: ctx, guard: newGuard(ctx, c)}
	req, err := http.NewRequestWithContext(traced(a.guard.ctx, attempt), c.method, "", bodyReader(c.body))
	if err != nil {
		a.guard.release()
		return nil, err
	}
	req.URL = address(r, &c)
	req.Host, req.Header = req.URL.Host, headers(r, &c)
	a.guard.begin()
	resp, err := r.server.do(req)
	a.guard.end(stallWhole)
	if err != nil {
		a.guard.release()
		return nil, withContext(ctx, a.guard.explain(privateError(err, req.URL)))
	}
	attempt.Answered()
	a.header, a.body, a.size = resp.Header, unzip(resp, r.server.spare), resp.ContentLength
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		defer a.close()
		return nil, refusal(r, c, resp.StatusCode, a)
	}
	if resp.StatusCode == http.StatusPartialContent && c.method == http.MethodGet {
		a.abandon()
		return nil, fmt.Errorf("%w: a part of one (206), which nobody asked for", errNotKubernetes)
	}
	attempt.Accepted()
	return a, nil
}

// headers returns the headers of a call. Their values share one array.
func headers(r *resource, c *call) http.Header {
	values := [...]string{c.accept, r.server.userAgent, c.encoding, c.contentType}
	h := make(http.Header, len(values))
	for i, name := range [...]string{"Accept", "User-Agent", "Accept-Encoding", "Content-Type"} {
		if values[i] != "" {
			h[name] = values[i : i+1 : i+1]
		}
	}
	return h
}

// traced returns a context that records an attempt's connection.
func traced(ctx context.Context, attempt *reflector.Attempt) context.Context {
	if attempt == nil {
		return ctx
	}
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) { attempt.Connected(info.Conn) },
	})
}

func bodyReader(body []byte) io.Reader {
	if body == nil {
		return nil // http.NoBody; a *bytes.Reader of nil would send Content-Length: 0
	}
	return bytes.NewReader(body)
}
