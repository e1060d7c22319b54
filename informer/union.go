package informer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/deltafifo"
	"github.com/kinform/kinform/internal/door"
	"github.com/kinform/kinform/internal/pause"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/store"
)

// Union is an informer of several sources of one resource on one server: of a set of namespaces, or
// of selectors of which an object must match one. Sources can be added and removed while it runs.
//
//	pods, err := informer.NewUnion("pods", store.ObjectKey, informer.Options[*corev1.Pod]{})
//	member, err := pods.Add("prod", inProd, informer.InNamespace("prod"))
//
// For namespaces, [Union.Follow] does that for each in a set. A controller.Handle over several
// namespaces or selectors is made by controller.Open alone.
//
// An object is in the store while at least one member has it: if two members select an object, it
// stays until both have lost it. Handlers get each state once, no matter how many members bring it.
// An object that one change moves from one member to another may be deleted and added again: to avoid
// that, each deletion would have to wait for all other members. In between the store may lack the object
// at a version that has it. Members that are namespaces share no object.
//
// Each member lists, watches and fails on its own. If one cannot list, because it is not permitted
// to or for any other reason, only its own objects are missing or as old as its last answer.
// Options.OnError gets its errors, [Union.Members] says how each is, and it is tried again until it
// succeeds. A panic in a source ends Run for all.
//
// # Synced
//
// The store is empty until each member has listed, was refused in a way that a retry cannot mend
// (reflector.RequestError.Lasting), or is late. Then it has synced, with one list of all objects. A
// member is late if another one has listed and it has brought nothing for 10 seconds since, because
// the server answers 500 or not at all: Options.OnError gets a [*LateMemberError]. If no member has
// listed, the union waits for the first one that succeeds; if all are refused,
// [Informer.WaitForSync] returns the refusals. A union without members has synced with an empty
// store. Members that are added later, are refused until later, or are late, bring their objects as
// new ones: see [Member.Synced]. The first list of a member that is added after the first call of
// Run has everything that was written before.
//
// # Versions
//
// resourceVersions of one resource compare in all namespaces, but the members are not equally far.
// The store's version is that of the member that is the furthest behind. So [Informer.WaitForRV]
// waits for all members, for up to a minute if one is idle, since only a bookmark then shows how
// far it is. Members that are refused, that have failed for 10 seconds, or that have not listed
// yet, do not hold the version up, so WaitForRV tells nothing about their objects: [Union.Covers]
// says which those are. They count again when something comes from their watch or list that is as
// new as the store's version. To wait for one object use [Informer.WaitFor]. Writes that were
// recorded ([Informer.RecordWrite]) do not wait for other members: the watch counts as past them once
// it brings that state of the object or a newer one, or once each member that can have the key has
// reached the version.
//
// If a member notices that the server was restored from a backup, all other members list again, each
// at most once in two seconds. Until a member has listed again, its objects stay as they were, and
// it does not hold the version up. Only the first of these lists ends waits for lost versions and
// reports lost writes.
//
// The union also notices a restore by the newest state of an object that one member has brought:
// another member passes the version of that state without an event of the object, or brings an
// object with another UID at that version. An event that the member could not use counts as one of
// the object. A restore goes unnoticed if the server has passed all versions that the union has
// seen, and the members that saw the lost history have left or Run was called anew. Then objects
// are right once all members have listed and the server has passed the newest version from before,
// but waits for lost versions return no error.
//
// Sources of several servers cannot be in one union, since their versions do not compare. Give each
// its own informer.
//
// The informer's methods have the contracts that they have for one source. Make a Union with
// [NewUnion], and do not copy it. Costs: a goroutine and a watch for each member, and about 150
// bytes for each object.
type Union[K comparable, T any] struct {
	Informer[K, T]
	members *members[K, T]
}

