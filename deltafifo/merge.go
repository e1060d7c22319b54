package deltafifo

import (
	"hash/maphash"
	"strconv"
	"sync"

	"github.com/kinform/kinform/internal/objmeta"
	"github.com/kinform/kinform/reflector"
)

// Merge feeds one [DeltaFIFO] from several reflectors, its members, which watch parts of one
// resource on one server: namespaces, or selectors that may overlap. Each [Member] is the sink of
// one reflector. informer.Union uses it; all methods may be called by any goroutine.
//
// An object is there while at least one member has it. Of the states that members send for a key
// the queue gets each newer one once, in the order of their resourceVersions, so the members need
// not be equally fast. The version of a batch is the lowest of all counted members: everything up
// to it is in the queue. A member counts once it has listed, while it is not refused, and if it has
// reached the version that the queue has already. So the version never goes back, unless a server
// was restored.
//
// If a member notices that the server was restored, all other members must list again: see
// [Member.Begin]. The Merge ignores their lists and events from before. The Merge also notices a
// restore itself, by the newest state of an object that one member has brought: another member
// passes the version of that state without an event of the object, even one that it could not use
// ([Member.Unusable]), or brings an object with another UID at that version. The member that
// brought the state may have left by then.
//
// The batch of the first list after a restore is marked as rewound ([Batch.Rewound]), and those of
// the other members' lists as doubtful ([Batch.Doubtful]). Objects may go back in all of them.
//
// A doubt without proof ([reflector.Rewinder]) leads to a list of that member alone, because the others have
// checks of their own. One whose watch is dead and whose connection does not show it keeps its objects
// until reflector.Tuning.IdleTimeout, as without a Merge.
//
// Until somebody notices a restore, an object that was deleted may come back as it was before. A
// restore goes unnoticed if no reflector is left that has seen the lost history, and all lists are
// newer than all versions seen. Then objects and versions may go back without a mark. They are
// right once the server has passed the newest version from before.
//
// Until each member has listed, is refused or is late, the queue gets nothing. Then it gets one
// list of all their objects, by a Replace. At least one of them must have listed.
//
// Cost: about 150 bytes for each object, and O(members) for each event of a member that is the
// furthest behind.
type Merge[K comparable, T any] struct {
	// Set by NewMerge and never changed.
	key  func(T) (K, error)
	bad  func(*reflector.ObjectError)
	meta objmeta.Reader[T]
	seed maphash.Seed // of holding.uid

	// mu is locked inside the lock of a queue. While members feed the queue, they hold both, so
	// that table and queue always agree. It is not the queue's lock, because informers read the table
	// with their own lock held, and the queue calls their store.
	mu       sync.Mutex
	fifo     *DeltaFIFO[K, T] // of the session; nil before the first
	members  map[*Member[K, T]]struct{}
	joined   uint32 // number of the member that joined last
	epoch    uint32 // counts sessions and noticed restores of the server
	restore  uint32 // the epoch that the last restore began; zero if there was none
	held     map[K]holding
	buried   []burial[K]
	at       uint64 // the version of the queue; zero if none is known
	furthest uint64 // the newest version that a member has brought since the last restore

	initial           *Objects[K, T] // the objects so far, until the first Replace of a session; then nil
	rewound, doubtful bool           // of the initial lists
	unmarked          bool           // no batch is marked as rewound since the last restore was noticed
	marked, doubted   uint64         // numbers of the last batches that are marked as rewound, and as doubtful
	committed         uint64         // number of the last batch that is in the store
	taken             uint64         // number of the last batch that the consumer had taken at the last change
	moved             chan struct{}  // closed at the next change; nil while nobody waits
	passed            []K            // see Passed
	changed           bool           // other members may have a key than before; see Passed
}

// holding is the state of a key in the queue and in the store.
type holding struct {
	members int32  // number of members that have it
	uid     uint32 // hash of the UID in the newest state; zero if not known
	at      uint64 // version of the newest state that the queue has got; zero if not known
	by      uint32 // number of the member that brought this state
	epoch   uint32 // in which it did so
	gone    bool   // this state is the deletion
	// until is the version at which the object is certainly gone, if its deletion may be later than
	// at. Then the newest known state has the version at-1. Otherwise until is zero.
	until uint64
}

