package reflector

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kinform/kinform/internal/logs"
)

// Stats counts the work of a reflector since New. Its numbers only grow, except for Listed and
// Expected.
type Stats struct {
	// Lists counts the lists handed to the sink. Relists counts the lists that replaced a
	// watch, by reason.
	Lists   uint64
	Relists Relists
	// LastRelists are the newest of these, the newest first. If there were fewer, the rest is zero.
	LastRelists [keptRelists]Relist
	// Recalled counts the objects of lists that were not decoded, because the sink had them in
	// the same state: see [Source].
	Recalled uint64
	// Restores counts the lists of a server that was found restored from a backup.
	Restores uint64
	// WatchLists counts the streaming lists begun. Watches counts the watches, including those
	// that streaming lists went over into.
	WatchLists, Watches uint64
	// ListTime is how long the lists of Lists took, from the first request until the sink was
	// given the last object. ListedInAll is the number of their objects.
	ListTime    time.Duration
	ListedInAll uint64
	// EndedWatches counts the watches that have ended. WatchTime is how long they took, including
	// the streaming lists that they began with. ShortWatches counts the watches that ended within a
	// second and brought nothing: the server refused them, or something closed the connection.
	EndedWatches uint64
	WatchTime    time.Duration
	ShortWatches uint64
	// IdleWatches counts the watches ended after Tuning.IdleTimeout.
	IdleWatches uint64
	// Events counts the watch events handed to the sink, bookmarks included. The other four
	// count them by type. The initial events of a streaming list do not count.
	Events, Added, Modified, Deleted, Bookmarks uint64
	// BadObjects counts the objects reported and skipped.
	BadObjects uint64
	// Failures counts the lists and watches that failed.
	Failures uint64
	// Listed is the number of objects received so far in the list in progress, or in the last
	// one. Expected is the full number, or zero if the server has not said it. The server says
	// it on pages of a list without selectors (ListMeta.remainingItemCount). It does not say
	// it for a streaming list, nor for the first list, at resourceVersion "0", which it
	// answers in one piece.
	Listed, Expected uint64
	// ListingSince is when the list in progress began, zero if there is none. QuietSince is since when nothing of it
	// has come: zero before that takes 10 seconds or more.
	ListingSince, QuietSince time.Time
	// SeenVersion is the newest resourceVersion in the sink, from a list, an event or a
	// bookmark. Empty before the first list.
	SeenVersion string
	// LastEvent is the time when the last watch event went to the sink, bookmarks included.
	// Zero before the first.
	LastEvent time.Time
	// Received is the number of bytes read from the server. Decoding is the time spent on
	// making objects of them. Both are zero unless the source has a method Received: see [Source].
	Received uint64
	Decoding time.Duration
	// Failing says since when, and why, the reflector makes no progress. Zero while all is
	// well, and after Run has ended.
	Failing Failing
	// LastError is the newest failure of a list or a watch, a *RequestError, and LastErrorAt its time. They stay when
	// the failure is over. Nil and zero if no request has failed.
	LastError   error
	LastErrorAt time.Time
	// Polling says that lists alone keep the sink up to date, and how often. Zero while watches do.
	Polling Polling
}

// Failing is a failure that continues. It ends when a list is complete, when an event comes
// or, with a [Server], when a watch is accepted. After a watch that was accepted in vain, the
// next one has to last for a while first. The sink's contents are at least as old as Since.
type Failing struct {
	// Since is the time at which the first request failed, zero if none did.
	Since time.Time
	// Err is the last failure, a *RequestError; nil if there is none.
	Err error
	// Next is the latest time of the next request, which may already be under way. It is zero
	// while the source does not return.
	Next time.Time
}

// Relists counts the lists that replaced a watch, by reason.
type Relists struct {
	// Expired: the server no longer has the version to resume from (410).
	Expired uint64
	// TooLarge: the server does not have that version yet, or was restored from a backup.
	TooLarge uint64
	// OutOfOrder: events that were older than one before.
	OutOfOrder uint64
	// Unreadable: deletions whose object could not be read. It also counts objects that the server could not
	// read from its storage.
	Unreadable uint64
	// Refused: the server found another fault with the request, or did not say what is wrong.
	Refused uint64
	// Failing: watches failed for Backoff.Max, or with InternalErrors for a minute, and
	// brought nothing, or two of them ended at once. It also counts lists in place of watches that were
	// accepted and silent and ended too early: nobody can tell them from watches that fail. And it counts
	// lists that were given up because the server was back from an outage.
	Failing uint64
	// NoVersion: the source has no versions to resume from. It also counts the lists after
	// Tuning.PollInterval.
	NoVersion uint64
	// Restored: see [ErrRestored]. It also counts the lists because the server could not show
	// that it was not restored.
	Restored uint64
	// Ended: the server ended a watch early and kept its connection, as when a
	// CustomResourceDefinition changes. Contents may be new at unchanged versions then. The server
	// usually answers the next watch with 410 Expired, which leads to a list anyway. But if a
	// bookmark has brought the version of the change, the server resumes the watch. So the reflector
	// lists after each such end. Five such lists follow at once, and then one in ten minutes. A list
	// that has to wait follows the end of a later watch on the same connection.
	//
	// A restart of the server ends the connection too and costs no list: when the request for the list
	// gets another connection, the reflector gives it up, and the watch goes on. Ended counts such a
	// request. It needs a source that says which connection its requests use ([Attempt.Connected]), as
	// packages client and with/clientgo do.
	//
	// The reflector does not ask discovery. Its hash of a resource (storageVersionHash) does not
	// change with a default or a webhook, and the OpenAPI document that does change is larger than
	// most lists.
	Ended uint64
	// Moved: the selection of a shard.Part has got more. The watch ended for that.
	Moved uint64
}

