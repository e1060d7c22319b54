package fake

import (
	"context"
	"errors"
	"net/http"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/fake/internal/answer"
	"github.com/kinform/kinform/fake/internal/refusal"
)

// sourceRequest is a request of a [Source] that [Options].Seen will get.
type sourceRequest struct {
	server *Server
	ctx    context.Context
	about  Request
	key    types.NamespacedName
}

// receiveSource counts a request of a [Source]. An error is its answer.
func (s *Server) receiveSource(ctx context.Context, about Request, key types.NamespacedName) (sourceRequest, *faults.Fault, error) {
	c := sourceRequest{server: s, ctx: ctx, about: about, key: key}
	f, err := s.receive(ctx, about, false)
	if err != nil {
		c.answer(err)
	}
	return c, f, err
}

// answer reports the end of the request.
func (c *sourceRequest) answer(err error) {
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
func (s *Server) watchAnswer(w *answer.Writer, r *http.Request, req *parsedRequest, about Request) {
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
