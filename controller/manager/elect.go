package manager

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller/internal/terms"
	"github.com/kinform/kinform/internal/logs"
	"github.com/kinform/kinform/internal/pause"
)

// campaign runs parts in the terms of this process, in which it leads.
type campaign struct {
	*Manager
	stop context.CancelFunc // ends everything
	busy *sync.WaitGroup    // what Run waits for
	led  []part

	terms terms.Terms // of the controllers
	once  sync.Once   // starts the controllers
}

// shortest is the least time between two calls of Lead, for an Elector that loses the leadership at once. It is also how
// long a call of work may come after the return of Lead.
const shortest = time.Second

// run stands for election again and again, until ctx is done or something fails.
func (c *campaign) run(ctx context.Context) error {
	for {
		began := time.Now()
		lost, err := c.stand(ctx)
		if !lost || c.opts.EndWithLeadership {
			if err == nil && ctx.Err() == nil {
				err = ErrLeadership
			}
			return err
		}
		c.logger.Error(lostError{cmp.Or(err, ErrLeadership)})
		if pause.For(ctx, shortest-time.Since(began)) != nil {
			return nil
		}
	}
}

// stand calls Lead, and reports whether this process led and has lost that. It returns when all work has, too.
func (c *campaign) stand(ctx context.Context) (lost bool, err error) {
	standing, end := context.WithCancel(ctx)
	var turn sync.Once // some electors call the function in a new goroutine
	var work sync.WaitGroup
	called, call := context.WithCancel(ctx)
	defer call()
	over := func() {
		turn.Do(func() {}) // too late to begin
		end()
		work.Wait()
	}
	defer over() // if Lead panics
	led := false
	err = c.opts.Elector.Lead(standing, func(lead context.Context) {
		call()
		first := false
		turn.Do(func() {
			first = true
			work.Add(1)
		})
		if first {
			defer work.Done()
			lead, lose := context.WithCancel(lead)
			defer lose()
			defer context.AfterFunc(standing, lose)() // Lead has returned, or was to
			led, lost = true, c.lead(ctx, lead)
		}
	})
	over()
	switch {
	case led && !lost:
		return false, nil // a stop: why this process does not lead any more does not matter
	case !led && pause.For(called, shortest) != nil && ctx.Err() == nil:
		lost = true // the new goroutine came too late to begin
	}
	return lost, err
}

// lead runs the parts until lead is done and they have ended. It reports whether lead was done before ctx.
func (c *campaign) lead(ctx, lead context.Context) (lost bool) {
	c.logger.Debug("leads")
	var all sync.WaitGroup
	all.Go(func() { c.terms.Run(lead) })
	for _, p := range c.led {
		if !isController(p) {
			all.Go(func() {
				c.work(lead, c.stop, part{name: p.name, of: Func(func(ctx context.Context) error { return c.unfenced(p.of.Run(ctx)) })})
			})
		}
	}
	c.once.Do(func() {
		for _, p := range c.led {
			if isController(p) {
				c.busy.Go(func() { c.work(c.terms.With(ctx), c.stop, p) })
			}
		}
	})
	<-lead.Done()
	lost = ctx.Err() == nil
	if lost {
		defer c.limit(lead)()
	}
	all.Wait()
	return lost
}

// unfenced returns the error of a part, but not that of a write which the gate of the Elector has refused. The lease can
// be over before the context of the part is done, as in a process that was stopped for a while.
func (c *campaign) unfenced(err error) error {
	of, ok := c.opts.Elector.(interface{ Leads() bool })
	if ok && errors.Is(err, client.ErrNotSent) && !of.Leads() {
		return nil
	}
	return err
}

// limit ends everything if the parts take longer than Options.Grace to end after the loss of the leadership, and at once
// with EndWithLeadership, because a part that goes on delays the end of Lead. The function that it returns ends that.
func (c *campaign) limit(lead context.Context) (stop func()) {
	grace := cmp.Or(c.opts.Grace, DefaultGrace)
	switch {
	case c.opts.EndWithLeadership:
		c.fail(election, ErrLeadership)
		c.stop()
	case grace > 0:
		timer := time.AfterFunc(grace, func() {
			c.fail(election, fmt.Errorf("%w: %w", ErrLeadership, context.Cause(lead)))
			c.stop()
		})
		return func() { timer.Stop() }
	}
	return func() {}
}

// lostError is the record of a loss.
type lostError struct{ reason error }

func (e lostError) Error() string {
	return fmt.Sprintf("manager: the leadership is lost: %v", e.reason)
}

// LogValue implements slog.LogValuer.
func (e lostError) LogValue() slog.Value {
	return slog.GroupValue(slog.String(logs.Message, "leadership lost, standing again"), slog.Any("error", e.reason))
}