// deleted returns the deletion of the state.
func (h holding) deleted() holding {
	return holding{at: h.at, epoch: h.epoch, gone: true, until: h.until}
}

// burial is a key whose deletion must be remembered until no member can send an older state.
type burial[K comparable] struct {
	key K
	at  uint64
}

// maxBuried is the largest number of deletions that are remembered.
const maxBuried = 10_000

// NewMerge returns a Merge without members. key and bad are as for [NewSink].
func NewMerge[K comparable, T any](key func(T) (K, error), bad func(*reflector.ObjectError)) *Merge[K, T] {
	return &Merge[K, T]{
		key: key, bad: bad, meta: objmeta.Of[T](), seed: maphash.MakeSeed(),
		members: map[*Member[K, T]]struct{}{}, held: map[K]holding{},
	}
}

// Begin lets the members feed f from now on, which must be empty. No reflector may run. Objects in
// f's known store stay until all members have listed, and those of refused members longer. Call
// [Merge.Check] next.
func (g *Merge[K, T]) Begin(f *DeltaFIFO[K, T]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.rewound = g.rewound || g.unmarked || g.marked > g.committed // the store does not have that batch
	g.doubtful = g.doubtful || g.doubted > g.committed
	g.fifo, g.initial, g.marked, g.doubted, g.committed, g.taken = f, &Objects[K, T]{}, 0, 0, 0, 0
	g.begin()
	for m := range g.members {
		m.listed, m.refused, m.late, m.counted, m.current = false, false, false, false, false
		m.floor, m.epoch, m.again, m.owed = 0, g.epoch, nil, nil
	}
	g.unversion() // deltas of the session before may not have reached the store
	g.changed = true
}

// Check passes on an empty list if there are no members. It must not be called with a lock held
// that the queue's known store needs.
func (g *Merge[K, T]) Check() {
	f := g.queue()
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		g.apply(f, func() bool { return true })
	}
}

// Committed says that the store has batch. Members that listed in it count in [Merge.Covers] from
// now on.
func (g *Merge[K, T]) Committed(batch Batch[K, T]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if batch.buf != nil {
		g.committed = batch.buf.batch
	}
	g.signal()
}

// Moved returns a channel that is closed at the next change of the queue, or of what the store has.
func (g *Merge[K, T]) Moved() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.moved == nil {
		g.moved = make(chan struct{})
	}
	return g.moved
}

// signal closes the channel of Moved. Called with mu held.
func (g *Merge[K, T]) signal() {
	if g.moved != nil {
		close(g.moved)
		g.moved = nil
	}
}

// Covers reports whether the version of the store tells how new its state of key is: whether each
// member that may have the key counts, and its list is in the store. O(members).
func (g *Merge[K, T]) Covers(key K) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return !g.some(key, func(m *Member[K, T]) bool { return !m.counted || m.since > g.committed })
}

// MayHave reports whether there is a member that may have the key. O(members).
func (g *Merge[K, T]) MayHave(key K) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.some(key, func(*Member[K, T]) bool { return true })
}

// Listing reports whether a first list that may have the key is not in the store yet, though its
// member is not refused. O(members).
func (g *Merge[K, T]) Listing(key K) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.some(key, func(m *Member[K, T]) bool {
		return !m.listed && !m.refused || m.listed && m.first > g.committed
	})
}

// Lacks reports whether no member has an object of key, though each that may have it counts and has
// reached version. O(members).
func (g *Merge[K, T]) Lacks(key K, version string) bool {
	at := number(version)
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.held[key].members == 0 && !g.some(key, func(m *Member[K, T]) bool { return !m.counted || m.at < at })
}

// Settled reports whether the store has every batch that the consumer had taken when a member last
// brought something. All that has come since is then in one batch, so the next commit leads to what
// the members have now. Otherwise the next commit may still bring a state from before.
func (g *Merge[K, T]) Settled() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.committed >= g.taken
}

