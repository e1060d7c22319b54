package fifo

import (
	"context"
	"sync"
)

// gate is the lock of a queue, together with the wait for the queue to have an item.
type gate struct {
	sync.Mutex
	closed bool

	// A token in ready says that the queue may have an item. Closed with the queue.
	ready chan struct{}
}

func newGate() gate { return gate{ready: make(chan struct{}, 1)} }

// wait releases the lock until there may be an item, or ctx is done. The caller must check the
// queue again: the token may be old, or another consumer may have taken the item.
func (d *gate) wait(ctx context.Context) error {
	d.Unlock()
	defer d.Lock()
	select {
	case <-d.ready:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// signal wakes one consumer, because the queue has an item. The consumer must signal again if items
// are left. Called with the lock held.
func (d *gate) signal() {
	if d.closed {
		return // no consumer waits
	}
	select {
	case d.ready <- struct{}{}:
	default:
	}
}

// shut closes the gate and wakes all consumers.
func (d *gate) shut() {
	d.Lock()
	defer d.Unlock()
	if !d.closed {
		d.closed = true
		close(d.ready)
	}
}
