package reflector

import "time"

// delayed is a call that waits for its time.
type delayed struct {
	timer *time.Timer   // nil once stopped
	done  chan struct{} // closed after the call
}

// later calls f after d in another goroutine, unless it is stopped before. f must not panic.
func later(d time.Duration, f func()) *delayed {
	done := make(chan struct{})
	return &delayed{done: done, timer: time.AfterFunc(d, func() {
		defer close(done)
		f()
	})}
}

// stop prevents the call, or waits for its end. It can be called twice, and on nil.
func (d *delayed) stop() {
	if d == nil || d.timer == nil {
		return
	}
	if !d.timer.Stop() {
		<-d.done
	}
	d.timer = nil
}
