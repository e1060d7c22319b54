package reflector

import (
	"sync"
	"sync/atomic"
	"time"
)

// watchdog looks after one watch from a timer's goroutine: it notices when nothing comes.
// It costs the watch two writes per event; no clock is read and no timer set. Time that
// the watch spends in its sink does not count, since nothing can come meanwhile.
type watchdog struct {
	pulse atomic.Uint64 // odd while what came is being handled

	// Set by newWatchdog and never changed.
	every   time.Duration
	omitted func() uint64 // what came and was not passed on; nil if all is
	react   func(quiet time.Duration)

	// Used by look alone, of which there is one at a time.
	lastPulse   uint64 // pulse at the last look
	lastOmitted uint64 // leftOut at the last look
	looks       int    // how many looks in a row found nothing new

	mu      sync.Mutex
	timer   *time.Timer
	stopped bool
	running sync.WaitGroup // the timer that is set, or what it called
}

// newWatchdog returns a watchdog that looks every so often until it is stopped. Each time
// that nothing has come since the look before, it calls react with how long nothing came:
// at least that, and less than every more. What the source left out has come, too; leftOut
// may be nil, and is called where react is. React runs in a goroutine of its own, not
// twice at once.
func newWatchdog(every time.Duration, leftOut func() uint64, react func(quiet time.Duration)) *watchdog {
	d := &watchdog{every: max(every, time.Millisecond), omitted: leftOut, react: react}
	if leftOut != nil {
		d.lastOmitted = leftOut()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.running.Add(1)
	d.timer = time.AfterFunc(d.every, d.look)
	return d
}

// wake says that something came, and rest that it is handled. Both are for one goroutine.
func (d *watchdog) received() { d.pulse.Add(1) }
func (d *watchdog) handled()  { d.pulse.Add(1) }

func (d *watchdog) look() {
	defer d.running.Done()
	defer d.rearm() // also if react ends its goroutine
	pulse, out := d.pulse.Load(), d.lastOmitted
	if d.omitted != nil {
		out = d.omitted()
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

// stop returns when react will not be called again, and is not running. It can be called
// twice, and on nil.
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
