package gate

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// write is a write that is under way.
type write struct {
	gate   *Gate
	pass   *Pass // nil if the context has none for this gate
	cancel context.CancelCauseFunc
}

// begin begins a write, and returns its context. It returns no write if the gate is closed, or if the pass of ctx has
// ended.
func (g *Gate) begin(ctx context.Context) (context.Context, *write) {
	p, _ := ctx.Value(passKey{g}).(*Pass)
	g.mu.Lock()
	defer g.mu.Unlock()
	if p != nil && p.ended || !time.Now().Before(g.until) {
		return ctx, nil
	}
	w := &write{gate: g, pass: p}
	ctx, w.cancel = context.WithCancelCause(ctx)
	g.writes[w] = struct{}{}
	return ctx, w
}

// end ends a write. If it is unclear, the server may still carry it out. end reports whether the gate closed before.
func (w *write) end(unclear bool) (cut bool) {
	w.gate.mu.Lock()
	defer w.gate.mu.Unlock()
	_, going := w.gate.writes[w]
	delete(w.gate.writes, w)
	if unclear && w.pass != nil {
		w.pass.unclear = time.Now()
	}
	return !going
}

// refusal is the error of a write that does not pass. If its context has ended, it has the cause, too: then a reconcile
// that returns it was cut short, and has not failed.
func (g *Gate) refusal(ctx context.Context) error {
	if ctx.Err() == nil {
		return g.refused
	}
	return fmt.Errorf("%w: %w", g.refused, context.Cause(ctx))
}

// dialing reports whether there was no connection, so nothing was sent.
func dialing(err error) bool {
	op := new(net.OpError)
	return errors.As(err, &op) && op.Op == "dial"
}

// relayed reports whether a proxy answers because the server has given it no answer.
func relayed(status int) bool {
	return status == http.StatusBadGateway || status == http.StatusGatewayTimeout
}
