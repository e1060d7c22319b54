package deltafifo

import (
	"cmp"
	"context"
	"maps"
	"math"
	"reflect"

	"github.com/kinform/kinform/internal/door"
	"github.com/kinform/kinform/reflector"
)

// Member is the sink of one reflector of a [Merge]. Its methods Listed, Skipped, Discard, Replace,
// Apply, ApplyNow and Rewound belong to the goroutine of the reflector's Run. Call [Member.Begin]
// before each Run.
type Member[K comparable, T any] struct {
	*Sink[K, T] // the list in progress

	// Set when it is made and never changed.
	merge  *Merge[K, T]
	covers func(K) bool // nil for every key
	number uint32       // among all that joined; not zero

	// Guarded by the Merge's mu.
	keys    map[K]uint64 // of the objects that the member has: the versions that it brought last; zero if not known
	at      uint64       // its version; zero if not known
	listed  bool         // in this session
	refused bool
	late    bool   // nobody waits for its first list any more
	counted bool   // its version counts
	since   uint64 // number of the batch that has its state of the moment from which it counts
	first   uint64 // number of the batch that has its first list of the session

	// See Merge.restored. Lists and events of its reflector are ignored unless epoch equals
	// Merge.epoch.
	epoch    uint32 // the epoch in which its reflector began, or the one that its reflector began
	current  bool   // it has listed in this epoch
	outdated bool   // it has objects from before a restore
	floor    uint64 // the version that the first list of its reflector must have at least
	again    func() // asks for another reflector; may be nil

	owed    map[K]struct{} // debts, see owe
	unread  map[K]struct{} // keys whose state in its last list was unusable, so that it owes nothing; nil for none
	due     uint64         // the newest version of all debts
	refutes bool           // it has just brought another UID at the version of a state that the queue has

	unusable unusable // objects of events since its last list

	ahead door.Queue[K] // see Merge.Await
}

// Join adds a member. covers reports whether the member can have a key. It runs with a lock held. Nil
// means every key.
func (g *Merge[K, T]) Join(covers func(K) bool) *Member[K, T] {
	m := &Member[K, T]{Sink: NewSink[K, T](nil, g.key, g.bad), merge: g, covers: covers, keys: map[K]uint64{}}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.joined++
	m.number, m.epoch = g.joined, g.epoch
	g.members[m] = struct{}{}
	g.changed = true
	return m
}

// Replace implements reflector.Sink for the objects of this member.
func (m *Member[K, T]) Replace(ctx context.Context, resourceVersion string) error {
	defer m.Discard()
	f := m.merge.queue()
	known, ok := f.known.(Comparer[K, T])
	repeat := ok && !known.Omits(resourceVersion) // the consumer wants unchanged objects too
	if m.items == nil {
		m.items = &Objects[K, T]{}
	}
	m.items.settle()
	return m.bring(ctx, func() bool { m.replace(f, number(resourceVersion), repeat); return true })
}

// replace is Replace with all locks held.
func (m *Member[K, T]) replace(f *DeltaFIFO[K, T], at uint64, repeat bool) {
	g := m.merge
	if at != 0 && at < m.floor {
		g.restored(m) // its reflector knows no version from before
	}
	if m.outdated || g.unmarked {
		g.mark(f)
	}
	if m.doubtful {
		g.doubt(f)
	}
	m.owed, m.unread, m.unusable = nil, nil, unusable{}
	for n := range m.items.Len() {
		item, version := m.items.item(n), m.items.version(n)
		d := Delta[T]{Type: Replaced, Object: item.Object, Sum: m.items.sum(n), ResourceVersion: version}
		if version == "" {
			version = m.meta.Version(item.Object)
		}
		m.take(f, item.Key, d, number(version), repeat)
	}
	m.dropMissing(f, at)
	if !m.listed {
		m.first = g.newestBatch(f)
	}
	m.listed, m.refused, m.late = true, false, false
	m.current, m.outdated, m.floor = true, false, 0
	m.reach(at)
	m.prove(f)
}

