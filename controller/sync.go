package controller

import (
	"context"
	"fmt"
	"time"
)

// sync waits until the handlers have seen the initial lists. It returns false if ctx ends before
// that, and a *SyncError after Options.SyncTimeout.
func (c *Controller[Q]) sync(ctx context.Context, inputs []input) (synced bool, err error) {
	var timeout <-chan time.Time
	if c.opts.SyncTimeout > 0 {
		timer := time.NewTimer(c.opts.SyncTimeout)
		defer timer.Stop()
		timeout = timer.C
	}
	for _, in := range inputs {
		select {
		case <-in.reg.Synced():
		case <-in.removed:
		case <-ctx.Done():
			return false, nil
		case <-timeout:
			if err := unsynced(c, inputs...); err != nil {
				return false, err
			}
			return true, nil // in this instant
		}
	}
	return true, nil
}

// unsynced returns an error for each informer that is not ready.
func unsynced[Q comparable](c *Controller[Q], inputs ...input) error {
	late, cancel := context.WithTimeout(context.Background(), -1)
	defer cancel()
	e := &SyncError{After: c.opts.SyncTimeout}
	seen := map[Cache]bool{}
	for _, in := range inputs {
		select {
		case <-in.reg.Synced():
			continue
		case <-in.removed:
			continue
		default:
		}
		if seen[in.inf] {
			continue
		}
		seen[in.inf] = true
		err := in.inf.WaitForSync(late)
		if err == nil {
			err = fmt.Errorf("%s: %w", in.inf.Resource(), errHandlerUnsynced)
		}
		e.Errs = append(e.Errs, err)
	}
	if len(e.Errs) == 0 {
		return nil
	}
	return e
}
