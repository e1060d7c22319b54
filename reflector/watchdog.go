package reflector

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// watchdog looks after one watch from a timer's goroutine: it notices when nothing comes. It
// costs the watch two atomic writes per event, and neither reads a clock nor sets a timer for
// it. The time that the watch spends in its sink does not count, because nothing can come
// meanwhile.
type watchdog struct {
	pulse atomic.Uint64 // odd while an event is being handled

	// Set by newWatchdog and never changed.
	every   time.Duration
	omitted func() uint64 // counts events that the source received and left out; nil if it leaves out none
	react   func(quiet time.Duration)
	// looked is called at each look, before react, with the pulse as if the events that were left out
	// had been handled; may be nil.
	looked func(pulse uint64)

	// Used by look alone, of which there is one at a time.
	lastPulse   uint64 // pulse at the last look
	lastOmitted uint64 // omitted at the last look
	looks       int    // looks in a row without anything new

	mu      sync.Mutex
	timer   *time.Timer
	stopped bool
	running sync.WaitGroup // the timer that is set, or what it called
}

// newWatchdog returns a watchdog that looks once in every so often until it is stopped. If
// nothing has come since the last look, it calls react with the duration of the silence: a
// lower bound that is short by less than every. Events that the source left out count as well;
// omitted may be nil, and is called in the same goroutine as react. That goroutine is the
// watchdog's own, and one call of react ends before the next one begins.
func newWatchdog(every time.Duration, omitted func() uint64, react func(quiet time.Duration)) *watchdog {
	return (&watchdog{every: every, omitted: omitted, react: react}).start()
}

// start sets the timer of a watchdog that newWatchdog did not make.
func (d *watchdog) start() *watchdog {
	d.every = max(d.every, time.Millisecond)
	if d.omitted != nil {
		d.lastOmitted = d.omitted()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.running.Add(1)
	d.timer = time.AfterFunc(d.every, d.look)
	return d
}

// received marks the arrival of an event, and handled the end of its handling. Call both from
// one goroutine.
func (d *watchdog) received() { d.pulse.Add(1) }

func (d *watchdog) handled() { d.pulse.Add(1) }

func (d *watchdog) look() {
	defer d.running.Done()
	defer d.rearm() // even if react ends its goroutine
	pulse, out := d.pulse.Load(), d.lastOmitted
	if d.omitted != nil {
		out = d.omitted()
	}
	if d.looked != nil {
		d.looked(pulse + 2*out)
	}
	if pulse != d.lastPulse || pulse%2 == 1 || out != d.lastOmitted {
		d.lastPulse, d.lastOmitted, d.looks = pulse, out, 0
		return
	}
	d.looks++
	d.react(time.Duration(d.looks) * d.every)
}

func (d *watchdog) rearm() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.stopped {
		d.running.Add(1)
		d.timer.Reset(d.every)
	}
}

// stop waits for a running react, and no other call follows. It can be called twice, and on
// nil.
func (d *watchdog) stop() {
	if d == nil {
		return
	}
	d.mu.Lock()
	d.stopped = true
	if d.timer.Stop() {
		d.running.Done()
	}
	d.mu.Unlock()
	d.running.Wait()
}

// guard is a watchdog's knowledge of the call of the source that it looks after. Until the
// watchdog has stopped, only its goroutine uses the fields without a comment.
type guard struct {
	request context.Context // of the call; set once
	asked   RequestError    // verb and version of the call, for reports; set while no watchdog runs

	done  time.Time // when the watchdog found that request is done
	late  bool      // the source was reported
	panic any       // of OnError
}