// dropMissing drops the keys that the list at a version lacks.
func (m *Member[K, T]) dropMissing(f *DeltaFIFO[K, T], at uint64) {
	keep := keeper[K, T](m.skipped)
	for key, had := range m.keys {
		if _, ok := m.items.number(key); ok {
			continue
		}
		obj, ok := m.merge.newest(f, key)
		if keep != nil && ok && keep(key, obj) {
			if m.unread == nil {
				m.unread = map[K]struct{}{}
			}
			m.unread[key] = struct{}{}
			continue
		}
		h := m.lose(key)
		if h.members > 0 {
			continue
		}
		m.merge.remove(f, key, h, Delta[T]{Type: Deleted, FinalStateUnknown: true, Object: obj})
		if h.epoch != m.epoch {
			delete(m.merge.held, key)
		} else {
			last := h.deleted() // another member may have the last state, which is not one of this member
			if had == h.at {
				last.at, last.until = h.at+1, cmp.Or(at, h.at+1) // the object has changed since, or is deleted
			}
			m.merge.bury(key, last, cmp.Or(at, last.at)) // no older state comes again
		}
	}
}

// Unusable says that the reflector has reported an object that could not be used: call it in
// OnError, in any goroutine. If the object came in a watch event, the member goes on without that
// state. Without this call, the Merge may take that for a sign that the server was restored.
func (m *Member[K, T]) Unusable(bad *reflector.ObjectError) {
	m.merge.mu.Lock()
	defer m.merge.mu.Unlock()
	m.unusable.add(bad)
	m.unusable.bound()
}

// cannotUse reports whether an event that could not be used may have been one of key.
func (m *Member[K, T]) cannotUse(f *DeltaFIFO[K, T], key K) bool {
	if m.unusable.none() {
		return false
	}
	obj, ok := m.merge.newest(f, key)
	return !ok || m.unusable.mayBe(obj)
}

// Apply implements reflector.Sink.
func (m *Member[K, T]) Apply(ctx context.Context, ev reflector.Event[T]) error {
	key, d := m.delta(ev)
	f, at := m.merge.queue(), number(ev.ResourceVersion)
	return m.bring(ctx, func() (recount bool) {
		recount = !m.counted || m.at <= m.merge.at
		if d.Type != 0 {
			delete(m.owed, key)
			delete(m.unread, key)
		}
		switch d.Type {
		case 0: // a bookmark
		case Deleted:
			m.drop(f, key, d, at)
		default:
			m.take(f, key, d, at, false)
		}
		m.refused = false
		m.reach(at)
		m.prove(f)
		return recount
	})
}

// ApplyNow is Apply: the changes of several members are always left to the consumer.
func (m *Member[K, T]) ApplyNow(ctx context.Context, ev reflector.Event[T], _ func(Batch[K, T]) error) error {
	return m.Apply(ctx, ev)
}

// Refuse says that nobody should wait for the member, because its requests fail in a way that a
// retry cannot mend, or for too long. Its objects stay. It counts again once it brings something.
func (m *Member[K, T]) Refuse(ctx context.Context) error {
	return m.change(ctx, func() bool { m.refused = true; return true })
}

// Late says that the member has not listed for too long, whatever the reason, so the others no
// longer wait for it. That ends with its list.
func (m *Member[K, T]) Late(ctx context.Context) error {
	return m.change(ctx, func() bool { m.late = !m.current; return false })
}

// IsLate reports whether Late was called and the list has not come since.
func (m *Member[K, T]) IsLate() bool {
	m.merge.mu.Lock()
	defer m.merge.mu.Unlock()
	return m.late
}

// IsAwaited reports whether another member has listed, and the queue's first list waits for this
// one.
func (m *Member[K, T]) IsAwaited() bool {
	g := m.merge
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.initial == nil || m.current || m.refused || m.late {
		return false
	}
	for other := range g.members {
		if other.current {
			return true
		}
	}
	return false
}

// give deletes an object of the member, which is at a version, unless another member has it.
func (m *Member[K, T]) give(f *DeltaFIFO[K, T], key K, obj T, at uint64) {
	if h := m.lose(key); h.members == 0 {
		m.merge.remove(f, key, h, Delta[T]{Type: Deleted, FinalStateUnknown: true, Object: obj})
		m.merge.bury(key, h.deleted(), at) // another member may bring the same state, but no older one
	}
}

// owe notes a debt: the queue has a newer state of key than the member has brought. The member must
// bring an event of the key before it passes version until. Otherwise the queue's state is of
// another history: the server was restored, and the member that brought the queue's state may have
// left or may not have noticed the restore. Each event of the key pays the debt. If its state is
// still older than the queue's, take owes again.
func (m *Member[K, T]) owe(key K, until uint64) {
	if m.owed == nil {
		m.owed, m.due = map[K]struct{}{}, 0
	}
	m.owed[key], m.due = struct{}{}, max(m.due, until)
}

