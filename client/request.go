package client

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/internal/pause"
	"github.com/kinform/kinform/reflector"
)

const (
	jsonType = "application/json"
	// excerptLimit is the number of bytes of an answer that an error shows.
	excerptLimit = 160
)

// call is one request, of any kind.
type call struct {
	verb        string // Kubernetes' name for the verb, for errors
	method      string
	key         types.NamespacedName // without a name: the collection
	creates     string               // the name of an object that key does not have yet
	subresource []string
	query       url.Values
	accept      string
	encoding    string // Accept-Encoding; empty: the transport decides
	contentType string
	body        []byte
	retry       bool // by send; otherwise the caller has its own retries
}

// fail adds the call to an error.
func fail(r *resource, c call, err error) error {
	subject := r.name
	if len(c.subresource) > 0 {
		subject = r.gvr.GroupResource().String() + "/" + strings.Join(c.subresource, "/")
	}
	id := identity{namespace: c.key.Namespace, name: c.key.Name + c.creates}
	if id.name != "" {
		subject = fmt.Sprintf("%s %q", subject, id.key())
	}
	return fmt.Errorf("%s %s: %w", c.verb, subject, err)
}

// refuse is fail for a call that is not sent because of err.
func refuse(r *resource, c call, err error) error {
	return fail(r, c, remark{err, ErrNotSent})
}

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
			return nil, fail(r, c, counted(tries, err))
		}
		if interrupted := pause.For(ctx, wait); interrupted != nil {
			return nil, fail(r, c, fmt.Errorf("%w, while waiting to try again after: %w", interrupted, counted(tries, err)))
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
	req, err := http.NewRequestWithContext(traced(a.guard.ctx, attempt), c.method, r.server.url(r.gvr, c.key, c.subresource, c.query), bodyReader(c.body))
	if err != nil {
		a.guard.release()
		return nil, err
	}
	req.Header.Set("Accept", c.accept)
	req.Header.Set("User-Agent", r.server.userAgent)
	if c.encoding != "" {
		req.Header.Set("Accept-Encoding", c.encoding)
	}
	if c.contentType != "" {
		req.Header.Set("Content-Type", c.contentType)
	}
	a.guard.begin()
	resp, err := r.server.http.Do(req)
	a.guard.end(stallWhole)
	if err != nil {
		a.guard.release()
		return nil, withContext(ctx, a.guard.explain(privateError(err, req.URL)))
	}
	attempt.Answered()
	a.header, a.body = resp.Header, unzip(resp)
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		defer a.close()
		return nil, refusal(r, c, resp.StatusCode, a)
	}
	if resp.StatusCode == http.StatusPartialContent && c.method == http.MethodGet {
		a.abandon()
		return nil, fmt.Errorf("%w: a part of one (206), which nobody asked for", ErrNotKubernetes)
	}
	attempt.Accepted()
	return a, nil
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

// answer is the body of a response, read by one goroutine. It keeps the beginning of the body
// for errors.
type answer struct {
	ctx    context.Context
	guard  guard
	header http.Header
	body   io.ReadCloser
	start  [excerptLimit]byte
	read   int64
	ended  bool
}

// Read implements io.Reader. An error of a done context matches the context's error.
func (a *answer) Read(p []byte) (int, error) {
	if err := a.ctx.Err(); err != nil {
		return 0, err // not every transport watches the context while a body is read
	}
	a.guard.begin()
	n, err := a.body.Read(p)
	a.guard.end(n)
	if a.read < int64(len(a.start)) {
		copy(a.start[a.read:], p[:n])
	}
	a.read += int64(n)
	if err != nil && err != io.EOF {
		err = withContext(a.ctx, a.guard.explain(err))
	}
	a.ended = err != nil
	return n, err
}

// close gives the connection back if little is left to read. It does not drain a watch, whose
// body ends when the server decides.
func (a *answer) close() {
	if !a.ended {
		_, _ = io.CopyN(io.Discard, a, drainLimit)
	}
	a.abandon()
}

// abandon closes the body without waiting for the rest of it.
func (a *answer) abandon() {
	_ = a.body.Close()
	a.guard.release()
}

// excerpt describes the body and shows its beginning if it is text. It does not show
// binary bodies: they are unreadable, and may begin with the data of a Secret.
func (a *answer) excerpt() string {
	contentType := a.header.Get("Content-Type")
	if contentType == "" {
		contentType = "no content type"
	}
	if a.read == 0 {
		return contentType + ", empty body"
	}
	return contentType + ", " + beginning(a.start[:min(a.read, int64(len(a.start)))], a.read)
}

// beginning describes a body, or a part of one, of n bytes by those at its beginning. It does not
// show the data of a Secret, which some servers send before the kind.
func beginning(begin []byte, n int64) string {
	if bytes.ContainsFunc(begin, binary) {
		return "binary"
	}
	for _, field := range []string{`"data"`, `"stringData"`, `\"data\"`, `\"stringData\"`} { // the latter two in an annotation
		begin, _, _ = bytes.Cut(begin, []byte(field))
	}
	dots := ""
	if n > int64(len(begin)) {
		dots = "..."
	}
	return fmt.Sprintf("beginning with %q%s", begin, dots)
}

// binary reports whether c cannot occur in text.
func binary(c rune) bool {
	return c < ' ' && c != '\n' && c != '\r' && c != '\t' || c == utf8.RuneError
}
