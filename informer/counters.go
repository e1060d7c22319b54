package informer

import (
	"sync/atomic"
	"time"

	"github.com/kinform/kinform/reflector"
)

// Stats holds an informer's counters and sizes.
type Stats struct {
	// Stats are the reflector's counters over all runs. Here BadObjects also counts objects
	// without a key and objects that the store refused.
	reflector.Stats
	// Objects is the number of objects in the store. Pending is the number of changes that
	// wait to enter it.
	Objects, Pending int
	// ResourceVersion is the store's.
	ResourceVersion string
	// Batches counts the batches that were committed to the store, and Changes their changes: one
	// for each delta. CommitTime is how long the commits took.
	Batches, Changes uint64
	CommitTime       time.Duration
	// Writes is the number of recorded writes that the watch has not brought yet. LostWrites is the number
	// of those that it did not bring in time, each counted once: see [*LostWriteError].
	Writes     int
	LostWrites uint64
	// HandlerWait is how long the informer has waited for its handlers. A wait in progress does not
	// count yet. SlowHandlers counts the [SlowHandlerError]s. Overruns counts how often coalescing
	// handlers were left behind, including removed handlers.
	HandlerWait            time.Duration
	SlowHandlers, Overruns uint64
	// Namespaces says how each namespace is, sorted by name. It is nil for an informer that is not over
	// namespaces.
	Namespaces []NamespaceStats
}

// NamespaceStats says how a namespace of an informer is.
type NamespaceStats struct {
	// Stats are the counters of its reflector in the present run or the last one. Failing says
	// since when and why it fails.
	reflector.Stats
	// Namespace is its name, Resource the name of its source.
	Namespace, Resource string
	// Synced says that the namespace has listed in this run. Late says that the informer no longer
	// waits for its first list.
	Synced, Late bool
	// Objects is the number of its objects in the store.
	Objects int
	// Refused is the last failure if it is permanent, such as a missing permission. It is nil again
	// when a list or a watch has brought something.
	Refused error
}

// HandlerStats describes the progress of a handler.
type HandlerStats struct {
	// Name is the handler's.
	Name string
	// Lag is the number of events that the handler has not finished, including the current one
	// and the initial objects.
	Lag uint64
	// Overruns is the number of times that a coalescing handler was left behind.
	Overruns uint64
	// Synced says that the handler has got all objects that were there when it began.
	Synced bool
	// StuckSince is set if the handler has not returned from a call since then, or longer: see
	// [SlowHandlerError].
	StuckSince time.Time
}

// counters are written by the goroutine that commits, slowHandlers also by the one that reports a stuck handler, and read by any.
type counters struct {
	batches, changes, slowHandlers, overruns atomic.Uint64
	commitTime, handlerWait                  atomic.Int64 // in nanoseconds
}

// committed counts a batch.
func (c *counters) committed(changes int, took time.Duration) {
	c.batches.Add(1)
	c.changes.Add(uint64(changes))
	c.commitTime.Add(int64(took))
}

// together adds up the counters of two reflectors that run side by side.
func together(a, b reflector.Stats) reflector.Stats {
	all := sum(a, b)
	all.Received, all.Decoding = a.Received+b.Received, a.Decoding+b.Decoding
	all.Listed, all.Expected = a.Listed+b.Listed, a.Expected+b.Expected
	if all.LastEvent.Before(a.LastEvent) {
		all.LastEvent = a.LastEvent
	}
	if older(all.SeenVersion, a.SeenVersion) {
		all.SeenVersion = a.SeenVersion
	}
	if all.LastErrorAt.Before(a.LastErrorAt) {
		all.LastError, all.LastErrorAt = a.LastError, a.LastErrorAt
	}
	all.ListingSince, all.QuietSince = earlier(a.ListingSince, b.ListingSince), earlier(a.QuietSince, b.QuietSince)
	if a.Failing.Err != nil && (b.Failing.Err == nil || !b.Failing.Since.Before(a.Failing.Since)) {
		all.Failing = a.Failing
	}
	if a.Polling.Every != 0 && (b.Polling.Every == 0 || !b.Polling.Since.Before(a.Polling.Since)) {
		all.Polling = a.Polling
	}
	return all
}

// earlier returns the earlier of two times that are not zero.
func earlier(a, b time.Time) time.Time {
	if b.IsZero() || !a.IsZero() && a.Before(b) {
		return a
	}
	return b
}

// sum adds the counters of past runs to the present run's. Received and Decoding belong to the
// source, which outlives a run. Listed, Expected, ListingSince and QuietSince are of one list only, and Failing and
// Polling are of the present run only.
func sum(past, present reflector.Stats) reflector.Stats {
	present.Lists += past.Lists
	present.Relists = sumRelists(past.Relists, present.Relists)
	present.LastRelists = newestRelists(present.LastRelists, past.LastRelists)
	present.Recalled += past.Recalled
	present.Restores += past.Restores
	present.WatchLists += past.WatchLists
	present.Watches += past.Watches
	present.ListTime += past.ListTime
	present.ListedInAll += past.ListedInAll
	present.WatchTime += past.WatchTime
	present.EndedWatches += past.EndedWatches
	present.ShortWatches += past.ShortWatches
	present.IdleWatches += past.IdleWatches
	present.Events += past.Events
	present.Added += past.Added
	present.Modified += past.Modified
	present.Deleted += past.Deleted
	present.Bookmarks += past.Bookmarks
	present.BadObjects += past.BadObjects
	present.Failures += past.Failures
	if present.SeenVersion == "" {
		present.SeenVersion = past.SeenVersion
	}
	if present.LastEvent.IsZero() {
		present.LastEvent = past.LastEvent
	}
	if present.LastErrorAt.IsZero() {
		present.LastError, present.LastErrorAt = past.LastError, past.LastErrorAt
	}
	return present
}

func sumRelists(past, present reflector.Relists) reflector.Relists {
	return reflector.Relists{
		Expired:    past.Expired + present.Expired,
		TooLarge:   past.TooLarge + present.TooLarge,
		OutOfOrder: past.OutOfOrder + present.OutOfOrder,
		Unreadable: past.Unreadable + present.Unreadable,
		Refused:    past.Refused + present.Refused,
		Failing:    past.Failing + present.Failing,
		NoVersion:  past.NoVersion + present.NoVersion,
		Restored:   past.Restored + present.Restored,
		Ended:      past.Ended + present.Ended,
		Moved:      past.Moved + present.Moved,
	}
}

// newestRelists returns the newest of two LastRelists.
func newestRelists(a, b [8]reflector.Relist) (all [8]reflector.Relist) {
	for i, x, y := 0, 0, 0; i < len(all); i++ {
		if a[x].At.Before(b[y].At) {
			all[i] = b[y]
			y++
		} else {
			all[i] = a[x]
			x++
		}
	}
	return all
}
