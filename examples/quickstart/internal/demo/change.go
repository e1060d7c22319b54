package demo

import (
	"context"
	"fmt"
	"time"
)

// tick is the interval between small groups of changes.
const tick = 20 * time.Millisecond

// Change changes the pods, and breaks things, until ctx is done. Then it stops writing and
// returns nil. Otherwise it returns the server's error.
func (c *Cluster) Change(ctx context.Context) error {
	if c.opts.Changes <= 0 {
		<-ctx.Done()
		return nil
	}
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	start, due, last := time.Now(), 0.0, time.Now()
	for {
		var now time.Time
		select {
		case <-ctx.Done():
			return nil
		case now = <-ticker.C:
		}
		// Changes that a busy or sleeping machine has missed are not made up for.
		due += float64(c.opts.Changes) * min(now.Sub(last), 10*tick).Seconds()
		last = now
		for ; due >= 1; due-- {
			if err := c.change(); err != nil {
				return fmt.Errorf("change: %w", err)
			}
		}
		if err := c.disturb(now.Sub(start)); err != nil {
			return fmt.Errorf("disturb: %w", err)
		}
	}
}

// change makes one change and keeps the number of pods within bounds.
func (c *Cluster) change() error {
	dice := c.random.IntN(100)
	switch n := len(c.pods); {
	case n == 0, n*10 < c.opts.Pods*9:
		return c.create()
	case n*10 > c.opts.Pods*11:
		return c.remove(c.random.IntN(n))
	case dice < 15:
		return c.create()
	case dice < 28:
		return c.remove(c.random.IntN(n))
	case dice < 50:
		// New pods are at the end of the slice. They have more steps left.
		return c.advance(n - 1 - c.random.IntN(min(n, 50)))
	default:
		return c.advance(c.random.IntN(n))
	}
}

// disturbance is an event of the whole cluster, some time after the start of a cycle.
type disturbance struct {
	at time.Duration
	do func(*Cluster) error
}

// missed is the number of changes that no watch sees.
const missed = 5

// cycle is the time after which the disturbances repeat, in the same order.
const cycle = 12 * time.Second

func disturbances() []disturbance {
	const second = time.Second
	return []disturbance{
		{3 * second, (*Cluster).drain},
		{5 * second, (*Cluster).dropWatches},
		{7 * second, (*Cluster).undrain},
		{9 * second, (*Cluster).forget},
	}
}

// disturb causes the disturbance that is due, at most one. The time is measured from the
// start.
func (c *Cluster) disturb(since time.Duration) error {
	all := disturbances()
	next := all[c.disturbed%len(all)]
	if since < time.Duration(c.disturbed/len(all))*cycle+next.at {
		return nil
	}
	c.disturbed++
	return next.do(c)
}

func (c *Cluster) dropWatches() error {
	c.opts.Note("demo: all watches cut off")
	c.server.DropWatches()
	return nil
}

// forget makes all the missed changes at once, because the watches come back within 50 ms.
func (c *Cluster) forget() error {
	c.opts.Note("demo: all watches cut off, and the server forgets what they miss")
	c.server.DropWatches()
	for range min(c.opts.Changes, missed) {
		if err := c.change(); err != nil {
			return err
		}
	}
	return c.server.Compact(c.server.ResourceVersion())
}

func (c *Cluster) undrain() error {
	c.opts.Note("demo: " + nodeName(c.down) + " takes pods again")
	c.down = -1
	return nil
}

// drain deletes all pods of a node. The node gets no new pods.
func (c *Cluster) drain() error {
	c.down = c.random.IntN(nodes)
	name := nodeName(c.down)
	deleted := 0
	for i := len(c.pods) - 1; i >= 0; i-- {
		if c.pods[i].Spec.NodeName == name {
			if err := c.remove(i); err != nil {
				return err
			}
			deleted++
		}
	}
	c.opts.Note(fmt.Sprintf("demo: %s drained, %d pods deleted", name, deleted))
	return nil
}
