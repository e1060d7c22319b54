package fake

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/fake/internal/answer"
	"github.com/kinform/kinform/fake/internal/refusal"
)

// Exchange is a request with the answer that its sender got, for [Options].Seen.
type Exchange struct {
	Request
	// Time is the time of the answer, by [Options].Now.
	Time time.Time
	// Key is the object's. It has no name for a list, a watch, the deletion of a collection, and a
	// create that was refused before it got its generated name.
	Key types.NamespacedName
	// UserAgent is the header of that name. It is empty for a [Source].
	UserAgent string
	// Code is the HTTP status that was sent or, to a [Source], would have been. Zero means that the
	// sender got none, because the connection broke or its context ended.
	Code int
	// Message is that of a refusal.
	Message string
}

// Writes reports whether the request is not a get, list or watch.
func (x Exchange) Writes() bool {
	return x.Verb != faults.VerbGet && x.Verb != faults.VerbList && x.Verb != faults.VerbWatch
}

// String returns all but the time, such as "update deployments.apps prod/web: 409 Operation cannot
// be fulfilled ... (manager/v1)".
func (x Exchange) String() string {
	var b strings.Builder
	b.WriteString(x.Request.String())
	switch {
	case x.Key.Namespace != "" && x.Key.Name == "":
		b.WriteString(" in " + x.Key.Namespace)
	case x.Key.Namespace != "":
		b.WriteString(" " + x.Key.String())
	case x.Key.Name != "":
		b.WriteString(" " + x.Key.Name)
	}
	if x.Code == 0 {
		b.WriteString(": no answer")
	} else {
		fmt.Fprintf(&b, ": %d", x.Code)
	}
	for _, text := range []string{x.Message, x.UserAgent} {
		if text != "" && text == x.UserAgent {
			text = "(" + text + ")"
		}
		if text != "" {
			b.WriteString(" " + text)
		}
	}
	return b.String()
}

// call is a request of a [Source] that [Options].Seen will get.
type call struct {
	server *Server
	ctx    context.Context
	about  Request
	key    types.NamespacedName
}

// call counts a request. An error is its answer.
func (s *Server) call(ctx context.Context, about Request, key types.NamespacedName) (call, *faults.Fault, error) {
	c := call{server: s, ctx: ctx, about: about, key: key}
	f, err := s.receive(ctx, about, false)
	if err != nil {
		c.answer(err)
	}
	return c, f, err
}

// answer reports the end of the request.
func (c *call) answer(err error) {
	if c.server.seen == nil {
		return
	}
	code, message := http.StatusOK, ""
	switch {
	case err == nil:
	case errors.Is(err, errDropped), c.ctx.Err() != nil:
		code = 0
	default:
		status := refusal.StatusOf(err)
		code, message = int(status.Code), status.Message
	}
	c.server.seen(Exchange{Request: c.about, Time: c.server.now(), Key: c.key, Code: code, Message: message})
}

// watchAnswer has w report the answer of an HTTP request, once.
func (s *Server) watchAnswer(w *answer.Writer, r *http.Request, req *request, about Request) {
	if s.seen == nil {
		return
	}
	req.made = new(types.NamespacedName)
	*req.made = req.key()
	w.Answered = func(code int, message string) {
		if r.Context().Err() != nil {
			code, message = 0, ""
		}
		s.seen(Exchange{Request: about, Time: s.now(), Key: *req.made, UserAgent: r.UserAgent(), Code: code, Message: message})
	}
}
