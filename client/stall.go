package client

import (
	"context"
	"errors"
	"time"
)

const (
	// stallLimit is how long a call waits for the header of its answer, and for each
	// stallBytes of the body. A connection that is dead is noticed sooner; this is for a
	// server, or a proxy, that lives and says nothing, or a byte now and then.
	stallLimit = 3 * time.Minute
	stallBytes = 1 << 10
)

// guard ends a call that waits for too long. It is used by one goroutine.
type guard struct {
	ctx    context.Context // of the request
	cancel context.CancelCauseFunc
	timer  *time.Timer // runs while something is waited for; nil in a watch

	since time.Time     // when the present wait began
	left  time.Duration // for it and those that follow, until enough has come
	got   int           // bytes since left was whole
}

func newGuard(ctx context.Context, c call) guard {
	if c.verb == "watch" {
		return guard{ctx: ctx}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(stallLimit, func() { cancel(ErrStalled) })
	timer.Stop()
	return guard{ctx: ctx, cancel: cancel, timer: timer, left: stallLimit}
}

// begin and end enclose a wait, which n bytes came of.
func (g *guard) begin() {
	if g.timer != nil {
		g.since = time.Now()
		g.timer.Reset(g.left)
	}
}

func (g *guard) end(n int) {
	if g.timer == nil {
		return
	}
	g.timer.Stop()
	g.left -= time.Since(g.since)
	if g.got += n; g.got >= stallBytes {
		g.got, g.left = 0, stallLimit
	}
}

// explain puts the guard's reason in the place of the transport's, which is that the
// context was cancelled: but not the caller's.
func (g *guard) explain(err error) error {
	if errors.Is(context.Cause(g.ctx), ErrStalled) {
		return ErrStalled
	}
	return err
}

// release frees the guard after the call.
func (g *guard) release() {
	if g.timer != nil {
		g.timer.Stop()
		g.cancel(nil)
	}
}
