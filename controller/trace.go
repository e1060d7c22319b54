package controller

import (
	"context"

	"github.com/kinform/kinform/internal/keytext"
)

// Trace makes the controller keep three things from now on, for a debug page: its newest n
// reconciles with their causes, the start times of running reconciles, and the last errors of up to
// 1,000 failing keys. A reconcile then costs some 0.3 µs more processor time (BenchmarkTrace), with
// a few short locks, and allocations for its causes. With the usual key each kept reconcile takes
// 128 bytes, and 112 and the text of a key for each of its three causes at most; it keeps its error
// in memory. Without a call nothing is kept. A second call with a larger n starts over. Any other
// call does nothing.
func (c *Controller[Q]) Trace(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if old := c.trace.Load(); n > 0 && (old == nil || n > old.recent.size) {
		c.trace.Store(&trace[Q]{recent: newRing[endedCall[Q]](n), running: map[Q]Traced{}, errors: map[Q]Traced{}})
	}
}

// Traced returns the kept reconciles of the key that has this text in logs and errors, the newest
// first. O(kept).
func (c *Controller[Q]) Traced(key string) (all []Traced) {
	t := c.trace.Load()
	if t == nil {
		return nil
	}
	recent, _ := t.recent.newest()
	is := keytext.Matches[Q](key)
	for _, one := range recent {
		if is(one.key) {
			all = append(all, one.Traced)
		}
	}
	return all
}

// KeyState returns what the controller knows about a key at present. key is a Q. running is the reconcile that runs,
// without a result; its Began is zero if none runs. It needs [Controller.Trace]. waiting are the causes of the next
// reconcile. There are none if the key does not wait in the queue.
func (c *Controller[Q]) KeyState(key any) (running Traced, waiting Causes) {
	k, isKey := key.(Q)
	if !isKey {
		return running, waiting
	}
	notes := c.queue.Notes(k)
	waiting = causesOf(c, k, &notes)
	if t := c.trace.Load(); t != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		running = t.running[k]
	}
	return running, waiting
}

// LastErrors returns the last reconcile of each key whose last one failed or gave up, of up to 1,000 such keys. The keys
// are Qs. It needs [Controller.Trace], and returns nil without it. O(such keys).
func (c *Controller[Q]) LastErrors() map[any]Traced {
	t := c.trace.Load()
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make(map[any]Traced, len(t.errors))
	for key, last := range t.errors {
		all[key] = last
	}
	return all
}

// traced returns a function that calls reconcile and notes the call, even if it panics.
func traced[Q comparable](c *Controller[Q], reconcile func(context.Context, Q) error) func(context.Context, Q) error {
	return func(ctx context.Context, key Q) error {
		if t := c.trace.Load(); t != nil {
			return t.call(ctx, c, key, reconcile)
		}
		return reconcile(ctx, key)
	}
}
