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
	queues := make([]*deltafifo.Sink[K, T], 0, 1)
	for _, p := range allParts(i) {
		if p.feed != nil {
			queues = append(queues, p.feed.to)
		}
		s.Writes += door.Len(&p.own.door)
	}
	var count func(namespace string) int
	if i.over != nil {
		count = i.over.count
	}
	commonStats(&i.base, &s, count)
	i.mu.Unlock()
	for _, queue := range queues {
		s.Pending += queue.Len() // not with mu held: its lock is taken outside
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

func (i *base) Handlers() []HandlerStats {
	i.mu.Lock()
	defer i.mu.Unlock()
	seen := i.handlers()
	all := make([]HandlerStats, 0, len(seen))
	for _, h := range seen {
		all = append(all, h.stats())
	}
	sortHandlers(all)
	return all
}

// handlerState is what base sees of a handler.
type handlerState struct {
	reg      *Registration
	behind   uint64 // events of the log
	lag      uint64 // the same, and what comes before them
	busy     bool   // the informer calls the handler, or is about to
	coalesce bool
	overruns uint64
}

func (h *handlerState) stats() HandlerStats {
	s := HandlerStats{Name: h.reg.name, Lag: h.lag, Overruns: h.overruns}
	if h.busy {
		s.StuckSince = h.reg.calls.stuckSince()
	}
	select {
	case <-h.reg.synced:
		s.Synced = true
	default:
	}
	return s
}

// handlersOf returns the states of all handlers. Called with mu held.
func handlersOf[K comparable, T any](i *core[K, T]) []handlerState {
	all := make([]handlerState, 0, len(i.listeners))
	for l := range i.listeners {
		h := handlerState{reg: l.reg, behind: eventlog.Lag(l.cursor), busy: isBusy(l), coalesce: l.opts.Coalesce, overruns: l.overruns}
		if h.lag = h.behind + uint64(l.backlog.Load()); l.overrun != nil {
			h.lag = eventlog.Published(&i.log) - l.overrun.from
		}
		all = append(all, h)
	}
	return all
}

func sortHandlers(all []HandlerStats) {
	slices.SortFunc(all, func(a, b HandlerStats) int { return cmp.Compare(a.Name, b.Name) })
}
