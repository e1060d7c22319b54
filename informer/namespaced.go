package informer

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/internal/coverage"
	"github.com/kinform/kinform/internal/eventlog"
	"github.com/kinform/kinform/internal/mistake"
	"github.com/kinform/kinform/internal/pause"
	"github.com/kinform/kinform/internal/picking"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/store"
)

// NewNamespaced returns an informer of the objects in a set of namespaces, which may change at any
// time. It is not running.
//
//	pods, err := informer.NewNamespaced("pods", namespaces, func(namespace string) (reflector.Source[*corev1.Pod], error) {
//		return client.New(server, core.Pods, client.Options{Namespace: namespace})
//	}, store.ObjectKey, informer.Options[*corev1.Pod]{})
//
// name names the collection in errors and logs. source makes the source of a namespace: it is
// called once each time that the namespace joins the set, one call at a time, and must not change
// the set. key must return the namespace of an object. The store gets an index of the namespaces,
// unless it has one (index.AddNamespace).
//
// Each namespace lists, watches and fails separately. If one cannot list, for lack of permission or
// for any other reason, only its objects are missing, or as old as its last answer. Options.OnError
// gets its errors, [Stats] says how each is, and the informer retries until it succeeds. A panic in
// a source ends Run for all. An object that a source brings from another namespace is an error of
// that object, and is left out. When a namespace leaves the set, its objects leave the store at
// once, and handlers get a deletion with FinalStateUnknown for each. Nothing waits for these.
//
// # Synced
//
// The store fills as namespaces list, and handlers get these objects as initial ones. The informer
// has synced when each namespace has listed, was refused permanently
// (reflector.RequestError.Lasting), or is late. A namespace is late if it has brought nothing for
// 10 seconds since another one has listed: Options.OnError gets a [*LateNamespaceError]. If none
// has listed, the informer waits for the first one that succeeds. If all are refused,
// [Informer.WaitForSync] returns the refusals. A set without namespaces has synced with an empty
// store.
//
// Namespaces that join later, that are refused until later, or that are late, bring their objects
// as new ones. If a namespace joins after the first call of Run, its first list has everything that
// was written before.
//
// # Versions
//
// resourceVersions of one resource compare in all namespaces, but the namespaces are not equally
// far. The store's version is the version of the namespace that is furthest behind. So
// [Informer.WaitForRV] waits for all namespaces. If one is idle, that takes up to a minute, because
// only a bookmark then shows how far it is.
//
// A namespace does not hold up the version if it is refused, has failed for 10 seconds, is late,
// has never listed, or is behind the store's version when it comes back. WaitForRV then tells
// nothing about its objects: Stats.Namespaces says which namespaces those are. A namespace
// counts again once list or watch have brought it as far as the store's version. To wait for one
// object use [Informer.WaitFor]. A recorded write ([Informer.RecordWrite]) waits for its namespace
// only.
//
// If a namespace notices that the server was restored from a backup, all others list again, each at
// most once in two seconds. Until a namespace has listed again, its objects stay as they were, and
// it does not hold up the version. Only the first of these lists ends waits for lost versions. All
// namespaces must be of one server, because the versions of several servers do not compare.
//
// Costs: a goroutine, a queue and a watch for each namespace, and some 12 bytes for each object.
// Errors: [ErrInvalid], also for the source of a shard.Part; and the errors of source and of [New].
func NewNamespaced[T any](name string, set *Namespaces, source func(namespace string) (reflector.Source[T], error), key store.KeyFunc[types.NamespacedName, T], opts Options[T]) (*Informer[types.NamespacedName, T], error) {
	switch {
	case set == nil || source == nil:
		return nil, about(name, errNoNamespaces)
	case key == nil:
		return nil, about(name, errNoKeyFunc)
	}
	i, err := newCore(name, key, opts)
	if err != nil {
		return nil, err
	}
	i.places.divided = true
	i.over = &namespaced[types.NamespacedName, T]{
		of:     func(key types.NamespacedName) string { return key.Namespace },
		coming: set.isComing,
		start:  func(s *session) { startAll(i, s) },
		await:  func(s *session) { awaitOthers(i, s) },
		parts:  map[string]*part[types.NamespacedName, T]{},
	}
	inf := informerOf(i)
	within, err := index.AddNamespace(indexed[types.NamespacedName, T]{inf}, func(obj T) (string, bool) {
		key, err := key(obj)
		return key.Namespace, err == nil
	})
	if err != nil {
		return nil, about(i.name, err)
	}
	i.over.objects = func(namespace string) []T { return within.Get(inf.reader, namespace) }
	i.over.count = func(namespace string) int { return within.Count(inf.reader, namespace) }
	if err := firstSession(i); err != nil {
		return nil, err
	}
	i.over.follower = &follower{
		join:  func(namespace string) error { return joinNamespace(i, namespace, source) },
		leave: func(namespace string) { leaveSet(i, namespace) },
	}
	if err := set.follow(i.over.follower); err != nil {
		return nil, err
	}
	return inf, nil
}

