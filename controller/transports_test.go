package controller_test

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// refusing is a transport that answers reads of some paths with an error.
type refusing struct {
	next   http.RoundTripper
	suffix string // of the paths
	code   int
}

func (r refusing) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodGet && strings.HasSuffix(req.URL.Path, r.suffix) {
		return &http.Response{StatusCode: r.code, Header: http.Header{}, Body: http.NoBody, Request: req}, nil
	}
	return r.next.RoundTrip(req)
}

// hooks is a transport with two functions, which may be nil and may change at any time.
type hooks struct {
	next http.RoundTripper

	mu     sync.Mutex
	refuse func(*http.Request) bool // with 503
	after  func(*http.Request)      // before the answer arrives
}

func (h *hooks) set(refuse func(*http.Request) bool, after func(*http.Request)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.refuse, h.after = refuse, after
}

func (h *hooks) RoundTrip(r *http.Request) (*http.Response, error) {
	h.mu.Lock()
	refuse, after := h.refuse, h.after
	h.mu.Unlock()
	if refuse != nil && refuse(r) {
		return &http.Response{StatusCode: http.StatusServiceUnavailable, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
	}
	resp, err := h.next.RoundTrip(r)
	if after != nil {
		after(r)
	}
	return resp, err
}

// slowWatches is a transport whose watches begin late and that loses the answer to the first POST.
type slowWatches struct {
	next http.RoundTripper
	lost *bool
}

func (s slowWatches) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Query().Has("watch") {
		select {
		case <-time.After(8 * time.Second):
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	resp, err := s.next.RoundTrip(r)
	if r.Method == http.MethodPost && !*s.lost {
		*s.lost = true
		return nil, errors.New("connection reset")
	}
	return resp, err
}

// twice is a transport that answers a PATCH with 504 after it was carried out, and the next ones
// with code.
type twice struct {
	next  http.RoundTripper
	code  int
	tries atomic.Int32
}

func (w *twice) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := &http.Response{StatusCode: w.code, Header: http.Header{}, Body: http.NoBody, Request: r}
	switch {
	case r.Method != http.MethodPatch:
		return w.next.RoundTrip(r)
	case w.tries.Add(1) == 1:
		resp, err := w.next.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		answer.StatusCode = http.StatusGatewayTimeout
		answer.Header.Set("Retry-After", "1")
		return answer, resp.Body.Close()
	}
	return answer, nil
}

// late is a transport that holds up the first list of children in the namespace b.
type late struct {
	next http.RoundTripper
	by   time.Duration
}

func (l late) RoundTrip(r *http.Request) (*http.Response, error) {
	if q := r.URL.Query(); strings.HasSuffix(r.URL.Path, "/namespaces/b/gadgets") && q.Has("labelSelector") && !q.Has("watch") {
		time.Sleep(l.by)
	}
	return l.next.RoundTrip(r)
}

// mute is the way of an outage in which the server accepts requests and never answers.
const mute = 1

// outages is a transport in which one part of the requests fails at times.
type outages struct {
	next http.RoundTripper
	hits func(*http.Request) bool
	how  atomic.Int32 // mute, the code of the answer, or 0 for none
}

func (o *outages) RoundTrip(r *http.Request) (*http.Response, error) {
	switch how := o.how.Load(); {
	case how == 0 || !o.hits(r):
		return o.next.RoundTrip(r)
	case how == mute:
		<-r.Context().Done()
		return nil, r.Context().Err()
	default:
		return &http.Response{StatusCode: int(how), Header: http.Header{}, Body: http.NoBody, Request: r}, nil
	}
}