// newestBatch returns the number of the batch after which the store has all that the queue has got.
// Called with all locks held.
func (g *Merge[K, T]) newestBatch(f *DeltaFIFO[K, T]) uint64 {
	if g.initial != nil || !f.pending.empty() {
		return f.batches + 1
	}
	return f.batches
}

// some reports whether is holds for a member that may have key. Called with mu held.
func (g *Merge[K, T]) some(key K, is func(*Member[K, T]) bool) bool {
	for m := range g.members {
		if is(m) && (m.covers == nil || m.covers(key)) {
			return true
		}
	}
	return false
}

func (g *Merge[K, T]) queue() *DeltaFIFO[K, T] {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.fifo
}

// apply makes a change of the table and of f, and everything that follows from it. Called with f's
// lock held.
func (g *Merge[K, T]) apply(f *DeltaFIFO[K, T], change func() (recount bool)) {
	version, list := g.change(f, change)
	if list != nil {
		f.replace(*list) // not with mu held: it calls methods of the known store
	} else {
		f.moved(version)
	}
}

// change is the part of apply that needs mu. It returns the version if it moved, and the initial
// list if that is complete.
func (g *Merge[K, T]) change(f *DeltaFIFO[K, T], change func() (recount bool)) (version string, list *Replacement[K, T]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.taken = f.batches
	defer g.signal()
	moved := change() && g.advance(f)
	if g.initial != nil && g.complete() {
		list = &Replacement[K, T]{Objects: g.initial, ResourceVersion: g.version(), Keep: g.isHeld, Rewound: g.rewound, Doubtful: g.doubtful}
		list.Objects.settle()
		if g.rewound {
			g.marked = f.batches + 1
		}
		if g.doubtful {
			g.doubted = f.batches + 1
		}
		g.initial, g.rewound, g.doubtful = nil, false, false
		return "", list
	}
	if moved && g.initial == nil {
		version = g.version()
	}
	return version, nil
}

// advance counts the members, and moves the version to the lowest one that counts.
func (g *Merge[K, T]) advance(f *DeltaFIFO[K, T]) (moved bool) {
	lowest := uint64(0)
	var renewed []*Member[K, T]
	for m := range g.members {
		counts := m.current && !m.refused && m.at >= g.at
		if counts && !m.counted {
			renewed = append(renewed, m)
		}
		if m.counted = counts; counts && (lowest == 0 || m.at < lowest) {
			lowest = m.at
		}
	}
	for _, m := range renewed {
		if m.since = f.batches; lowest > g.at || g.initial != nil || !f.pending.empty() {
			m.since++ // otherwise there is no next batch yet
		}
	}
	if lowest <= g.at {
		return false
	}
	g.at = lowest
	g.forget()
	return true
}

// complete reports whether the initial list is complete.
func (g *Merge[K, T]) complete() bool {
	listed := 0
	for m := range g.members {
		if m.current {
			listed++
		} else if !m.refused && !m.late {
			return false
		}
	}
	return listed > 0 || len(g.members) == 0
}

// Waiting reports whether the queue has not got the first list of this session yet.
func (g *Merge[K, T]) Waiting() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.initial != nil
}

// isHeld is the Replacement.Keep of the initial list. It keeps the objects of members that are
// refused or late, and those that other lists skipped.
func (g *Merge[K, T]) isHeld(key K, _ T) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	h := g.held[key]
	return h.members > 0 && !h.gone
}

// bury remembers the deletion h of key, so that a member which is behind does not bring the object
// back. at is the version that the member which brought the deletion has reached.
func (g *Merge[K, T]) bury(key K, h holding, at uint64) {
	if len(g.members) < 2 && h.at <= at || h.at <= g.at && !g.isBehind(key, h.at) {
		delete(g.held, key)
		return
	}
	g.held[key] = h
	if g.buried = append(g.buried, burial[K]{key, h.at}); len(g.buried) > maxBuried {
		g.exhume()
	}
}