// prove begins an epoch if what the member has brought shows that the server was restored. Once it
// has passed the version of all its debts, none must be left. Several events may have one version,
// so the member has passed a version only when it is at a later one. An event that could not be
// used pays a debt, too.
func (m *Member[K, T]) prove(f *DeltaFIFO[K, T]) {
	if len(m.owed) > 0 && m.at > m.due && !m.unusable.none() {
		maps.DeleteFunc(m.owed, func(key K, _ struct{}) bool { return m.cannotUse(f, key) })
	}
	if m.refutes || len(m.owed) > 0 && m.at > m.due {
		m.merge.restored(nil)
	}
	if m.refutes = false; len(m.owed) == 0 {
		m.owed = nil
	}
}

// confirm makes the newest state of an object of this member, which leaves, a debt of the other
// members that have an older state of the object.
func (m *Member[K, T]) confirm(key K) {
	h := m.merge.held[key]
	for other := range m.merge.members {
		if _, unread := other.unread[key]; unread {
			continue
		}
		if last, has := other.keys[key]; has && other != m && last != 0 && last < h.at {
			other.owe(key, max(h.at, h.until))
		}
	}
}

// Leave removes the member, whose reflector must have ended. The objects that no other member has
// are deleted. After an error, which is ctx's or [ErrClosed], that is left to the next session.
func (m *Member[K, T]) Leave(ctx context.Context) error {
	f := m.merge.queue()
	err := m.change(ctx, func() bool {
		for key := range m.keys {
			m.confirm(key)
			obj, _ := m.merge.newest(f, key)
			m.give(f, key, obj, math.MaxUint64) // it brings nothing more
		}
		delete(m.merge.members, m)
		m.merge.changed = true
		return true
	})
	if err != nil {
		m.Forget()
	}
	return err
}

// Forget removes the member while no session goes on. The next one deletes the objects that no
// other member has.
func (m *Member[K, T]) Forget() {
	m.merge.mu.Lock()
	defer m.merge.mu.Unlock()
	for key := range m.keys {
		if h := m.lose(key); h.members == 0 {
			m.merge.doubtful = m.merge.doubtful || h.epoch < m.merge.restore // the store may have it yet
			delete(m.merge.held, key)
		}
	}
	delete(m.merge.members, m)
	m.merge.changed = true
}

// Covers reports whether the member can have a key, see [Merge.Join].
func (m *Member[K, T]) Covers(key K) bool { return m.covers == nil || m.covers(key) }

// Len returns the number of objects that the member has.
func (m *Member[K, T]) Len() int {
	m.merge.mu.Lock()
	defer m.merge.mu.Unlock()
	return len(m.keys)
}

// InStore reports whether the store has the member's first list of this session.
func (m *Member[K, T]) InStore() bool {
	m.merge.mu.Lock()
	defer m.merge.mu.Unlock()
	return m.listed && m.first <= m.merge.committed
}

// HasListed reports whether the member has listed in this session.
func (m *Member[K, T]) HasListed() bool {
	m.merge.mu.Lock()
	defer m.merge.mu.Unlock()
	return m.listed
}

// Begin says that a reflector begins to feed the member: call it right before Run of the reflector.
// It returns the version for Tuning.FirstVersion: the newest version that any member has brought
// since the last restore of the server; "" means any. So no object goes back in time, even if the
// session before ended while some members were behind. A first list that is older than this version
// proves that the server was restored.
//
// again is called if the Merge learns of a restore that this member has not noticed itself, at most
// once for each call of Begin. Then end the reflector, call Begin again, and run another reflector
// with a FirstVersion that points to "", which asks for the newest list. The Merge ignores
// everything that the first reflector still brings. again may be called from any goroutine, and
// runs with locks held: it must be quick, and must not use the Merge or its queue. It may be nil;
// then ask [Member.IsOutdated].
func (m *Member[K, T]) Begin(again func()) (firstVersion string) {
	g := m.merge
	g.mu.Lock()
	defer g.mu.Unlock()
	m.floor, m.epoch, m.again = g.furthest, g.epoch, again
	return text(g.furthest)
}

// IsOutdated reports whether the Merge has learned since Begin of a restore that this member has
// not noticed itself. Then the Merge ignores everything that the member's reflector brings, until
// Begin is called again.
func (m *Member[K, T]) IsOutdated() bool {
	m.merge.mu.Lock()
	defer m.merge.mu.Unlock()
	return m.epoch != m.merge.epoch
}

// Rewound implements reflector.Rewinder. If the server was certainly restored, all other members
// must begin again: see [Member.Begin].
func (m *Member[K, T]) Rewound(certain bool) {
	m.Sink.Rewound(certain)
	g := m.merge
	g.mu.Lock()
	defer g.mu.Unlock()
	if certain && m.epoch == g.epoch && (m.current || m.floor != 0) { // otherwise it knows nothing of this epoch
		g.restored(m)
	}
}