// union is what an informer asks of its members, if it has any. It is an interface so that packages
// that make no [Union] do not compile its code for their types.
type union[K comparable, T any] interface {
	// begin starts the members' reflectors. Called with the informer's mu held.
	begin(s *session[K, T])
	// check does what begin cannot do with the mu held.
	check()
	// committed follows the commit of a batch. Called with the informer's mu held.
	committed(batch deltafifo.Batch[K, T])
	// stats adds up the counters of all members. Called with the informer's mu held.
	stats() reflector.Stats
	// lacks reports whether all members are past a write that made version rv of an object which the
	// store does not have.
	lacks(key K, rv string) bool
	// touched notes a key whose own write is new, or of which a member has brought something. Called with
	// the informer's mu held.
	touched(key K)
	// passed returns the keys of own writes that no member may have, or that all members are past. The
	// cost is that of what has changed since the call before. Called with the informer's mu held.
	passed() (left []K)
}

// members are the sources of a Union.
type members[K comparable, T any] struct {
	inf   *core[K, T]
	merge *deltafifo.Merge[K, T]

	// Guarded by the informer's mu.
	byName  map[string]*Member[K, T]
	begun   bool // there was a call of Run
	follows []following[K]
	look    map[K]struct{} // keys of own writes to look at in passed
	lookAll bool           // at all of them
}

// Member is a source of a [Union]. All methods may be called by any goroutine.
type Member[K comparable, T any] struct {
	// Set by Add and never changed.
	name   string
	source reflector.Source[T]
	sink   *deltafifo.Member[K, T]
	synced chan struct{} // closed when the first list has been handed over
	gone   chan struct{} // closed when the member is removed and has no objects in the queue

	// Guarded by the informer's mu.
	reflector *reflector.Reflector[T] // of the session; nil before the first
	cancel    context.CancelFunc      // ends its reflectors; nil while it has none
	removed   bool

	refusal refusal     // of its last list or watch
	brought atomic.Bool // a list in progress has delivered something since the flag was taken
	failed  atomic.Bool // a request has failed since another member has listed
}

// NewUnion returns a Union without members that is not running. name names the collection in errors
// and logs, such as "pods". Errors: those of [New] except for reflector.ErrNoSource.
func NewUnion[K comparable, T any](name string, key store.KeyFunc[K, T], opts Options[T]) (*Union[K, T], error) {
	if key == nil {
		return nil, fmt.Errorf("%s: %w", name, ErrNoKeyFunc)
	}
	i, err := newCore(name, key, opts)
	if err != nil {
		return nil, err
	}
	m := &members[K, T]{inf: i, merge: deltafifo.NewMerge(i.keyOf, i.badObject), byName: map[string]*Member[K, T]{}}
	i.union = m
	return &Union[K, T]{Informer: *informerOf(i), members: m}, firstSession(i)
}

// AsInformer implements [Informed].
func (u *Union[K, T]) AsInformer() *Informer[K, T] {
	if u == nil {
		return nil
	}
	return &u.Informer
}

// Add adds a source, before Run or while it runs. covers reports whether the source can have the
// object of a key: [InNamespace] for one namespace. It must be quick and not use the union. Nil
// means that it can have any: then a member that is refused holds up RecordWrite's deletions of all
// keys. Errors: [ErrDuplicate], reflector.ErrNoSource, reflector.ErrNoPruner for a source that is
// reflector.Changing.
func (u *Union[K, T]) Add(name string, source reflector.Source[T], covers func(K) bool) (*Member[K, T], error) {
	if source == nil {
		return nil, u.members.inf.about(fmt.Errorf("member %q: %w", name, reflector.ErrNoSource))
	}
	if _, ok := source.(reflector.Changing[T]); ok {
		return nil, u.members.inf.about(fmt.Errorf("member %q: %w", name, reflector.ErrNoPruner))
	}
	u.members.inf.mu.Lock()
	defer u.members.inf.mu.Unlock()
	if u.members.byName[name] != nil {
		return nil, u.members.inf.about(fmt.Errorf("member %q: %w: remove the other member first, or use another name", name, ErrDuplicate))
	}
	m := &Member[K, T]{name: name, source: source, sink: u.members.merge.Join(covers), synced: make(chan struct{}), gone: make(chan struct{})}
	u.members.byName[name] = m
	if u.members.inf.phase == running {
		startMember(u.members, u.members.inf.session.Load(), m)
	}
	return m, nil
}