// joinNamespace adds a namespace.
func joinNamespace[K comparable, T any](i *core[K, T], namespace string, sourceOf func(string) (reflector.Source[T], error)) error {
	source, err := sourceOf(namespace)
	if _, changes := source.(picking.Changing[T]); changes {
		err = mistake.NoPruner
	}
	if err == nil && source == nil {
		err = mistake.NoSource
	}
	if err != nil {
		return about(i.name, fmt.Errorf("namespace %q: %w", namespace, err))
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	p := &part[K, T]{inf: i, source: source, place: place{namespace: namespace, resource: source.Resource(), newest: i.over.begun}}
	i.over.parts[namespace] = p
	i.places.add(&p.place)
	noteRefusal(&i.base)
	if i.phase == phaseRunning {
		p.brought.Store(true) // it may have joined right before others are found to be late
		startPart(p, present(&i.base))
		awaitOthers(i, present(&i.base))
	}
	return nil
}

// leaveSet removes a namespace, and what the store has of it. Handlers get the deletions; nobody waits for them.
func leaveSet[K comparable, T any](i *core[K, T], namespace string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	p := i.over.parts[namespace]
	delete(i.over.parts, namespace)
	i.places.remove(&p.place)
	restOwn(p)
	keepStats(&i.past, countsOf(&p.place))
	var ops []store.Op[K, T]
	for key := range keysIn(p) {
		ops = append(ops, store.Op[K, T]{Key: key, Delete: true})
	}
	_ = commitOps(i, ops, "", false) // the store is open
	eventlog.Publish(&i.log)
	noteRefusal(&i.base)
	goOnWithout(i)
}

// startAll starts the reflectors of all namespaces. Called with mu held.
func startAll[K comparable, T any](i *core[K, T], s *session) {
	i.over.begun, i.places.awaiting = true, false
	for _, p := range allParts(i) {
		startPart(p, s)
	}
	goOnWithout(i) // there may be no namespace
}

// startPart starts the goroutine of a namespace, which runs its reflectors, one after the other. Called with mu
// held, while the informer runs.
func startPart[K comparable, T any](p *part[K, T], s *session) {
	f := newFeed(p, s)
	s.feeding.Go(func() {
		defer closeFeed(f) // even if the source or OnError ends this goroutine
		for ctx := nextReflector(f); ctx != nil; ctx = nextReflector(f) {
			runReflector(f, ctx)
		}
	})
}

// nextReflector makes the next reflector of a feed, and returns its context: nil if the informer stops, or if the
// namespace was removed.
func nextReflector[K comparable, T any](f *feed[K, T]) (ctx context.Context) {
	p, i := f.part, f.part.inf
	i.mu.Lock()
	defer i.mu.Unlock()
	if f.session.run.Ctx.Err() != nil || p.removed {
		return nil
	}
	keepStats(&i.past, countsOf(&p.place))
	p.counts = nil
	if err := newReflector(f); err != nil {
		f.session.run.Fail(err) // not possible: join has checked the source
		return nil
	}
	ctx, p.end = context.WithCancel(f.session.run.Ctx)
	return ctx
}

// runReflector runs a feed's reflector until its namespace is removed, or has to list again because another one
// has shown that the server was restored.
func runReflector[K comparable, T any](f *feed[K, T], ctx context.Context) {
	began := time.Now()
	where := func(err *PanicError) {
		if f.commits {
			err.Where = "commit"
		}
	}
	contain(&f.part.inf.base, f.session, "source", where, func() {
		if err := f.reflector.Run(ctx); err != nil && ctx.Err() == nil {
			f.session.run.Fail(err)
		}
	})
	var pauses bool
	locked(&f.part.inf.base, func() { pauses = !f.part.removed })
	if pauses {
		_ = pause.For(f.session.run.Ctx, restartsEvery-time.Since(began))
	}
}

// restartsEvery is the shortest time between two reflectors of a namespace, so that sources whose
// versions do not compare are not listed without end.
const restartsEvery = 2 * time.Second

// awaitOthers makes the others late that bring nothing, once a namespace has listed. Called with mu held.
func awaitOthers[K comparable, T any](i *core[K, T], s *session) {
	if i.phase != phaseRunning || i.places.awaiting || !i.places.lags() {
		return
	}
	i.places.awaiting = true
	i.places.awaitNewly()
	s.run.Go(func() { contain(&i.base, s, "OnError", noKey, func() { awaitNamespaces(i, s) }) })
}

// awaitNamespaces drops late namespaces from the wait for the first lists of a run, until there is none left to wait
// for. If the server was away, the others come back when they ask again, so their failures before that do not
// count.
func awaitNamespaces[K comparable, T any](i *core[K, T], s *session) {
	tick := time.NewTicker(lateAfter)
	defer tick.Stop()
	for goesOn := true; goesOn; {
		select {
		case <-s.run.Ctx.Done():
			return
		case <-tick.C:
		}
		var late []*LateNamespaceError
		locked(&i.base, func() {
			if i.places.lags() { // the one that had listed may have been removed
				late = i.places.dropIdle(time.Now())
				goOnWithout(i)
			}
			goesOn = i.places.lags()
			i.places.awaiting = goesOn
		})
		for _, err := range late {
			report(&i.base, err)
		}
	}
}

// locked calls f with mu held.
func locked(i *base, f func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	f()
}

// Coverage is for package controller: it says what the store knows about a key that it does not have. Stats.Namespaces
// says it of each namespace. O(1), with the lock of the commits.
//
//go:noinline
func (i *Informer[K, T]) Coverage(key K) coverage.Coverage { return i.typed.Coverage(key) }

func (i *core[K, T]) Coverage(key K) coverage.Coverage {
	i.mu.Lock()
	defer i.mu.Unlock()
	if p := partOf(i, key); p != nil {
		return i.places.coverage(&p.place)
	}
	if i.over == nil {
		return coverage.Uncovered // Failed
	}
	if coming, ok := i.over.coming(); ok && coming == i.over.of(key) {
		return coverage.Listing
	}
	return coverage.Uncovered
}