// Relist is a list that replaced a watch.
type Relist struct {
	// At is the time at which the reflector decided to list.
	At time.Time
	// Reason is a word of [Relists.ByReason].
	Reason string
}

// keptRelists is the length of Stats.LastRelists.
const keptRelists = 8

// ByReason returns the numbers by words for the reasons, such as "too large", zeros included.
func (r Relists) ByReason() map[string]uint64 {
	all := map[string]uint64{}
	for why, n := range relistFields(&r) {
		if n != nil {
			all[relistReason(why).String()] = *n
		}
	}
	return all
}

// relistFields returns the field of each reason; that of noRelist is nil.
func relistFields(r *Relists) [relistReasons]*uint64 {
	return [relistReasons]*uint64{
		becauseExpired:    &r.Expired,
		becauseTooLarge:   &r.TooLarge,
		becauseOutOfOrder: &r.OutOfOrder,
		becauseUnreadable: &r.Unreadable,
		becauseRefused:    &r.Refused,
		becauseFailing:    &r.Failing,
		becauseNoVersion:  &r.NoVersion,
		becauseRestored:   &r.Restored,
		becauseEnded:      &r.Ended,
		becauseMoved:      &r.Moved,
	}
}

// readCounter is a [Source] that counts what it reads.
type readCounter interface {
	Received() (bytes uint64, decoding time.Duration)
}

// counters are written by the goroutine of Run and read by any.
type counters struct {
	lists, recalled, restores, watchLists, watches, endedWatches, shortWatches, idle, badObjects, failures, listed, listedInAll, expected atomic.Uint64
	listTime, watchTime                                                                                                                   atomic.Int64 // in nanoseconds

	relists [relistReasons]atomic.Uint64
	events  [Bookmark + 1]atomic.Uint64 // by type

	mu   sync.Mutex
	rv   string
	last time.Duration        // since core.made; zero before the first event
	past *[keptRelists]Relist // the newest; nil if there was none

	failing *Failing // nil while all is well
	failed  *failed  // the newest failure; nil before the first
	polling Polling
	listing listing
}

// failed is a request that has failed.
type failed struct {
	err *RequestError
	at  time.Time
}

// listing is the progress of a list. The zero value is none.
type listing struct {
	since, quiet time.Duration // since core.made: when it began, and since when nothing comes; quiet is zero if that is not known
	listed       uint64        // the objects that had come when quiet was set
}

// worksAfter records that watches keep the sink up to date, after a while unless it is stopped.
func (c *counters) worksAfter(d time.Duration) *delayed {
	if d > 0 {
		return later(d, func() { c.polls(Polling{}) })
	}
	c.polls(Polling{})
	return nil
}

// polls records that lists alone keep the sink up to date, or that watches do.
func (c *counters) polls(p Polling) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.polling.Every != 0 && p.Every != 0 {
		p.Since = c.polling.Since
	}
	c.polling = p
}

// fails records a failure at now; a nil error records that the failure is over. The next
// request follows at next at the latest.
func (c *counters) fails(err *RequestError, now, next time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		c.failing = nil
		return
	}
	if c.failing == nil {
		c.failing = &Failing{Since: now}
	}
	c.failing.Err, c.failing.Next = err, next
	c.failed = &failed{err, now}
}

// relisted counts a list that replaces a watch.
func (c *counters) relisted(why relistReason, now time.Time) {
	c.relists[why].Add(1)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.past == nil {
		c.past = &[keptRelists]Relist{}
	}
	copy(c.past[1:], c.past[:])
	c.past[0] = Relist{At: now, Reason: why.String()}
}

// listEnds counts a complete list.
func (c *counters) listEnds(took time.Duration) {
	c.listIsOver()
	c.lists.Add(1)
	c.listTime.Add(int64(took))
	c.listedInAll.Add(c.listed.Load())
}

// watchEnds counts the end of a watch.
func (c *counters) watchEnds(took time.Duration, brought bool) {
	c.endedWatches.Add(1)
	c.watchTime.Add(int64(took))
	if took < time.Second && !brought {
		c.shortWatches.Add(1)
	}
}

// listBegins records that a list of unknown length begins.
func (c *counters) listBegins(at time.Duration) {
	c.listed.Store(0)
	c.expected.Store(0)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listing = listing{since: max(at, 1)}
}

// listIsOver records that there is no list in progress.
func (c *counters) listIsOver() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listing = listing{}
}