// Remove removes a source, and reports whether there was one of that name. It does not wait:
// handlers get a deletion, with FinalStateUnknown, for each object that no other member has. They
// come soon, or in the next Run if the union does not run. A source may be added under the name at
// once: what it brings in time is not deleted before.
func (u *Union[K, T]) Remove(name string) bool {
	u.members.inf.mu.Lock()
	defer u.members.inf.mu.Unlock()
	m := u.members.byName[name]
	if m == nil {
		return false
	}
	delete(u.members.byName, name)
	m.removed = true
	if m.reflector != nil {
		keepStats(u.members.inf, m.stats())
	}
	if m.cancel != nil {
		m.cancel() // its goroutine does the rest
	} else {
		m.sink.Forget()
		close(m.gone)
	}
	return true
}

// Covers reports whether the store has what the members have of a key: some member can have it, and
// each that can has listed, is not refused and has not failed for 10 seconds. Otherwise an object
// that the store lacks may exist all the same. O(members).
func (u *Union[K, T]) Covers(key K) bool {
	return u.members.merge.MayHave(key) && u.members.merge.Covers(key)
}

// Listing reports whether a member that can have the key has no list in the store yet, and is not
// refused: its objects are on their way, or it is late. A namespace that is just being added to a
// set that the union follows counts as one. O(members).
func (u *Union[K, T]) Listing(key K) bool {
	u.members.inf.mu.Lock()
	follows := u.members.follows
	u.members.inf.mu.Unlock()
	return slices.ContainsFunc(follows, func(f following[K]) bool { return f.coming(key) }) || u.members.merge.Listing(key)
}

// InNamespace returns a function for [Union.Add]: whether a key is in a namespace.
func InNamespace(namespace string) func(types.NamespacedName) bool {
	return func(key types.NamespacedName) bool { return key.Namespace == namespace }
}

// Name returns the name given to Add.
func (m *Member[K, T]) Name() string { return m.name }

// Synced is closed once the member has handed over its first list. The list is in the store very
// soon after, or once the union has synced if that is later.
func (m *Member[K, T]) Synced() <-chan struct{} { return m.synced }

// Gone is closed once the member was removed, its last request has ended, and the deletions are on
// their way to the store. If the union does not run, the next Run brings them.
func (m *Member[K, T]) Gone() <-chan struct{} { return m.gone }

// MemberStats says how a member of a [Union] is.
type MemberStats struct {
	// Stats are the counters of its reflector in the present run or the last one. Failing says
	// since when and why it fails.
	reflector.Stats
	// Name is the member's, Resource the name of its source.
	Name, Resource string
	// Synced says that it has listed in this run, and Late that the union no longer waits for it to
	// do so.
	Synced, Late bool
	// Objects is the number of objects that it has.
	Objects int
	// Refused is the last failure if a retry cannot mend it, such as a missing permission. It is
	// nil again when a list or a watch has brought something.
	Refused error
}

// Members returns how each member is, sorted by name. O(members).
func (u *Union[K, T]) Members() []MemberStats {
	u.members.inf.mu.Lock()
	defer u.members.inf.mu.Unlock()
	all := make([]MemberStats, 0, len(u.members.byName))
	for _, m := range u.members.byName {
		s := MemberStats{Stats: m.stats(), Name: m.name, Resource: m.source.Resource(), Synced: m.sink.HasListed(), Late: m.sink.IsLate(), Objects: m.sink.Len()}
		if refused, _ := m.refusal.last(); refused != nil {
			s.Refused = refused.Err
		}
		all = append(all, s)
	}
	sortMembers(all)
	return all
}

func sortMembers(all []MemberStats) {
	slices.SortFunc(all, func(a, b MemberStats) int { return cmp.Compare(a.Name, b.Name) })
}

// stats is called with the informer's mu held.
func (m *Member[K, T]) stats() reflector.Stats {
	if m.reflector == nil {
		return reflector.Stats{}
	}
	return m.reflector.Stats()
}

