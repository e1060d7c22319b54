package reflector

import (
	"sync/atomic"
	"time"
)

// pace tells a list that comes slowly from live changes in place of one. It belongs to a watchdog.
type pace struct {
	every, patience time.Duration // set once

	live, window time.Duration // since the first live change, and since the window began
	began        uint64        // pulse at the beginning of the window
	slow         int           // windows in a row with too few objects
}

// look follows a look of the watchdog, and reports whether the stream is no list. fell says that an object of the
// window was older than one before it; look clears it at the end of a window. The time that the sink takes does not
// count.
func (p *pace) look(pulse uint64, live bool, fell *atomic.Bool) bool {
	if pulse%2 == 1 {
		return false
	}
	if live {
		p.live += p.every
	}
	if p.window += p.every; p.window >= p.patience {
		least := uint64(slowestRising)
		if fell.Swap(false) {
			least = slowestList
		}
		if p.slow++; pulse-p.began >= 2*least {
			p.slow = 0
		}
		p.window, p.began = 0, pulse
	}
	return p.live >= p.patience || p.slow >= slowWindows
}
