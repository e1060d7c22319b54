package fake

import (
	"context"
	"time"

	"github.com/kinform/kinform/fake/faults"
)

// tampered is a stream with the changes of a fault. Like the stream it belongs to the
// goroutine that pulls it.
type tampered struct {
	*stream
	fault faults.Fault
	sent  int // events, held and repeated ones not counted
	// held are events that Reorder keeps back, all of one object. queue is sent before the
	// next event of the stream.
	held, queue []watchEvent
	pause       *time.Timer // while a Delay in the middle runs
	paused      bool        // it has been waited for
}

// tamper wraps w; f is nil for a stream that is left alone.
func tamper(w *stream, f *faults.Fault) *tampered {
	t := &tampered{stream: w}
	if f != nil {
		t.fault = *f
		w.silent = f.Silent && f.After == 0
	}
	return t
}

func (w *tampered) close() {
	if w.pause != nil {
		w.pause.Stop()
	}
	w.stream.close()
}

// poll returns the stream's next event, with the fault's changes.
func (w *tampered) poll() (c watchEvent, ok bool, err error) {
	if len(w.queue) > 0 {
		c, w.queue = w.queue[0], w.queue[1:]
		return c, true, nil
	}
	switch f := w.fault; {
	case f.CutEvents > 0 && w.sent == f.CutEvents:
		w.ended = errDropped
	case f.Silent && w.sent == f.After:
		w.silent = true
	case f.Delay > 0 && w.sent == f.After && !w.paused:
		if w.pause == nil {
			w.pause = time.NewTimer(f.Delay)
		}
		return c, false, nil
	}
	c, ok, err = w.stream.poll()
	if err != nil && len(w.held) > 0 { // the stream will say so again
		w.release()
		return w.poll()
	}
	if !ok || err != nil {
		return c, ok, err
	}
	w.sent++
	if w.sent == w.fault.Duplicate {
		w.queue = append(w.queue, c)
	}
	if w.fault.Reorder > 0 && w.sent >= w.fault.Reorder {
		return w.reorder(c)
	}
	return c, true, nil
}

// ready reports whether poll may have another event at hand. It considers only records that were
// read already.
func (w *tampered) ready() bool { return len(w.queue)+len(w.initial)+len(w.buffer) > 0 }

// reorder holds the event with number Reorder, and later events of the same object, until it
// has sent an event of another object.
func (w *tampered) reorder(c watchEvent) (watchEvent, bool, error) {
	switch {
	case w.sent == w.fault.Reorder && c.obj != nil,
		len(w.held) > 0 && c.obj != nil && c.obj.key == w.held[0].obj.key:
		w.held = append(w.held, c)
		return w.poll()
	case len(w.held) > 0 && c.obj != nil:
		w.release()
		return c, true, nil
	case len(w.held) > 0: // a bookmark says that all before it was sent
		w.release()
		w.queue = append(w.queue, c)
		return w.poll()
	}
	return c, true, nil
}

func (w *tampered) release() { w.queue, w.held = append(w.queue, w.held...), nil }

// wait waits like the stream, or for the end of the pause.
func (w *tampered) wait(ctx context.Context) error {
	if w.pause == nil || w.paused {
		return w.stream.wait(ctx)
	}
	select {
	case <-w.pause.C:
		w.paused = true
	case <-w.drops:
		w.paused = true // the stream knows how to end
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}
