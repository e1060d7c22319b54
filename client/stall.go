package client

import (
	"context"
	"errors"
	"time"
)

const (
	// stallLimit is the longest wait for the header of an answer, and the longest wait for
	// bytes of the body. A dead connection is noticed sooner. This limit is for a server or a
	// proxy that is alive but sends nothing, or only a byte now and then.
	stallLimit = 3 * time.Minute
	// stallRate is the number of bytes that make up for one second of waiting. A body of n
	// bytes ends after n/stallRate + stallLimit at the latest. So the limit is never too short
	// for a slow link: 2 GB may take 24 days. API servers themselves end every call but a
	// watch after a minute (--request-timeout).
	stallRate = 1 << 10
	// stallWhole is the number of bytes that make up for all of stallLimit.
	stallWhole = int(stallRate * stallLimit / time.Second)
)

// guard ends a call that waits too long. One goroutine uses it.
type guard struct {
	ctx    context.Context         // of the request
	cancel context.CancelCauseFunc // nil in a watch
	timer  *time.Timer             // runs during a wait; nil before the first

	since time.Time     // when the current wait began
	left  time.Duration // time left for it and the waits after it
}

func newGuard(ctx context.Context, c call) guard {
	if c.verb == "watch" {
		return guard{ctx: ctx}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	return guard{ctx: ctx, cancel: cancel, left: stallLimit}
}

// begin and end enclose a wait that brought n bytes.
func (g *guard) begin() {
	if g.cancel == nil {
		return
	}
	g.since = time.Now()
	if g.timer != nil {
		g.timer.Reset(g.left)
		return
	}
	cancel := g.cancel
	g.timer = time.AfterFunc(g.left, func() { cancel(errStalled) })
}

func (g *guard) end(n int) {
	if g.timer == nil {
		return
	}
	g.timer.Stop()
	bought := time.Duration(min(n, stallWhole)) * time.Second / stallRate
	g.left = min(stallLimit, g.left-time.Since(g.since)+bought)
}

// explain replaces the transport's reason, a cancelled context, by the guard's, unless the
// caller cancelled.
func (g *guard) explain(err error) error {
	if errors.Is(context.Cause(g.ctx), errStalled) {
		return errStalled
	}
	return err
}

// release frees the guard after the call.
func (g *guard) release() {
	if g.timer != nil {
		g.timer.Stop()
	}
	if g.cancel != nil {
		g.cancel(nil)
	}
}
