package reflector

import (
	"sync"
	"sync/atomic"
	"time"
)

// Stats is what a reflector did since New. Its numbers only grow, but Listed and Expected.
type Stats struct {
	// Lists counts the lists that were handed to the sink, and Relists those that a watch
	// was given up for, by the reason.
	Lists   uint64
	Relists Relists
	// Restores counts the lists of a server that was found to be restored from a backup.
	Restores uint64
	// WatchLists counts the streaming lists that were begun, and Watches the watches,
	// those that a streaming list goes over into included.
	WatchLists, Watches uint64
	// IdleWatches counts the watches that were given up after Options.IdleTimeout.
	IdleWatches uint64
	// Events counts watch events that went to the sink, bookmarks included, and the other
	// four count them by type. The initial events of a streaming list are not among them.
	Events, Added, Modified, Deleted, Bookmarks uint64
	// BadObjects counts the objects that were reported and skipped.
	BadObjects uint64
	// Failures counts the lists and watches that failed.
	Failures uint64
	// Listed is the number of objects received of the list in progress, or of the last
	// one. Expected is how many it will have, zero while the server did not tell. It
	// tells on pages of a list without selectors (ListMeta.remainingItemCount), and
	// answers the first list, at resourceVersion "0", in one piece and so without it. Of
	// a streaming list it tells nothing.
	Listed, Expected uint64
	// SeenVersion is the newest resourceVersion that the sink has: of a list, an event or
	// a bookmark. Empty before the first list.
	SeenVersion string
	// LastEvent is when the last watch event went to the sink, bookmarks included. Zero
	// before the first.
	LastEvent time.Time
	// Received is the number of bytes read from the server, and Decoding the time that
	// went into making objects of them, where the source is a [Meter]; else zero.
	Received uint64
	Decoding time.Duration
	// Failing says since when, and why, the reflector does not get on. Zero while all is well,
	// and when Run has ended.
	Failing Failing
}

// Failing is a failure that goes on: it ends once a list is whole, an event comes or, of a
// [Server], a watch is accepted. What the sink holds is as old as Since at least.
type Failing struct {
	// Since is when the first request failed, zero if none did.
	Since time.Time
	// Err is what the last one failed with, a *RequestError; nil if none did.
	Err error
	// Next is when the next one follows at the latest. It may be under way already.
	Next time.Time
}

// Relists counts lists by why a watch was given up for them.
type Relists struct {
	// Expired: the server no longer has the version to go on from (410).
	Expired uint64
	// TooLarge: the server does not have that version yet, or was restored from a backup.
	TooLarge uint64
	// OutOfOrder: see [ErrOutOfOrder].
	OutOfOrder uint64
	// Unreadable: see [ErrUnreadableDelete]; or the server could not read an object from its
	// storage.
	Unreadable uint64
	// Refused: the server found fault with the request, in another way.
	Refused uint64
	// Failing: too many watches failed in a row, or InternalErrors came for longer than
	// Options.InternalErrorRetry.
	Failing uint64
	// NoVersion: the source has no versions that a watch could go on from.
	NoVersion uint64
	// Restored: see [ErrRestored].
	Restored uint64
}

// Meter is what a [Source] can implement beside: it counts what it reads, for [Stats].
// Safe from any goroutine.
type Meter interface {
	// Received returns the bytes of all response bodies so far, after decompression, and
	// the time that went into decoding them, not counting waits for the network.
	Received() (bytes uint64, decoding time.Duration)
}

// counters are written by the goroutine of Run and read by any.
type counters struct {
	lists, restores, watchLists, watches, idle, badObjects, failures, listed, expected atomic.Uint64

	relists [relistReasons]atomic.Uint64
	events  [Bookmark + 1]atomic.Uint64 // by type

	mu   sync.Mutex
	rv   string
	last time.Duration // since Reflector.made; zero before the first event

	failing Failing
}

// fails notes a failure at now, or nil that there is none any more.
func (c *counters) fails(err *RequestError, now time.Time, retryIn time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		c.failing = Failing{}
		return
	}
	if c.failing.Err == nil {
		c.failing.Since = now
	}
	c.failing.Err, c.failing.Next = err, now.Add(retryIn)
}

// expectList says that a list begins of which nothing is known.
func (c *counters) expectList() {
	c.listed.Store(0)
	c.expected.Store(0)
}

// applied counts an event that came at a time.
func (c *counters) applied(typ EventType, rv string, at time.Duration) {
	c.events[min(typ, Bookmark)].Add(1)
	c.saw(rv, max(at, 1))
}

// saw notes the newest version, and the time of an event if it was one.
func (c *counters) saw(rv string, at time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rv = rv
	if at != 0 {
		c.last = at
	}
}

// seen returns the newest version.
func (c *counters) seen() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rv
}

// Stats returns the counters. Safe from any goroutine; the counters are read one by one
// and need not be of the same moment.
func (r *Reflector[T]) Stats() Stats {
	c := &r.stats
	s := Stats{
		Lists: c.lists.Load(),
		Relists: Relists{
			Expired:    c.relists[becauseExpired].Load(),
			TooLarge:   c.relists[becauseTooLarge].Load(),
			OutOfOrder: c.relists[becauseOutOfOrder].Load(),
			Unreadable: c.relists[becauseUnreadable].Load(),
			Refused:    c.relists[becauseRefused].Load(),
			Failing:    c.relists[becauseFailing].Load(),
			NoVersion:  c.relists[becauseNoVersion].Load(),
			Restored:   c.relists[becauseRestored].Load(),
		},
		Restores:    c.restores.Load(),
		WatchLists:  c.watchLists.Load(),
		Watches:     c.watches.Load(),
		IdleWatches: c.idle.Load(),
		Added:       c.events[Added].Load(),
		Modified:    c.events[Modified].Load(),
		Deleted:     c.events[Deleted].Load(),
		Bookmarks:   c.events[Bookmark].Load(),
		BadObjects:  c.badObjects.Load(),
		Failures:    c.failures.Load(),
		Listed:      c.listed.Load(),
		Expected:    c.expected.Load(),
	}
	s.Events = c.events[0].Load() + s.Added + s.Modified + s.Deleted + s.Bookmarks
	if r.meter != nil {
		s.Received, s.Decoding = r.meter.Received()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s.SeenVersion, s.Failing = c.rv, c.failing
	if c.last != 0 {
		s.LastEvent = r.made.Add(c.last)
	}
	return s
}
