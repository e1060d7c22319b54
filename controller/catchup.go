package controller

import (
	"context"
	"time"
)

// catchUpTime is how long a reconcile waits for its handles. After that its key is queued again,
// with the error, so that the delay is reported and other keys get a turn.
const catchUpTime = 10 * time.Second

// catcher is a handle whose reads may be behind its writes.
type catcher interface {
	behind() bool
	CatchUp(context.Context) error
}

// caughtUp puts a reconcile off while the reads of a handle are older than the writes through it.
func (c *Controller[Q]) caughtUp(reconcile func(context.Context, Q) error) func(context.Context, Q) error {
	return func(ctx context.Context, key Q) error {
		for _, handle := range c.behind() {
			if err := catchUp(ctx, handle); err != nil {
				return err
			}
		}
		return reconcile(ctx, key)
	}
}

// behind returns the handles that have to catch up, nil for none.
func (c *Controller[Q]) behind() (all []catcher) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, in := range c.inputs {
		if in.handle != nil && in.handle.behind() {
			all = append(all, in.handle)
		}
	}
	return all
}

func catchUp(ctx context.Context, handle catcher) error {
	ctx, cancel := context.WithTimeout(ctx, catchUpTime)
	defer cancel()
	return handle.CatchUp(ctx)
}
