package shard

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/kinform/kinform/internal/followers"
)

// HashRange is the hashes from First to Last, both included.
type HashRange struct{ First, Last uint64 }

func (r *HashRange) ends() (first, last *uint64) { return &r.First, &r.Last }

// Hashes is a set of hashes that changes while caches follow it, for replicas that divide objects
// among them: see [Part]. One set may serve the caches of many resources. The zero value is an
// empty set, and works. Do not copy a set. All methods may be called by any goroutine, except that
// handlers must not call Set.
//
// The set does not keep its caches alive.
type Hashes struct {
	// changes is held during each change, so that all followers see the changes in one order.
	changes sync.Mutex

	mu        sync.RWMutex
	followers followers.Of[follower] // their sources keep them alive
	ranges    []HashRange            // sorted, and apart
}

// Set replaces the set by these ranges, which may overlap. Objects outside the new set leave the
// caches soon, without a request. The caches begin to list if there are new hashes, see [Part]; Set
// does not wait for that. It waits while a slow handler holds up a cache that objects are to leave.
// Errors: [ErrHashes] for a range that ends before it begins, and the set stays as it is.
func (h *Hashes) Set(ranges ...HashRange) error {
	for _, r := range ranges {
		if r.Last < r.First {
			return fmt.Errorf("%w: the range from %016x to %016x ends before it begins", ErrHashes, r.First, r.Last)
		}
	}
	h.changes.Lock()
	defer h.changes.Unlock()
	joined := joinRanges(ranges)
	h.mu.Lock()
	h.ranges = joined
	all := followers.Living(&h.followers)
	h.mu.Unlock()
	for _, f := range all {
		f.set(joined)
	}
	return nil
}

// Ranges returns the set: sorted ranges that do not touch.
func (h *Hashes) Ranges() []HashRange {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return slices.Clone(h.ranges)
}

// Has reports whether a hash is in the set.
func (h *Hashes) Has(hash uint64) bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return inRanges(h.ranges, hash)
}

// WaitForLists waits until each cache that follows the set has lists of all ranges of the set, and
// no object any more that the last call of Set excluded. It also waits for caches that do not run
// or cannot list, and for what calls of Set bring that have not returned. Ranges that leave the set
// meanwhile are not waited for. It returns the cause of ctx's end.
func (h *Hashes) WaitForLists(ctx context.Context) error {
	h.mu.Lock()
	all, ranges := followers.Living(&h.followers), h.ranges
	h.mu.Unlock()
	for _, f := range all {
		if err := f.wait(ctx, ranges); err != nil {
			return err
		}
	}
	return nil
}

// follow lets f follow the set.
func (h *Hashes) follow(f *follower) {
	h.changes.Lock()
	defer h.changes.Unlock()
	f.set(h.Ranges())
	h.mu.Lock()
	defer h.mu.Unlock()
	h.followers.Add(f)
}

// joinRanges returns the same hashes as sorted ranges that do not touch.
func joinRanges(ranges []HashRange) (joined []HashRange) {
	for _, r := range slices.SortedFunc(slices.Values(ranges), func(a, b HashRange) int { return cmp.Compare(a.First, b.First) }) {
		if n := len(joined) - 1; n >= 0 && (r.First == 0 || r.First-1 <= joined[n].Last) {
			joined[n].Last = max(joined[n].Last, r.Last)
			continue
		}
		joined = append(joined, r)
	}
	return joined
}

func inRanges(ranges []HashRange, hash uint64) bool {
	for _, r := range ranges {
		if r.First <= hash && hash <= r.Last {
			return true
		}
	}
	return false
}
