package client

import (
	"context"
	"errors"
	"time"
)

const (
	// stallLimit is how long a call waits for the header of its answer, and the longest that
	// it waits for bytes of the body. A connection that is dead is noticed sooner; this is for
	// a server, or a proxy, that lives and says nothing, or a byte now and then.
	stallLimit = 3 * time.Minute
	// stallRate is the bytes per second that buy back the time that was waited for them. A
	// body of n bytes ends after n/stallRate and stallLimit at the latest, so no body is
	// bounded by a time that a slow link cannot keep: 2 GB may take 24 days. API servers
	// themselves end every call but a watch after a minute (--request-timeout).
	stallRate = 1 << 10
	// stallWhole buys back all of stallLimit.
	stallWhole = int(stallRate * stallLimit / time.Second)
)

// guard ends a call that waits for too long. It is used by one goroutine.
type guard struct {
	ctx    context.Context // of the request
	cancel context.CancelCauseFunc
	timer  *time.Timer // runs while something is waited for; nil in a watch

	since time.Time     // when the present wait began
	left  time.Duration // for it and those that follow
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
	bought := time.Duration(min(n, stallWhole)) * time.Second / stallRate
	g.left = min(stallLimit, g.left-time.Since(g.since)+bought)
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
