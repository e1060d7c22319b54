package informer

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/kinform/kinform/internal/coverage"
	"github.com/kinform/kinform/reflector"
)

// place is what a part is to the others of its informer: how far it is, and who waits for it. It handles no
// key and no object, so it has no type parameter.
type place struct {
	namespace string // empty if it is the only part; set once

	brought atomic.Bool // a list in progress has delivered something since the flag was taken
	failed  atomic.Bool // a request has failed since another part has listed
	ill     atomic.Bool // nobody waits for it, because its requests are refused or fail for long

	// Guarded by the informer's mu.
	resource  string                 // the name of its source
	counts    func() reflector.Stats // of its reflector in the present run or the last one; nil before the first
	end       context.CancelFunc     // ends its reflector; nil before the first of a run
	refused   error                  // a failure that a retry cannot mend, of a list or of a watch after one; nil if there is none
	unwatched error                  // the same of a watch, until the list before it is in the store
	at        uint64                 // the version that list and watch have brought to the store; 0 if not known
	counted   bool                   // at counted when the version of the store was found last
	listed    bool                   // its first list of this run is in the store
	late      bool                   // nobody waits for that list
	again     bool                   // another one has shown that the server was restored: a list follows
	newest    bool                   // its first list must be the newest
	removed   bool                   // nothing of it enters any more
}

// places are the parts of an informer as far as they depend on each other. Guarded by the informer's mu.
type places struct {
	divided  bool     // by namespace
	all      []*place // in the order of the namespaces
	lowest   uint64   // the version of the store, as far as the present history tells
	moved    bool     // the store has had a version
	restores int      // how often the server was restored, as far as a part has shown it
	awaiting bool     // a goroutine waits for parts that have not listed
}

func (s *places) add(p *place) {
	s.all = append(s.all, p)
	slices.SortFunc(s.all, func(a, b *place) int { return cmp.Compare(a.namespace, b.namespace) })
}

func (s *places) remove(p *place) {
	p.removed = true
	if p.end != nil {
		p.end()
	}
	s.all = slices.DeleteFunc(s.all, func(other *place) bool { return other == p })
}

// renew prepares a part for a run.
func (p *place) renew() {
	p.failed.Store(false)
	p.ill.Store(false)
	p.refused, p.unwatched, p.counts, p.end, p.listed, p.late = nil, nil, nil, nil, false, false
}

// hasListed notes that the first list of a run is in the store.
func (p *place) hasListed() {
	p.listed, p.late = true, false
	if p.unwatched != nil {
		p.refused, p.unwatched = p.unwatched, nil
		p.ill.Store(true)
	}
}

// countsOf returns the counters of a part's present reflector.
func countsOf(p *place) reflector.Stats {
	if p.counts == nil {
		return reflector.Stats{}
	}
	return p.counts()
}

// stats adds up the counters of all present reflectors, and returns how each namespace is; count returns the
// number of its objects, and is nil if they are not asked for. Failing and Polling come from the part that
// has failed, or has lived by lists, for longest.
func (s *places) stats(count func(namespace string) int) (all reflector.Stats, each []NamespaceStats) {
	if count != nil {
		each = make([]NamespaceStats, 0, len(s.all))
	}
	for n, p := range s.all {
		one := countsOf(p)
		if n == 0 {
			all = one
		} else {
			all = together(all, one)
		}
		if count != nil {
			each = append(each, NamespaceStats{
				Stats: one, Namespace: p.namespace, Resource: p.resource, Synced: p.listed, Late: p.late,
				Objects: count(p.namespace), Refused: p.refused,
			})
		}
	}
	return all, each
}

// reach moves a part to a version, 0 if it does not move, and returns the store's: 0 if it stays,
// as it does at first until each part that is waited for has listed.
func (s *places) reach(p *place, at uint64) uint64 {
	before := p.at
	if p.again {
		return 0 // it may be of a lost history
	}
	p.at = max(at, before)
	if p.counted && (p.at == before || before > s.lowest) || !s.moved && !s.haveListed() {
		return 0 // it has not moved, or another one is the lowest
	}
	return s.recount()
}

