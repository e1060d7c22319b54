package informer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// ErrHashes is the cause when ranges of hashes, or a [Part], cannot be used.
var ErrHashes = errors.New("not a part by hashes")

// ErrHashesAlone is returned by [Union.FollowHashes] if the union has other members or follows
// something already, and by [Union.Add] and [Union.Follow] once it follows hashes.
var ErrHashesAlone = errors.New("a union that follows hashes can have no other members and follow nothing else: use another union")

// HashRange is the hashes from First to Last, both included.
type HashRange struct{ First, Last uint64 }

func (r *HashRange) ends() (first, last *uint64) { return &r.First, &r.Last }

// Hashes is a set of hashes that changes while informers follow it, for replicas that divide
// objects among them: see [Union.FollowHashes]. One set may serve the informers of many resources.
// The zero value is an empty set, and works. Do not copy a set. All methods may be called by any
// goroutine, except that handlers must not call Set.
//
// The set does not keep its informers alive.
type Hashes struct {
	// changes is held during each change, so that all followers see the changes in one order.
	changes sync.Mutex

	mu        sync.RWMutex
	followers followers[hashFollower]
	ranges    []HashRange // sorted, and apart
}

// hashFollower is a union that follows a set. The union keeps it alive.
type hashFollower struct {
	set  func(ranges []HashRange) error
	wait func(ctx context.Context, ranges []HashRange) error
}

// Set replaces the set by these ranges, which may overlap. Objects outside the new set leave the
// caches soon, without a request. The informers begin to list the hashes that are new, see
// [Union.FollowHashes]; Set does not wait for that. Errors: [ErrHashes] for a range that ends
// before it begins, and the set stays as it is; those of reflector.Shard, and an informer then
// lacks the new hashes until the next call.
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
	all := living(&h.followers)
	h.mu.Unlock()
	var failed []error
	for _, f := range all {
		failed = append(failed, f.set(joined))
	}
	return errors.Join(failed...)
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

// WaitForLists waits until each informer that follows the set has, in its store, lists of all
// ranges of the set, and no object any more that the last call of Set excluded. It also waits for
// informers that do not run or cannot list, and for what calls of Set bring that have not returned.
// It returns the cause of ctx's end.
func (h *Hashes) WaitForLists(ctx context.Context) error {
	h.mu.Lock()
	all, ranges := living(&h.followers), h.ranges
	h.mu.Unlock()
	for _, f := range all {
		if err := f.wait(ctx, ranges); err != nil {
			return err
		}
	}
	return nil
}

// follow lets f follow the set.
func (h *Hashes) follow(f *hashFollower) error {
	h.changes.Lock()
	defer h.changes.Unlock()
	if err := f.set(h.Ranges()); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.followers.add(f)
	return nil
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
