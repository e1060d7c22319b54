package informer

import (
	"cmp"
	"slices"
	"time"

	"github.com/kinform/kinform/deltafifo"
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
	var s Stats
	i.mu.Lock()
	fifos := make([]*deltafifo.DeltaFIFO[K, T], 0, 1)
	for _, p := range allParts(i) {
		if p.feed != nil {
			fifos = append(fifos, p.feed.fifo)
		}
		s.Writes += door.Len(&p.own.door)
	}
	var count func(namespace string) int
	if i.over != nil {
		count = i.over.count
	}
	commonStats(&i.base, &s, count)
	i.mu.Unlock()
	for _, fifo := range fifos {
		s.Pending += fifo.Len() // not with mu held: its lock is taken outside
	}
	s.Objects, s.ResourceVersion = i.store.Len(), i.store.ResourceVersion()
	return s
}

// commonStats adds what base knows. Called with mu held.
func commonStats(i *base, s *Stats, count func(namespace string) int) {
	s.Stats, s.Namespaces = i.places.stats(count)
	s.Stats = withPast(i.past, s.Stats)
	s.BadObjects += i.badObjects.Load()
	s.Batches = i.counted.batches.Load()
	s.Changes = i.counted.changes.Load()
	s.CommitTime = time.Duration(i.counted.commitTime.Load())
	s.LostWrites = i.lost.once.Load()
	s.HandlerWait = time.Duration(i.counted.handlerWait.Load())
	s.SlowHandlers = i.counted.slowHandlers.Load()
	s.Overruns = i.counted.overruns.Load()
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