// recount returns the version of the part that is furthest behind, of those that are at least as far as the
// store; 0 if there is none.
func (s *places) recount() (lowest uint64) {
	for _, p := range s.all {
		if p.counted = s.isCurrent(p); p.counted && (lowest == 0 || p.at < lowest) {
			lowest = p.at
		}
	}
	s.lowest = max(s.lowest, lowest)
	s.moved = s.moved || lowest != 0
	return lowest
}

// isCurrent reports whether the store's version tells how new the store's objects of a part are.
func (s *places) isCurrent(p *place) bool {
	return p.at != 0 && p.at >= s.lowest && !p.ill.Load() && !p.late && !p.again
}

// restored follows the list of a server that was restored, which is about to be committed. If its part has
// found that out, all others list again, and the version of the store is this part's.
func (s *places) restored(by *place) (found bool) {
	by.at = 0
	if by.again {
		by.again = false
		return false
	}
	s.lowest = 0
	s.restores++
	for _, p := range s.all {
		if p == by {
			continue
		}
		if p.again = true; p.end != nil {
			p.end()
		}
	}
	return true
}

// coverage says what the store knows of a part.
func (s *places) coverage(p *place) coverage.Coverage {
	switch ill := p.ill.Load(); {
	case !p.listed && !ill:
		return coverage.Listing
	case !p.listed && (p.refused != nil || p.at == 0):
		return coverage.Uncovered
	case ill, s.divided && !s.isCurrent(p):
		return coverage.Stale
	}
	return coverage.Covered
}

// haveListed reports whether the store has the first list of each part that is waited for.
func (s *places) haveListed() bool {
	return !s.awaitsAny() && (len(s.all) == 0 || slices.ContainsFunc(s.all, func(p *place) bool { return p.listed }))
}

// awaits reports whether the informer waits for the first list of a part.
func (s *places) awaits(p *place) bool {
	return !p.listed && !p.late && !(s.divided && p.ill.Load())
}

// awaitsAny reports whether the informer waits for the first list of any part.
func (s *places) awaitsAny() bool { return slices.ContainsFunc(s.all, s.awaits) }

// lags reports whether the informer waits for a part although another one has listed.
func (s *places) lags() bool {
	return s.awaitsAny() && slices.ContainsFunc(s.all, func(p *place) bool { return p.listed })
}

// refusal returns why the informer does not sync without help: all parts are refused. Nil if one is not.
func (s *places) refusal() error {
	var all []error
	for _, p := range s.all {
		if p.refused == nil {
			return nil
		}
		all = append(all, p.refused)
	}
	if len(all) == 1 {
		return all[0]
	}
	return errors.Join(all...)
}

// fail notes the failure of a request.
func (s *places) fail(p *place, failed *reflector.RequestError) {
	p.failed.Store(true)
	p.refused, p.unwatched = nil, nil // the request got further than before, though it failed
	switch {
	case !failed.Lasting():
	case failed.Verb == "watch" && !p.listed: // its list is on its way into the store
		p.unwatched = failed
	default:
		p.refused = failed
	}
	since := countsOf(p).Failing.Since
	long := p.listed && !since.IsZero() && time.Since(since) >= lateAfter
	if p.refused != nil || long {
		p.ill.Store(true)
	}
}

// awaitNewly begins the wait of dropIdle: what has come or failed before does not count.
func (s *places) awaitNewly() {
	for _, p := range s.all {
		p.brought.Store(false)
		p.failed.Store(false)
	}
}

// dropIdle makes the parts late that are awaited, and that have brought nothing since the last
// call though they have asked.
func (s *places) dropIdle(now time.Time) (all []*LateNamespaceError) {
	for _, p := range s.all {
		failing := countsOf(p).Failing
		pauses := !p.failed.Load() && failing.Next.After(now.Add(-lateAfter)) // or did so lately
		if brought := p.brought.Swap(false); !brought && !pauses && s.awaits(p) {
			p.late = true
			all = append(all, &LateNamespaceError{Resource: p.resource, Namespace: p.namespace, Failing: failing})
		}
	}
	return all
}
