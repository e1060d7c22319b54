package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kinform/kinform/controller/internal/follow"
	"github.com/kinform/kinform/internal/usercode"
)

// join makes an input part of the session. Called with mu held.
func (c *Controller[Q]) join(in input) {
	start(c, in.inf, true)
	if c.opts.SyncTimeout <= 0 {
		return
	}
	done := c.session.ctx.Done()
	c.session.tasks.Go(func() {
		timer := time.NewTimer(c.opts.SyncTimeout)
		defer timer.Stop()
		select {
		case <-in.reg.Synced():
		case <-in.removed:
		case <-done:
		case <-timer.C:
			if err := unsynced(c, in); err != nil {
				usercode.Report(c.logger, c.opts.OnError, err)
			}
		}
	})
}

// start runs an informer, unless the session does so already. A late informer that cannot run because of its setup does
// not end the session. Called with mu held.
func start[Q comparable](c *Controller[Q], inf Cache, late bool) {
	s := c.session
	last := s.informers[inf]
	if last != nil && last.stop != nil {
		return
	}
	ctx, stop := context.WithCancel(s.ctx)
	now := &informerRun{stop: stop, over: make(chan struct{})}
	s.informers[inf] = now
	s.tasks.Go(func() {
		defer close(now.over)
		defer stop()
		if last != nil {
			<-last.over // otherwise the informer would seem to have another runner
		}
		usercode.Outcome(func() error { return follow.Run(s.outer, ctx, inf) }, func(err error) {
			if late && err != nil && errors.Is(inf.Err(), err) {
				usercode.Report(c.logger, c.opts.OnError, err) // Err of the informer, and so of the controller, has it
				return
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			if now.stop == nil && s.informers[inf] == now {
				delete(s.informers, inf) // with its store, if nothing else has it
			}
			if err == nil && ctx.Err() != nil {
				return // because of Unwatch, or with the session
			}
			if errors.Is(err, follow.ErrOrphan) {
				err = c.named(fmt.Errorf("controller: %s: %w", inf.Resource(), err))
			}
			s.failed = append(s.failed, err)
			s.end()
		})
	})
}

// forgetInputs takes the inputs of inf out of the controller, and stops the informer.
func forgetInputs[Q comparable](c *Controller[Q], inf Cache) (gone []input) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.phase == phaseStopped {
		return nil // Run removes all handlers
	}
	var kept []input
	for _, in := range c.inputs {
		if in.inf == inf {
			gone = append(gone, in)
		} else {
			kept = append(kept, in)
		}
	}
	c.inputs = kept
	if c.phase != phaseRunning || len(gone) == 0 {
		return gone
	}
	for _, in := range gone {
		c.session.tasks.Go(func() { <-in.reg.Done() })
	}
	now := c.session.informers[inf]
	now.stop()
	now.stop = nil
	return gone
}