// isBehind reports whether a member may bring a state of key from before a version that the queue
// has: its list is on its way, or it does not count, and so does not hold up the queue's version.
func (g *Merge[K, T]) isBehind(key K, at uint64) bool {
	return g.some(key, func(m *Member[K, T]) bool { return !m.current || m.at < at })
}

// forget drops the deletions that every member has passed. They are roughly in the order of their
// versions.
func (g *Merge[K, T]) forget() {
	for len(g.buried) > 0 && g.buried[0].at <= g.at && !g.isBehind(g.buried[0].key, g.buried[0].at) {
		g.exhume()
	}
	if len(g.buried) == 0 {
		g.buried = nil
	}
}

// exhume drops the oldest deletion.
func (g *Merge[K, T]) exhume() {
	first := g.buried[0]
	g.buried = g.buried[1:]
	if h := g.held[first.key]; h.members == 0 && h.at <= first.at {
		delete(g.held, first.key)
	}
}

// restored begins an epoch, because the server was restored: versions no longer compare with those
// from before. m is the member that has noticed the restore and is about to list, or nil if the
// Merge itself has noticed it.
//
// The lists and events of the other members may be of the lost history. That cannot be known, not
// even of a list that is newer than it. So they are ignored from now on, until these members have
// begun again. Then all states that the queue gets within an epoch are of one history, unless the
// server is restored once more and nobody has noticed that yet.
func (g *Merge[K, T]) restored(m *Member[K, T]) {
	g.begin()
	g.at, g.furthest, g.restore, g.unmarked, g.changed = 0, 0, g.epoch, true, true
	for other := range g.members {
		other.at, other.current, other.counted, other.floor, other.owed = 0, false, false, 0, nil
		other.outdated = other.outdated || other == m || len(other.keys) > 0
		if other == m {
			m.epoch = g.epoch
		} else if other.again != nil {
			other.again()
			other.again = nil
		}
	}
	g.unversion()
	g.signal()
}

// mark marks the next batch, which has a list or a state from after a restore. Only the first such
// batch is marked as rewound, so that waits which begin after it do not fail. A later one is
// doubtful: objects may go back in it, but the version does not.
func (g *Merge[K, T]) mark(f *DeltaFIFO[K, T]) {
	if !g.unmarked {
		g.doubt(f)
		return
	}
	g.unmarked = false
	if g.initial != nil {
		g.rewound = true
		return
	}
	f.pending.rewound, f.pending.moved = true, true
	g.marked = f.batches + 1
}

// doubt marks the next batch as doubtful.
func (g *Merge[K, T]) doubt(f *DeltaFIFO[K, T]) {
	if g.initial != nil {
		g.doubtful = true
		return
	}
	f.pending.doubtful, f.pending.moved = true, true
	g.doubted = f.batches + 1
}

// begin begins an epoch, and forgets the versions from before.
func (g *Merge[K, T]) begin() {
	g.epoch++
	g.buried = nil
}

// unversion forgets the versions of the states and deletions that the queue has got in earlier
// epochs. O(keys × members).
func (g *Merge[K, T]) unversion() {
	for key, h := range g.held {
		switch {
		case h.epoch == g.epoch:
		case h.members == 0:
			delete(g.held, key)
		default:
			g.held[key] = holding{members: h.members, by: h.by, epoch: h.epoch, gone: h.gone}
			for m := range g.members {
				if _, has := m.keys[key]; has {
					m.keys[key] = 0
				}
			}
		}
	}
}

// uidOf returns a hash of an object's UID, or zero if it has none. The UID itself would take 16
// bytes in the table in place of 4, and would keep its text in memory.
func (g *Merge[K, T]) uidOf(obj T) uint32 {
	uid := g.meta.UID(obj)
	if uid == "" {
		return 0
	}
	return max(1, uint32(maphash.String(g.seed, string(uid))))
}

// version returns the version of the queue.
func (g *Merge[K, T]) version() string { return text(g.at) }

// text returns a version as a text.
func text(version uint64) string {
	if version == 0 {
		return ""
	}
	return strconv.FormatUint(version, 10)
}

// number returns a version as a number, and zero if it is none.
func number(version string) uint64 {
	n, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
