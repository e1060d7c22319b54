package informer

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/sharding"

	"github.com/kinform/kinform/internal/hashrange"
	"github.com/kinform/kinform/reflector"
)

// Part says which objects of a resource an informer keeps: those whose hash is in a set.
type Part[T any] struct {
	// Hashes is the set. It must not be nil.
	Hashes *Hashes

	// Hash returns the hash of an object, which must be the same for all states of the object. It
	// must be quick, and runs with a lock held. A panic in it ends Run, like one in a source. Nil
	// means reflector.ShardHash of the field named by Field.
	Hash func(T) uint64

	// Field is the field by which the server can select objects: reflector.ShardUID or
	// reflector.ShardNamespace. Then Hash must be nil. Empty means that the server sends all
	// objects, and those that are not in the set are dropped as they arrive, before they are
	// stored.
	Field string
}

// Has reports whether an object is in the part, by the set as it is now. Errors: [ErrHashes] and
// reflector.ErrBadShard for a part that FollowHashes refuses.
func (p Part[T]) Has(obj T) (bool, error) {
	hash, err := p.hash()
	if err != nil {
		return false, err
	}
	return p.Hashes.Has(hash(obj)), nil
}

func (p Part[T]) hash() (func(T) uint64, error) {
	switch {
	case p.Hashes == nil:
		return nil, fmt.Errorf("%w: Part.Hashes is nil", ErrHashes)
	case (p.Hash == nil) == (p.Field == ""):
		return nil, fmt.Errorf("%w: set either Part.Hash or Part.Field", ErrHashes)
	case p.Field == "":
		return p.Hash, nil
	}
	return reflector.ShardHashOf[T](p.Field)
}

// A union for one part has at most maxPieces members, each with a watch. Besides, it has at most
// maxUnlisted members that have never listed. When one of those has its first list, it takes the
// place of others.
const (
	maxPieces   = 8
	maxUnlisted = 4
)

// FollowHashes makes the objects of source whose hash is in a set the content of the union, now and
// whenever the set changes. The union must have no other members, and gets none: see
// [ErrHashesAlone]. An object outside the set is as if it did not exist.
//
// When ranges leave the set, handlers get a deletion with FinalStateUnknown for each object in
// them. That needs no request. When ranges come, handlers get additions. How they are listed
// depends on the server:
//
//   - A server that selects by Part.Field (feature gate ShardedListAndWatch, alpha in Kubernetes
//     1.36; the answer to a list proves it by ShardInfo) is asked for the new ranges only, in a
//     list and a watch of their own. Ranges that stay are not listed. A watch goes on as long as a
//     part of its ranges stays, and drops the events of ranges that have left. If ranges come when
//     there are eight such watches, one takes the place of all, and begins with a list of the whole
//     part.
//   - Any other server sends all objects, in one list each time that ranges come, because it knows
//     no other way. Only those in the set are kept. The watch from before goes on until that list
//     is complete, so handlers and readers see no change of the objects that stay. Until then the
//     objects of the part that the list has brought are in memory twice.
//
// The first list and watch begin when the first ranges come. [Hashes.WaitForLists] waits for lists.
// Errors: [ErrHashes], [ErrHashesAlone], reflector.ErrNoSource, reflector.ErrBadShard.
func (u *Union[K, T]) FollowHashes(part Part[T], source reflector.Source[T]) error {
	if source == nil {
		return u.members.inf.about(reflector.ErrNoSource)
	}
	hash, err := part.hash()
	if err != nil {
		return u.members.inf.about(err)
	}
	part.Hash = hash
	if !u.standsAlone(true) {
		return u.members.inf.about(ErrHashesAlone)
	}
	p := &parts[K, T]{union: u.members, add: u.add, remove: u.Remove, prune: u.prune, part: part, source: source}
	f := &hashFollower{p.set, p.wait}
	if err := part.Hashes.follow(f); err != nil {
		u.standsAlone(false)
		return err
	}
	u.members.inf.mu.Lock()
	defer u.members.inf.mu.Unlock()
	u.members.parts = append(u.members.parts, f)
	return nil
}

// standsAlone keeps other members out of a union that begins to follow hashes, or lets them in again
// if begins is false. It returns false if the union has other members or follows something already.
func (u *Union[K, T]) standsAlone(begins bool) bool {
	u.members.inf.mu.Lock()
	defer u.members.inf.mu.Unlock()
	if m := u.members; begins && (m.alone || len(m.byName) > 0 || len(m.follows) > 0) {
		return false
	}
	u.members.alone = begins
	return true
}

// prune deletes the objects that a member no longer keeps. Without a session, the list at the
// beginning of the next one does the same.
func (u *Union[K, T]) prune(m *Member[K, T]) {
	u.members.inf.mu.Lock()
	runs, s := u.members.inf.phase == running, u.members.inf.session.Load()
	u.members.inf.mu.Unlock()
	if runs {
		_ = m.sink.Prune(s.Ctx) // fails only if the session ends
	}
}

