package informer

import (
	"cmp"
	"slices"
	"sync/atomic"
	"time"

	"github.com/kinform/kinform/internal/door"
	"github.com/kinform/kinform/internal/eventlog"
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

// counters are written by the goroutine that commits and read by any.
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

// Stats returns the counters. It is safe from any goroutine. The counters are read one by one
// and may be of different moments.
//
//go:noinline
func (i *Informer[K, T]) Stats() Stats { return i.engine.Stats() }

//go:noinline
func (i *core[K, T]) Stats() Stats {
	i.mu.Lock()
	var count func(namespace string) int
	if i.over != nil {
		count = i.over.count
	}
	present, namespaces := i.places.stats(count)
	counts := withPast(i, present)
	all, writes := allParts(i), 0
	feeds := make([]*feed[K, T], 0, len(all))
	for _, p := range all {
		if p.feed != nil {
			feeds = append(feeds, p.feed)
		}
		writes += door.Len(&p.own.door)
	}
	i.mu.Unlock()
	pending := 0
	for _, f := range feeds {
		pending += f.fifo.Len() // not with mu held: its lock is taken outside
	}
	counts.BadObjects += i.badObjects.Load()
	return Stats{
		Stats:           counts,
		Objects:         i.store.Len(),
		Pending:         pending,
		ResourceVersion: i.store.ResourceVersion(),
		Batches:         i.counted.batches.Load(),
		Changes:         i.counted.changes.Load(),
		CommitTime:      time.Duration(i.counted.commitTime.Load()),
		Writes:          writes,
		LostWrites:      i.losses.once.Load(),
		HandlerWait:     time.Duration(i.counted.handlerWait.Load()),
		SlowHandlers:    i.counted.slowHandlers.Load(),
		Overruns:        i.counted.overruns.Load(),
		Namespaces:      namespaces,
	}
}

// keepStats adds the counters of a reflector that has ended to those of the others. Called with mu
// held.
func keepStats[K comparable, T any](i *core[K, T], of reflector.Stats) {
	of = withPast(i, of)
	i.past = &of
}

// withPast adds the counters of the reflectors that have ended. Called with mu held.
func withPast[K comparable, T any](i *core[K, T], present reflector.Stats) reflector.Stats {
	if i.past == nil {
		return present
	}
	return sum(*i.past, present)
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
	if a.Failing.Err != nil && (b.Failing.Err == nil || !b.Failing.Since.Before(a.Failing.Since)) {
		all.Failing = a.Failing
	}
	if a.Polling.Every != 0 && (b.Polling.Every == 0 || !b.Polling.Since.Before(a.Polling.Since)) {
		all.Polling = a.Polling
	}
	return all
}

// sum adds the counters of past runs to those of the present one. Received and Decoding belong
// to the source, which outlives a run. Listed and Expected are of one list only, and Failing and
// Polling are of the present run only.
func sum(past, present reflector.Stats) reflector.Stats {
	present.Lists += past.Lists
	present.Relists = sumRelists(past.Relists, present.Relists)
	present.LastRelists = reflector.NewestRelists(present.LastRelists, past.LastRelists)
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
}

// Handlers returns the statistics of all handlers, sorted by name. Loops over Events are
// included. O(handlers).
func (i *Informer[K, T]) Handlers() []HandlerStats { return i.engine.Handlers() }

func (i *core[K, T]) Handlers() []HandlerStats {
	i.mu.Lock()
	defer i.mu.Unlock()
	all := make([]HandlerStats, 0, len(i.listeners))
	for l := range i.listeners {
		all = append(all, l.stats())
	}
	sortHandlers(all)
	return all
}

func sortHandlers(all []HandlerStats) {
	slices.SortFunc(all, func(a, b HandlerStats) int { return cmp.Compare(a.Name, b.Name) })
}

// stats is called with the informer's mu held.
func (l *listener[K, T]) stats() HandlerStats {
	s := HandlerStats{Name: l.reg.name, Lag: eventlog.Lag(l.cursor) + uint64(l.backlog.Load()), Overruns: l.overruns}
	if l.overrun != nil {
		s.Lag = eventlog.Published(&l.inf.log) - l.overrun.from
	}
	select {
	case <-l.reg.synced:
		s.Synced = true
	default:
	}
	return s
}
