package informer

import (
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kinform/kinform/internal/eventlog"
	"github.com/kinform/kinform/internal/logs"
)

// lookEvery is the time between two looks at busy handlers. A handler is known to be stuck that much later.
const lookEvery = 2 * time.Second

// calls tells whether a handler goes on. A handler that never returns from a call would be silent until it is
// handlerLag events behind, which may be never. While handlers are busy, the informer looks after them every lookEvery.
type calls struct {
	counted atomic.Bool // begun counts: the handler was busy when somebody looked
	begun   atomic.Uint32

	// Guarded by the informer's mu.
	seen  uint32    // begun at the last look
	since time.Time // of the first look that found it so
	told  int       // number of reports since
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
// after slowAfter, and then every slowPeriod. Whoever says so counts it in told.
func (c *calls) look(now time.Time) bool {
	if begun := c.begun.Load(); !c.counted.Load() || begun != c.seen {
		c.counted.Store(true)
		c.seen, c.since, c.told = begun, now, 0
		return false
	}
	return now.Sub(c.since) >= slowAfter+time.Duration(c.told)*slowPeriod
}

// stuckSince returns since when a handler that has something to do is known not to return, zero if it is not.
func (c *calls) stuckSince() (since time.Time) {
	if c.counted.Load() && c.begun.Load() == c.seen && time.Since(c.since) >= slowAfter {
		since = c.since
	}
	return since
}

// care looks after the handlers of an informer while one of them is busy.
type care struct {
	look  func()      // set by New and never changed
	armed atomic.Bool // a look is to come

	reporting atomic.Bool    // OnError has a report
	reports   sync.WaitGroup // of it; added to before rest waits

	mu    sync.Mutex
	timer *time.Timer // of the look to come, or the last one; nil before the first and after rest
	held  heldLock
}

// heldLock tells whether a commit goes on, which calls the functions of indexes with the informer's mu held.
type heldLock struct {
	batches uint64    // that were committed at the first of the looks in a row at which mu was held
	since   time.Time // of that look; zero if there is none
	told    int       // number of reports since
}

// later makes sure that a look comes. A handler's goroutine calls it before a call, and who commits before a commit.
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
		c.timer = time.AfterFunc(lookEvery, c.look)
	} else {
		c.timer.Reset(lookEvery)
	}
}

// rest drops the look to come, which would keep the informer in memory, and waits for a report. Called when no handler is
// being called.
func (c *care) rest() {
	c.mu.Lock()
	c.held = heldLock{}
	if c.timer != nil {
		c.timer.Stop()
		c.timer = nil
	}
	c.armed.Store(false)
	c.mu.Unlock()
	c.reports.Wait()
}

// claim reports whether OnError can have another report. If so, reportStuck has to follow. Called with a lock held that
// rest, or the end of Run before it, waits for.
func (c *care) claim() bool {
	if c.reporting.Swap(true) {
		return false
	}
	c.reports.Add(1)
	return true
}

func (c *care) reported() {
	c.reporting.Store(false)
	c.reports.Done()
}

// free begins a look while nobody else holds the informer's mu.
func (c *care) free() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = heldLock{}
	c.armed.Store(false)
}

// lookAtHeld is a look while somebody holds the informer's mu. If no commit has ended since a first such look, it returns
// for how long, and claims a report as often as for a handler that does not return.
func (c *care) lookAtHeld(batches uint64) (waited time.Duration, claimed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer == nil {
		return 0, false // Run has ended
	}
	defer c.timer.Reset(lookEvery)
	h, now := &c.held, time.Now()
	if h.since.IsZero() || h.batches != batches {
		*h = heldLock{batches: batches, since: now}
	}
	waited = now.Sub(h.since)
	if waited >= slowAfter+time.Duration(h.told)*slowPeriod && c.claim() {
		h.told++
		claimed = true
	}
	return waited, claimed
}

// lookAfterHandlers reports the handlers that do not return from a call, one after the other. A handler that the
// informer waits for is reported as such. A function that holds mu is reported in place of them.
func lookAfterHandlers(i *base) {
	if !i.mu.TryLock() {
		if waited, claimed := i.care.lookAtHeld(i.counted.batches.Load()); claimed {
			reportStuck(i, &stuckIndexError{i.name, waited})
		}
		return
	}
	defer i.mu.Unlock()
	i.care.free() // before the look: who gets busy after it calls later
	now := time.Now()
	for _, h := range i.handlers() {
		c := &h.reg.calls
		if !h.busy {
			c.rest()
			continue
		}
		i.care.later()
		if !c.look(now) {
			continue
		}
		if (h.lag <= i.lag || h.coalesce) && i.care.claim() {
			c.told++
			i.counted.slowHandlers.Add(1)
			reportStuck(i, &SlowHandlerError{Resource: i.name, Handler: h.reg.name, Stuck: true, Behind: h.lag, Waited: now.Sub(c.since), Since: c.since})
		}
	}
}

// isBusy reports whether the informer calls l's handler, or is about to. Called with mu held.
func isBusy[K comparable, T any](l *listener[K, T]) bool {
	return l.active && !l.loop && !eventlog.Waits(l.cursor)
}

// reportStuck reports in another goroutine, since the caller may hold mu. Run waits for it, as it does for the handler.
func reportStuck(i *base, err error) {
	s := present(i)
	go func() {
		defer i.care.reported()
		contain(i, s, "OnError", noKey, func() { report(i, err) })
	}()
}

// stuckIndexError says that a commit goes on and on. Nothing but the function of an index takes so long in it.
type stuckIndexError struct {
	resource string
	waited   time.Duration
}

const indexHint = "it must not wait: nothing enters the cache until it returns"

func (e *stuckIndexError) Error() string {
	return fmt.Sprintf("%s: a commit has taken %v so far, in the function of an index: %s", e.resource, e.waited.Round(time.Millisecond), indexHint)
}

// LogValue implements slog.LogValuer: a group of message, resource, waited and hint.
func (e *stuckIndexError) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String(logs.Message, "function of an index holds up the cache"),
		slog.String("resource", e.resource), slog.Duration("waited", e.waited), slog.String("hint", indexHint),
	)
}
