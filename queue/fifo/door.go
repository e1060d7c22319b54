package fifo

import (
	"context"
	"sync"
)

// door is the lock of a queue, and where consumers wait for something to be in it.
type door struct {
	sync.Mutex
	closed bool

	// A token in it says that the queue may have something; closed with the queue.
	ready chan struct{}
}

func newDoor() door { return door{ready: make(chan struct{}, 1)} }

// wait gives up the lock until there may be something, or ctx is done. The queue must be
// looked at again: a token may be old, or another consumer quicker.
func (d *door) wait(ctx context.Context) error {
	d.Unlock()
	defer d.Lock()
	select {
	case <-d.ready:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// signal says that the queue has something. One consumer is woken, who must signal again
// if he leaves something. Called with the lock held.
func (d *door) signal() {
	if d.closed {
		return // everybody is awake
	}
	select {
	case d.ready <- struct{}{}:
	default:
	}
}

// shut closes the door, once, and wakes everybody.
func (d *door) shut() {
	d.Lock()
	defer d.Unlock()
	if !d.closed {
		d.closed = true
		close(d.ready)
	}
}