// stats implements union. Failing and Polling are those of the member that has failed, or lives by
// lists, for longest.
func (u *members[K, T]) stats() (all reflector.Stats) {
	for _, name := range slices.Sorted(maps.Keys(u.byName)) {
		s := u.byName[name].stats()
		failing, polling, last, seen := all.Failing, all.Polling, all.LastEvent, all.SeenVersion
		if failing.Err == nil || s.Failing.Err != nil && s.Failing.Since.Before(failing.Since) {
			failing = s.Failing
		}
		if polling.Every == 0 || s.Polling.Every != 0 && s.Polling.Since.Before(polling.Since) {
			polling = s.Polling
		}
		s.Received, s.Decoding = s.Received+all.Received, s.Decoding+all.Decoding
		s.Listed, s.Expected = s.Listed+all.Listed, s.Expected+all.Expected
		if s.LastEvent.Before(last) {
			s.LastEvent = last
		}
		if older(s.SeenVersion, seen) {
			s.SeenVersion = seen
		}
		all = sum(all, s)
		all.Failing, all.Polling = failing, polling
	}
	return all
}

func (u *members[K, T]) check() { u.merge.Check() }

func (u *members[K, T]) committed(batch deltafifo.Batch[K, T]) {
	u.merge.Committed(batch)
	u.lookAll = u.lookAll || batch.Rewound() // own writes have other versions now
}

// begin implements union.
func (u *members[K, T]) begin(s *session[K, T]) {
	u.merge.Begin(s.fifo)
	for _, m := range u.byName {
		startMember(u, s, m)
	}
	u.begun = true
}

// startMember starts a member's reflectors, one after the other. Called with mu held, while the
// informer runs.
func startMember[K comparable, T any](u *members[K, T], s *session[K, T], m *Member[K, T]) {
	late := m.reflector == nil && u.begun
	ctx, cancel := context.WithCancel(s.Ctx) // ends with the member's removal
	m.cancel = cancel
	run := nextReflector(u, ctx, s, m, late)
	s.Go(func() {
		defer cancel()
		defer endMember(u, s, m) // also if the source or OnError ends this goroutine
		for run != nil {
			began := time.Now()
			if run(); ctx.Err() != nil || !m.sink.IsOutdated() {
				break
			}
			_ = pause.For(ctx, restartsEvery-time.Since(began))
			run = anotherReflector(u, ctx, s, m)
		}
	})
}

// anotherReflector is nextReflector after another one. It returns nil if the member was removed, or
// the informer stops.
func anotherReflector[K comparable, T any](u *members[K, T], ctx context.Context, s *session[K, T], m *Member[K, T]) (run func()) {
	u.inf.mu.Lock()
	defer u.inf.mu.Unlock()
	if ctx.Err() != nil { // Remove ends it with mu held
		return nil
	}
	keepStats(u.inf, m.stats())
	return nextReflector(u, ctx, s, m, true)
}

// restartsEvery is the shortest time between two reflectors of one member, so that sources whose
// versions do not compare are not listed without end.
const restartsEvery = 2 * time.Second

// nextReflector makes a reflector for a member, and returns a function that runs it. The reflector
// ends when the union notices a restore of the server that this member has not noticed itself. With
// newest, its first list is the newest. Called with mu held.
func nextReflector[K comparable, T any](u *members[K, T], ctx context.Context, s *session[K, T], m *Member[K, T], newest bool) (run func()) {
	ctx, cancel := context.WithCancel(ctx)
	fetch := reflector.Options{Tuning: u.inf.opts.Reflector, Logger: u.inf.opts.Logger, OnError: func(err error) { memberFailed(u, ctx, m, err) }}
	switch rv := m.sink.Begin(cancel); {
	case newest: // writes of this process may be newer than rv
		fetch.FirstVersion = new(string)
	case rv != "":
		fetch.FirstVersion = &rv
	}
	r, err := reflector.New(m.source, &memberSink[K, T]{to: m.sink, union: u, member: m}, fetch)
	if err != nil {
		s.Fail(err) // not possible: Add has checked the source
		return cancel
	}
	m.reflector = r
	return func() {
		defer cancel()
		contain(u.inf, s, "source", noKey, func() {
			if err := r.Run(ctx); err != nil {
				s.Fail(err)
			}
		})
	}
}

// endMember follows the end of a member's reflector.
func endMember[K comparable, T any](u *members[K, T], s *session[K, T], m *Member[K, T]) {
	u.inf.mu.Lock()
	m.cancel = nil
	removed := m.removed
	u.inf.mu.Unlock()
	if removed {
		_ = m.sink.Leave(s.Ctx) // after an error the next session does it
		close(m.gone)
		allRefused(u)
		settle(u) // what no member can have any more
	}
}