// isQuiet records that nothing has come since then, if there is a list in progress.
func (c *counters) isQuiet(since time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.listing.since != 0 {
		c.listing.quiet, c.listing.listed = max(since, 1), c.listed.Load()
	}
}

// applied counts an event that came at the given time.
func (c *counters) applied(typ EventType, rv string, at time.Duration) {
	c.events[min(typ, Bookmark)].Add(1)
	c.saw(rv, max(at, 1))
}

// saw records the newest version, and the time of its event if it came with one.
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

// now is Reflector.Stats. The other two are fields of core.
func (c *counters) now(meter readCounter, made time.Time) Stats {
	s := Stats{
		Lists:        c.lists.Load(),
		Recalled:     c.recalled.Load(),
		Restores:     c.restores.Load(),
		WatchLists:   c.watchLists.Load(),
		Watches:      c.watches.Load(),
		IdleWatches:  c.idle.Load(),
		ListTime:     time.Duration(c.listTime.Load()),
		ListedInAll:  c.listedInAll.Load(),
		WatchTime:    time.Duration(c.watchTime.Load()),
		EndedWatches: c.endedWatches.Load(),
		ShortWatches: c.shortWatches.Load(),
		Added:        c.events[Added].Load(),
		Modified:     c.events[Modified].Load(),
		Deleted:      c.events[Deleted].Load(),
		Bookmarks:    c.events[Bookmark].Load(),
		BadObjects:   c.badObjects.Load(),
		Failures:     c.failures.Load(),
		Listed:       c.listed.Load(),
		Expected:     c.expected.Load(),
	}
	for why, n := range relistFields(&s.Relists) {
		if n != nil {
			*n = c.relists[why].Load()
		}
	}
	s.Events = c.events[0].Load() + s.Added + s.Modified + s.Deleted + s.Bookmarks
	if meter != nil {
		s.Received, s.Decoding = meter.Received()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s.SeenVersion, s.Polling = c.rv, c.polling
	if c.failing != nil {
		s.Failing = *c.failing
	}
	if c.failed != nil {
		s.LastError, s.LastErrorAt = c.failed.err, c.failed.at
	}
	if l := c.listing; l.since != 0 {
		s.ListingSince = made.Add(l.since)
		if l.quiet != 0 && l.listed == s.Listed {
			s.QuietSince = made.Add(l.quiet)
		}
	}
	if c.past != nil {
		s.LastRelists = *c.past
	}
	if c.last != 0 {
		s.LastEvent = made.Add(c.last)
	}
	return s
}

// Polling says that lists alone keep the sink up to date, because watches bring nothing. The zero value
// means that watches do: a watch has brought something, was idle, has lasted as long as requested, or has
// lasted twice as long as the watches that ended too early.
//
// # Watches that fail
//
// If watches fail and bring nothing for Backoff.Max, the reflector lists in place of the next one, and
// again every Backoff.Max, or up to a third later. An event that cannot be used counts as nothing. If
// another request finds that the server is back, the watch goes first. Otherwise all clients would list at
// the end of an outage. Jitter keeps the reflectors of a connection from listing together. If many of them
// are denied, they share four requests a second: a hundred reflectors list every 50 to 75 s, four hundred
// up to every 150 s. After InternalErrors the first such list waits for a minute. Each such list that fails
// doubles the time to the next one, up to ten times. If a [Server] leaves a watch unanswered for
// Backoff.Max, the watch has failed, even if the server would send its header with the first event.
//
// # Silent watches
//
// A watch that is accepted and stays silent has not failed if it lasts for Backoff.Max, or if the server
// closes it in order after a second or more: there may have been nothing to send. But if it ends before the
// time that its request named, it does not show that watches work. Such watches come from proxies that end
// each watch before the first bookmark, and from proxies that swallow all events.
//
// If no other watch comes for five to ten minutes (for ten to twenty times Backoff.Max if that is longer),
// the reflector lists in place of the next one. It repeats this until a watch brings something, is idle for
// Tuning.IdleTimeout, or lasts as long as requested. The interval starts again if the list fails, or if the
// server was away and comes back before the list. If a proxy swallows all events and its watches last as
// long as requested, the reflector does not notice.
//
// # Lists without a version
//
// If a [Server] sends lists without a resourceVersion, as metrics-server does, there is nothing to watch
// from, and the reflector lists every Tuning.PollInterval.
type Polling struct {
	// Since is when that began.
	Since time.Time
	// Every is the time between two lists: Tuning.PollInterval if lists have no version. If watches fail
	// or are silent, the next list is due so long after the last one, and takes the place of the next
	// watch. If many reflectors of a connection are denied, they list less often. Stats.Failing has the
	// reason until the next list, if there is one.
	Every time.Duration
}

// logRelist counts and logs a list in place of a watch from version rv.
func logRelist(stats *counters, log logs.Log, why relistReason, rv string) {
	stats.relisted(why, time.Now())
	log.Debug("lists again", slog.String("reason", why.String()), slog.String("resourceVersion", rv))
}