// bring is change for a list or an event of the reflector. It makes no change if the member is
// outdated.
func (m *Member[K, T]) bring(ctx context.Context, change func() (recount bool)) error {
	return m.change(ctx, func() bool { return m.epoch == m.merge.epoch && change() })
}

// change waits for room in the queue, and makes a change of table and queue.
func (m *Member[K, T]) change(ctx context.Context, change func() (recount bool)) error {
	f := m.merge.queue()
	if err := f.admit(ctx); err != nil {
		return err
	}
	defer f.mu.Unlock()
	m.merge.apply(f, change)
	return nil
}

// take notes that the member has an object at a version, and passes it on if it is newer than what
// the queue has got. An object of a list is also passed on at the same version if it has other
// contents. With repeat, it is passed on if it has the same contents, too.
// Called with all locks held, as are the methods below.
func (m *Member[K, T]) take(f *DeltaFIFO[K, T], key K, d Delta[T], at uint64, repeat bool) {
	g := m.merge
	h, ok := g.held[key]
	if ok && h.epoch < g.restore {
		g.mark(f)
	}
	if _, mine := m.keys[key]; !mine {
		h.members++
	}
	m.keys[key] = at
	uid := g.uidOf(d.Object)
	same := at == h.at && at != 0 && !h.gone && !repeat && !m.doubtful
	if same && h.uid != 0 && uid != 0 && uid != h.uid {
		m.refutes = true // a version is a state of one object
	}
	stale := at < h.at && at != 0 || same && (m.refutes || d.Type != Replaced || g.has(f, key, d))
	if !stale {
		h.uid, h.at, h.by, h.epoch, h.gone, h.until = uid, at, m.number, m.epoch, false, 0
	}
	g.held[key] = h
	switch {
	case stale:
		if at < h.at {
			m.owe(key, max(h.at, h.until))
		}
	case g.initial != nil:
		version := d.ResourceVersion
		if m.meta.Version(d.Object) != "" {
			version = ""
		}
		g.initial.unknown = true
		g.initial.set(key, d.Object, version, d.Sum)
	default:
		f.pending.push(key, d)
	}
}

// drop notes that the member has lost an object at a version, and passes that on if no other member
// has it.
func (m *Member[K, T]) drop(f *DeltaFIFO[K, T], key K, d Delta[T], at uint64) {
	if _, mine := m.keys[key]; !mine {
		return
	}
	h := m.lose(key)
	if h.members > 0 {
		return
	}
	last := holding{at: at, epoch: m.epoch, gone: true}
	if at < h.at {
		last = h.deleted()
		// The object left this member before the newest state, and left the other members later.
		d = Delta[T]{Type: Deleted, FinalStateUnknown: true}
		d.Object, _ = m.merge.newest(f, key)
	}
	m.merge.remove(f, key, h, d)
	m.merge.bury(key, last, at)
}

// lose notes that the member has no object of key.
func (m *Member[K, T]) lose(key K) holding {
	delete(m.keys, key)
	h := m.merge.held[key]
	h.members--
	m.merge.held[key] = h
	return h
}

// remove passes a deletion on, unless the queue has got it already. A state from before a restore is
// forgotten then, but the store has it until the deletion is committed, perhaps into the next session.
func (g *Merge[K, T]) remove(f *DeltaFIFO[K, T], key K, h holding, d Delta[T]) {
	if !h.gone && h.epoch < g.restore {
		g.doubt(f)
	}
	switch {
	case h.gone:
	case g.initial != nil:
		g.initial.settle()
		g.initial.Delete(key)
	default:
		f.delete(key, d)
	}
}

// has reports whether the newest object of key has the contents of d. It returns false if d has a sum
// and is not that object itself: the consumer compares them, and notes the sum.
func (g *Merge[K, T]) has(f *DeltaFIFO[K, T], key K, d Delta[T]) bool {
	newest, ok := g.newest(f, key)
	switch {
	case !ok:
		return false
	case identical(newest, d.Object):
		return true
	}
	return d.Sum == 0 && reflect.DeepEqual(newest, d.Object)
}

// newest returns the newest object of key.
func (g *Merge[K, T]) newest(f *DeltaFIFO[K, T], key K) (obj T, ok bool) {
	if g.initial != nil {
		g.initial.settle()
		if n, ok := g.initial.number(key); ok {
			return g.initial.item(n).Object, true
		}
	}
	return f.newest(key)
}