// parts are the members of a union that follows a set of hashes.
type parts[K comparable, T any] struct {
	// Set once.
	union  *members[K, T]
	add    func(*Member[K, T], membership[K, T]) error
	remove func(name string) bool
	prune  func(*Member[K, T])
	part   Part[T]
	source reflector.Source[T]

	// changes is held during each change, which may wait for room in the queue.
	changes sync.Mutex
	added   int // of all times; guarded by changes

	mu     sync.Mutex
	pieces []*piece[K, T] // in the order in which they were added; written with changes held, too
}

// piece is a member that has some ranges.
type piece[K comparable, T any] struct {
	*Member[K, T]
	ranges atomic.Pointer[[]HashRange] // which only become less; written with the changes of parts held
}

// proved reports whether the server has proved that it selects.
func (x *piece[K, T]) proved() bool { return reflector.ShardProved(x.source) }

// hasListed reports whether the member has listed, in any session.
func (x *piece[K, T]) hasListed() bool {
	select {
	case <-x.Synced():
		return true
	default:
		return false
	}
}

// set takes a new set of ranges.
func (p *parts[K, T]) set(want []HashRange) error {
	p.changes.Lock()
	defer p.changes.Unlock()
	var have []HashRange
	p.drop(func(x *piece[K, T]) bool {
		before := *x.ranges.Load()
		stays := hashrange.Common(before, want, (*HashRange).ends)
		have = append(have, stays...)
		if slices.Equal(before, stays) {
			return false
		}
		x.ranges.Store(&stays)
		p.prune(x.Member) // before it leaves, so that wait knows when the store has lost the objects
		return len(stays) == 0
	})
	come := hashrange.Without(want, joinRanges(have), (*HashRange).ends)
	if len(come) == 0 {
		return nil
	}
	stopped := p.stopYoungest() // whose ranges are to be listed, too
	if !stopped && len(p.pieces) < maxPieces && slices.ContainsFunc(p.pieces, (*piece[K, T]).proved) {
		return p.begin(come, nil)
	}
	return p.begin(want, slices.Clone(p.pieces))
}

// stopYoungest removes the youngest member that has never listed, if there are many: while lists
// fail, each change would add one. The oldest of them goes on, so that a set which changes faster
// than the server lists gets there, too.
func (p *parts[K, T]) stopYoungest() bool {
	var youngest *piece[K, T]
	unlisted := 0
	for _, x := range p.pieces {
		if !x.hasListed() {
			youngest = x
			unlisted++
		}
	}
	if unlisted < maxUnlisted {
		return false
	}
	p.drop(func(x *piece[K, T]) bool { return x == youngest })
	return true
}

// drop removes members. Called with changes held.
func (p *parts[K, T]) drop(which func(*piece[K, T]) bool) {
	var stay []*piece[K, T]
	for _, x := range p.pieces {
		if which(x) {
			p.remove(x.Name())
			continue
		}
		stay = append(stay, x)
	}
	p.keep(stay)
}

// keep makes these the members.
func (p *parts[K, T]) keep(pieces []*piece[K, T]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pieces = pieces
}

// begin adds a member for ranges. When its first list is there, it takes the place of others.
// Called with changes held.
func (p *parts[K, T]) begin(ranges []HashRange, instead []*piece[K, T]) error {
	source, err := p.asks(ranges)
	if err != nil {
		return err
	}
	p.added++
	x := &piece[K, T]{Member: &Member[K, T]{
		name: fmt.Sprintf("part %d", p.added), source: source,
		listed: func() { p.end(instead) }, pages: p.part.Field != "", // for the proof
	}}
	x.ranges.Store(&ranges)
	err = p.add(x.Member, membership[K, T]{has: func(obj T) bool { return inRanges(*x.ranges.Load(), p.part.Hash(obj)) }})
	if err == nil {
		p.keep(append(slices.Clone(p.pieces), x))
	}
	return err
}

// end removes members.
func (p *parts[K, T]) end(old []*piece[K, T]) {
	p.changes.Lock()
	defer p.changes.Unlock()
	p.drop(func(x *piece[K, T]) bool { return slices.Contains(old, x) })
}

// wait waits until the store has lists of all ranges, and nothing outside the set of the last call
// of set.
func (p *parts[K, T]) wait(ctx context.Context, ranges []HashRange) error {
	for {
		moved := p.union.merge.Moved()
		if p.union.merge.Pruned() && len(hashrange.Without(ranges, p.inStore(), (*HashRange).ends)) == 0 {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// inStore returns the ranges of which the store has lists.
func (p *parts[K, T]) inStore() (all []HashRange) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, x := range p.pieces {
		if x.sink.InStore() {
			all = append(all, *x.ranges.Load()...)
		}
	}
	return joinRanges(all)
}

// asks returns a source that asks for ranges.
func (p *parts[K, T]) asks(ranges []HashRange) (reflector.Source[T], error) {
	if p.part.Field == "" {
		return p.source, nil
	}
	var all []sharding.ShardRangeRequirement
	for _, r := range ranges {
		all = append(all, reflector.ShardRange(p.part.Field, r.First, r.Last))
	}
	return reflector.Shard(p.source, sharding.NewSelector(all...))
}
