package informer

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/kinform/kinform/internal/eventlog"
)

// calls tells whether a handler goes on. A handler that never returns from a call would be silent until it is
// HandlerLag events behind, which may be never. While handlers are busy, the informer looks after them every slowAfter.
type calls struct {
	counted atomic.Bool // begun counts: the handler was busy when somebody looked
	begun   atomic.Uint32

	// Guarded by the informer's mu.
	seen  uint32    // begun at the last look
	since time.Time // of the first look that found it so
	told  int       // number of reports that were due since
}

// begin counts a call of the handler, its filter included.
func (c *calls) begin() {
	if c.counted.Load() {
		c.begun.Add(1)
	}
}

// rest is the look at a handler that has nothing to do.
func (c *calls) rest() { c.counted.Store(false) }

// look is the look at a handler that has something to do. It reports whether to say that the handler does not return:
// after slowAfter, and then every slowPeriod.
func (c *calls) look(now time.Time) bool {
	if begun := c.begun.Load(); !c.counted.Load() || begun != c.seen {
		c.counted.Store(true)
		c.seen, c.since, c.told = begun, now, 0
		return false
	}
	if now.Sub(c.since) < slowAfter+time.Duration(c.told)*slowPeriod {
		return false
	}
	c.told++
	return true
}

// stuckSince returns since when the handler is known not to return, zero if it is not.
func (c *calls) stuckSince() (since time.Time) {
	if c.told > 0 && c.counted.Load() && c.begun.Load() == c.seen {
		since = c.since
	}
	return since
}

// care looks after the handlers of an informer while one of them is busy.
type care struct {
	look  func()      // set by New and never changed
	armed atomic.Bool // a look is to come

	mu    sync.Mutex
	timer *time.Timer // of the look to come, or the last one; nil before the first and after rest
}

// later makes sure that a look comes. A handler's goroutine calls it before a call.
func (c *care) later() {
	if !c.armed.Load() {
		c.arm()
	}
}

func (c *care) arm() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.armed.Swap(true) {
		return
	}
	if c.timer == nil {
		c.timer = time.AfterFunc(slowAfter, c.look)
	} else {
		c.timer.Reset(slowAfter)
	}
}

// rest drops the look to come, which would keep the informer in memory. Called when no handler is being called.
func (c *care) rest() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil {
		c.timer.Stop()
		c.timer = nil
	}
	c.armed.Store(false)
}

// lookAfterHandlers reports the handlers that do not return from a call. While the informer waits for
// handlers, that is what it reports.
func lookAfterHandlers[K comparable, T any](i *core[K, T]) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.care.armed.Store(false) // before the look: who gets busy after it calls later
	var found []*SlowHandlerError
	now := time.Now()
	for l := range i.listeners {
		c := &l.reg.calls
		if !l.active || l.loop || eventlog.Waits(l.cursor) {
			c.rest()
			continue
		}
		i.care.later()
		if c.look(now) && !i.waiting.Load() {
			found = append(found, &SlowHandlerError{Handler: l.reg.name, Stuck: true, Behind: lagOf(l), Waited: now.Sub(c.since), Since: c.since})
		}
	}
	if found == nil {
		return
	}
	s := i.session.Load()
	s.Go(func() {
		contain(i, s, "OnError", noKey, func() {
			for _, err := range found {
				err.Resource = i.Resource()
				i.counted.slowHandlers.Add(1)
				i.report(err)
			}
		})
	})
}
