package informer

import (
	"cmp"
	"slices"
	"time"

	"github.com/kinform/kinform/internal/door"
	"github.com/kinform/kinform/internal/eventlog"
	"github.com/kinform/kinform/reflector"
)

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
	counts := withPast(i.past, present)
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
		LostWrites:      i.lost.once.Load(),
		HandlerWait:     time.Duration(i.counted.handlerWait.Load()),
		SlowHandlers:    i.counted.slowHandlers.Load(),
		Overruns:        i.counted.overruns.Load(),
		Namespaces:      namespaces,
	}
}

// keepStats adds the counters of a reflector that has ended to past. Called with mu held.
//
//go:noinline
func keepStats(past **reflector.Stats, of reflector.Stats) {
	of = withPast(*past, of)
	*past = &of
}

// withPast returns the counters of the present reflectors plus those of ended reflectors, if there are any.
// Called with mu held.
//
//go:noinline
func withPast(past *reflector.Stats, present reflector.Stats) reflector.Stats {
	if past == nil {
		return present
	}
	return sum(*past, present)
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

// lagOf is called with the informer's mu held.
//
//go:noinline
func lagOf[K comparable, T any](l *listener[K, T]) uint64 {
	if l.overrun != nil {
		return eventlog.Published(&l.inf.log) - l.overrun.from
	}
	return eventlog.Lag(l.cursor) + uint64(l.backlog.Load())
}

// stats is called with the informer's mu held.
func (l *listener[K, T]) stats() HandlerStats {
	s := HandlerStats{Name: l.reg.name, Lag: lagOf(l), Overruns: l.overruns}
	if isBusy(l) {
		s.StuckSince = l.reg.calls.stuckSince()
	}
	select {
	case <-l.reg.synced:
		s.Synced = true
	default:
	}
	return s
}