// memberFailed gets every error that a member's reflector reports.
func memberFailed[K comparable, T any](u *members[K, T], ctx context.Context, m *Member[K, T], err error) {
	var failed *reflector.RequestError
	if errors.As(err, &failed) {
		m.failed.Store(true)
		if failed.Lasting() {
			m.refusal.set(&NotSyncingError{Resource: failed.Resource, Err: failed})
			_ = m.sink.Refuse(ctx) // fails only if the session ends
		} else {
			m.refusal.set(nil)
			if failsForLong(u, m) {
				_ = m.sink.Refuse(ctx)
			}
		}
		allRefused(u)
	}
	if bad := (*reflector.ObjectError)(nil); errors.As(err, &bad) {
		m.sink.Unusable(bad)
		unusable(u.inf, bad)
	}
	u.inf.report(err)
}

// failsForLong reports whether a member that has listed has brought nothing since lateAfter,
// because its requests fail. Then the others' versions do not wait for it any more: a handle that has
// written to unknown objects waits for a version, and would hold up the keys of all namespaces.
func failsForLong[K comparable, T any](u *members[K, T], m *Member[K, T]) bool {
	u.inf.mu.Lock()
	since := m.stats().Failing.Since
	u.inf.mu.Unlock()
	return !since.IsZero() && time.Since(since) >= lateAfter && m.sink.HasListed()
}

// allRefused notes whether all members are refused: then the union does not sync without help.
func allRefused[K comparable, T any](u *members[K, T]) {
	u.inf.mu.Lock()
	all := make([]*Member[K, T], 0, len(u.byName))
	for _, name := range slices.Sorted(maps.Keys(u.byName)) {
		all = append(all, u.byName[name])
	}
	u.inf.mu.Unlock()
	var refusals []error
	for _, m := range all {
		refused, _ := m.refusal.last()
		if refused == nil {
			u.inf.refusal.set(nil)
			return
		}
		refusals = append(refusals, refused.Err)
	}
	if len(refusals) == 0 {
		u.inf.refusal.set(nil)
		return
	}
	u.inf.refusal.set(&NotSyncingError{Resource: u.inf.Resource(), Err: errors.Join(refusals...)})
}

// memberSink also notices when the server answers. The member's reflector owns it.
type memberSink[K comparable, T any] struct {
	to       *deltafifo.Member[K, T] // not embedded: see cache
	union    *members[K, T]
	member   *Member[K, T]
	answered bool // the list in progress has delivered something
}

func answer[K comparable, T any](s *memberSink[K, T]) {
	if refused, _ := s.member.refusal.last(); refused != nil {
		s.member.refusal.set(nil)
		allRefused(s.union)
	}
}

// Listed implements reflector.Sink.
func (s *memberSink[K, T]) Listed(ctx context.Context, ev reflector.Event[T]) error {
	if !s.answered {
		s.answered = true
		answer(s)
	}
	if !s.member.brought.Load() {
		s.member.brought.Store(true)
	}
	return s.to.Listed(ctx, ev)
}

// Replace implements reflector.Sink.
func (s *memberSink[K, T]) Replace(ctx context.Context, resourceVersion string) error {
	s.answered = false
	answer(s)
	keys, moment := s.union.inf.own.awaited()
	if err := s.to.Replace(ctx, resourceVersion); err != nil {
		return err
	}
	relisted(s.union, s.to, keys, door.Moment(moment))
	settleIdle(s.union)
	if !s.to.HasListed() {
		return nil // the list is ignored, see deltafifo.Member.Begin
	}
	select {
	case <-s.member.synced:
	default:
		close(s.member.synced)
	}
	if inf := s.union.inf; s.union.merge.Waiting() {
		session := inf.session.Load()
		session.waits.Do(func() {
			session.Go(func() { contain(inf, session, "OnError", noKey, func() { awaitMembers(s.union, session) }) })
		})
	}
	return nil
}

// Discard implements reflector.Sink.
func (s *memberSink[K, T]) Discard() {
	s.answered = false
	s.to.Discard()
}

