package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kinform/kinform/controller/internal/terms"
	"github.com/kinform/kinform/internal/pause"
	"github.com/kinform/kinform/queue"
)

// Run runs the informers, and calls reconcile for keys as queue.Run does, until ctx is done or the
// queue is shut down. Then it returns nil. If the queue is shut down before all informers have
// synced, Run notices only after that.
//
// If the setup has a mistake, Run runs nothing and returns [Controller.Err]. It can also return
//
//   - the error of an informer that failed,
//   - an error that says so, if the source or OnError of an informer ended the goroutine that ran it,
//   - informer.ErrStopped, if an informer with another runner has stopped,
//   - a [*SyncError], after Options.SyncTimeout, and
//   - [ErrInvalid], when called twice.
//
// Everything that Run started has ended then. After a SyncError, Run waits for that for ten seconds only: a filter or a
// function of [Watch] that does not return may go on.
func (c *Controller[Q]) Run(ctx context.Context) error {
	s, inputs, err := c.begin(ctx)
	if err != nil {
		return err
	}
	c.logger.Debug("runs")
	if len(inputs) == 0 && c.queue.Len() == 0 {
		c.logger.Error(idle{})
	}
	defer c.logger.Debug("has stopped")
	err = c.work(s.ctx, inputs)
	inputs = c.finish()
	s.end()
	if !c.rest(inputs, errors.As(err, new(*SyncError))) {
		return err
	}
	if cause := errors.Join(s.failed...); cause != nil {
		return cause
	}
	return err
}

// stuckGrace is how long Run waits for its end if a handler may be stuck.
const stuckGrace = 10 * time.Second

// rest removes the handlers and waits until everything that Run started has ended. If a handler may be stuck, it waits
// for stuckGrace only, and returns false if that was not enough.
func (c *Controller[Q]) rest(inputs []input, mayBeStuck bool) bool {
	end := func() {
		c.session.tasks.Wait()
		for _, in := range inputs {
			<-in.reg.Done()
		}
	}
	for _, in := range inputs {
		in.reg.Remove()
	}
	defer c.queue.ShutDown()
	if !mayBeStuck {
		end()
		return true
	}
	return pause.Within(stuckGrace, end) // it outlives Run only with the handler that does
}

// work waits for the handlers to sync and then runs the workers: in a manager that may lose the leadership, once in each
// term. Between the terms the queue keeps its keys, and gets more.
func (c *Controller[Q]) work(ctx context.Context, inputs []input) error {
	sizes, stop := readSizes(c.opts.Run.Resize)
	defer stop()
	if synced, err := c.sync(ctx, inputs); !synced {
		return err
	}
	c.logger.Debug("caches are filled")
	reconcile := explained(c, caughtUp(c, noted(&c.taken, traced(c, attributed(c, c.reconcile)), c.freed)))
	return terms.Each(ctx, func(ctx context.Context) error {
		opts := c.opts.Run
		opts.Resize = sizes.term()
		return queue.Run(ctx, c.queue, opts, reconcile)
	})
}

func (c *Controller[Q]) begin(ctx context.Context) (*session, []input, error) {
	if c == nil {
		return nil, nil, c.Err()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.phase != phaseNotStarted {
		return nil, nil, c.named(fmt.Errorf("controller: %w", errStarted))
	}
	if err := c.wrong(); err != nil {
		return nil, nil, err
	}
	c.phase = phaseRunning
	s := &session{outer: ctx, informers: map[Cache]*informerRun{}}
	s.ctx, s.end = context.WithCancel(ctx)
	c.session = s
	for _, in := range c.inputs {
		start(c, in.inf, false)
	}
	return s, slices.Clone(c.inputs), nil
}

// finish makes sure that no task begins any more, and returns the inputs.
func (c *Controller[Q]) finish() []input {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.phase = phaseStopped
	return c.inputs
}