// Apply implements reflector.Sink.
func (s *memberSink[K, T]) Apply(ctx context.Context, ev reflector.Event[T]) error {
	answer(s)
	err := s.to.Apply(ctx, ev)
	if ev.Idle || ev.Type == reflector.Bookmark {
		settleIdle(s.union)
	}
	return err
}

// settleIdle removes the writes that the members have caught up with, though no commit follows from
// that: one that was behind the store's version has reached it.
func settleIdle[K comparable, T any](u *members[K, T]) {
	if u.inf.own.count.Load() > 0 && u.merge.Settled() {
		settle(u)
	}
}

// relisted notes that a member has listed when writes of keys were ahead.
func relisted[K comparable, T any](u *members[K, T], m *deltafifo.Member[K, T], keys []K, moment door.Moment) {
	keys = slices.DeleteFunc(keys, func(key K) bool { return !m.Covers(key) })
	if len(keys) == 0 {
		return
	}
	u.inf.mu.Lock()
	defer u.inf.mu.Unlock()
	u.inf.own.change(func(d *door.Door[K]) { d.RelistedInPart(moment, keys) })
}

// Skipped implements reflector.Sink.
func (s *memberSink[K, T]) Skipped(bad *reflector.ObjectError) { s.to.Skipped(bad) }

// Rewound implements reflector.Rewinder.
func (s *memberSink[K, T]) Rewound(certain bool) { s.to.Rewound(certain) }

// Lookup implements reflector.Recaller.
func (s *memberSink[K, T]) Lookup() func(reflector.Identity) (T, bool) { return s.to.Lookup() }

// settle takes the own writes out of the store that no member can bring any more.
func settle[K comparable, T any](u *members[K, T]) {
	u.inf.mu.Lock()
	failed := dropPassed(u.inf)
	u.inf.log.Publish()
	u.inf.mu.Unlock()
	for _, bad := range failed {
		u.inf.badObject(bad)
	}
}

// lacks implements union. While a batch from before is on its way into the store, it is not known.
func (u *members[K, T]) lacks(key K, rv string) bool {
	return (!u.merge.MayHave(key) || u.merge.Lacks(key, rv)) && u.merge.Settled() // in this order: changes may come in between
}

// touched implements union.
func (u *members[K, T]) touched(key K) {
	if u.look == nil {
		u.look = map[K]struct{}{}
	}
	u.look[key] = struct{}{}
}

// passed implements union. A member that has yet to reach the version of a write brings it up again. An
// object whose end is still to come is looked at with the next state that a member brings of it.
func (u *members[K, T]) passed() (left []K) {
	for _, key := range toLookAt(u) {
		version, _ := u.inf.own.door.Waits(key)
		ending := u.inf.own.door.Ending(key)
		mayHave := u.merge.MayHave(key)
		switch lacks := !mayHave || u.merge.Lacks(key, strconv.FormatUint(version, 10)); {
		case lacks && !u.merge.Settled():
			u.touched(key)
		case !mayHave: // it leaves, also if there was a state that cannot be used
			u.inf.own.forget(key)
			left = append(left, key)
		case lacks:
			forgetAside(&u.inf.own, key)
			left = append(left, key)
		case version != 0 && !ending && u.merge.Covers(key) && parse(u.inf.store.ResourceVersion()) >= version:
			left = append(left, key)
		case !u.merge.Await(key, version) && !ending:
			u.touched(key)
		}
	}
	return left
}

// toLookAt returns the keys of own writes that members may have passed since the last call, in the order
// of their versions.
func toLookAt[K comparable, T any](u *members[K, T]) (keys []K) {
	door := &u.inf.own.door
	passed, all := u.merge.Passed()
	if all || u.lookAll {
		door.Each(func(key K, _ uint64, _ bool) { u.touched(key) })
	}
	for _, key := range passed {
		u.touched(key)
	}
	for key := range u.look {
		if _, waits := door.Waits(key); waits {
			keys = append(keys, key)
		}
	}
	u.look, u.lookAll = nil, false
	slices.SortFunc(keys, func(a, b K) int {
		one, _ := door.Waits(a)
		other, _ := door.Waits(b)
		return cmp.Compare(one, other)
	})
	return keys
}
