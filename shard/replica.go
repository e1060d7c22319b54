package shard

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/internal/hashrange"
	"github.com/kinform/kinform/internal/logs"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/shard/internal/gate"
	"github.com/kinform/kinform/shard/internal/replica"
	"github.com/kinform/kinform/shard/leader"
)

// leaseClient has the requests of a client.Resource that a replica sends. Thanks to the interface,
// packages that import this one are not compiled with the code of a client of Leases.
type leaseClient interface {
	reflector.Source[*leader.Lease]
	Get(ctx context.Context, key types.NamespacedName, opts metav1.GetOptions) (*leader.Lease, error)
	Create(ctx context.Context, l *leader.Lease, opts metav1.CreateOptions) (*leader.Lease, error)
	Patch(ctx context.Context, key types.NamespacedName, pt types.PatchType, data []byte, opts metav1.PatchOptions) (*leader.Lease, error)
	Delete(ctx context.Context, key types.NamespacedName, opts metav1.DeleteOptions) error
}

// Replica is one of several processes that divide the keys of a controller. Make one with [New].
// Its methods may be called from any goroutine.
type Replica struct {
	// Set by New and never changed.
	opts   Options
	client leaseClient
	log    logs.Log
	wake   chan struct{} // one element: a call of reconcile has ended
	hashes *Hashes
	gate   *gate.Gate // open while this replica may write

	keeping sync.Mutex // held while Hashes changes

	mu      sync.Mutex
	started bool
	works   []worker
	holds   []replica.Hold // the ranges of this replica
	ready   []replica.Hold // those in which work may begin: part of holds, and caught up
	version int            // of holds
	id      string         // UID of the Lease
	tokens  map[*token]struct{}
	gained  uint64
	dropped uint64
	watch   *watcher // nil before Run
	lost    uint64
	expired uint64
}

// worker is a Work of any type.
type worker interface {
	catchUp(ctx context.Context) error
	enqueue(in func(hash uint64) bool, failed func(*PanicError))
}

// New returns a replica. It sends nothing. It returns an error that wraps [ErrInvalid] if Options
// are not usable, and the errors of client.New.
//
// The replica does not use the Limiter and the Retries of server: a renewal must not wait behind
// other requests, and repeats itself. Do not pass a connection of [Replica.Gate].
func New(server client.Connection, opts Options) (*Replica, error) {
	opts, err := opts.complete()
	if err != nil {
		return nil, err
	}
	server.Retries, server.Limiter = -1, nil
	c, err := client.New(server, Kind, client.Options{Namespace: opts.Namespace, LabelSelector: LabelName + "=" + opts.Name})
	if err != nil {
		return nil, fmt.Errorf("shard: %w", err)
	}
	return &Replica{
		opts: opts, client: c, log: logs.New(opts.Logger, "shard", ""), wake: make(chan struct{}, 1), hashes: new(Hashes),
		gate: gate.New(ErrFenced, ErrMoved), tokens: map[*token]struct{}{},
	}, nil
}

// Identity returns the name of this process.
func (r *Replica) Identity() string { return r.opts.Identity }

// Hashes returns the hashes of which this replica needs the objects, for a [Part]: then a cache has
// only the objects of its replica. The set changes by itself:
//
//   - A range that comes is in the set before [Keys.CatchUp] is called, when the caches have listed
//     it.
//   - A range that is to move stays until the running calls of reconcile in it have returned, so no
//     object vanishes under them. Then the handlers get deletions with FinalStateUnknown for its
//     objects. Filter them by [Work.Has]; where that is left out, [Work.Reconcile] passes over
//     them.
//   - A replica without ranges, such as one that could not renew its Lease, keeps its hashes until
//     it gets some.
//
// The hash of an object in a cache must be the hash of the key that is queued for it. If reconcile
// reads other objects, their hash must be the same, such as the hash of the namespace of all, or
// they need a cache of all objects. With hashes by FieldNamespace or FieldUID a
// server may select them; keys that are hashed by UID must contain it.
func (r *Replica) Hashes() *Hashes { return r.hashes }

// keep brings Hashes up to date. It may wait for handlers.
func (r *Replica) keep() error {
	r.keeping.Lock()
	defer r.keeping.Unlock()
	r.mu.Lock()
	holds := r.holds
	r.mu.Unlock()
	if len(holds) == 0 {
		return nil
	}
	var want []HashRange
	for _, h := range holds {
		want = append(want, HashRange{First: h.First, Last: h.Last})
	}
	for _, had := range r.hashes.Ranges() {
		for _, lost := range without([]replica.Hold{{First: had.First, Last: had.Last}}, holds) {
			if r.busy(lost.First, lost.Last) {
				want = append(want, HashRange{First: lost.First, Last: lost.Last})
			}
		}
	}
	return r.hashes.Set(want...)
}

// Range is a part of the hashes.
type Range struct {
	// First and Last are included.
	First, Last uint64
	// Number is the fencing number.
	Number int64
	// Ready is false while Keys.CatchUp runs.
	Ready bool
}

// Status is the state of a replica at one moment.
type Status struct {
	// ID is the UID of its Lease, empty if it has none. The assignment names owners by it.
	ID string
	// Until is the time at which the replica stops unless its Lease is renewed. It may be in the
	// past.
	Until time.Time
	// Ranges are the hashes that the replica works on, sorted.
	Ranges []Range
	// Share is the part of all hashes that Ranges have, from 0 to 1.
	Share float64
	// Running is the number of running calls of reconcile. Draining is the number of calls for
	// ranges that are to move or were lost. A call that does not return holds up its range.
	// Draining includes calls that have returned while one of their writes had no answer.
	Running, Draining int
	// Gained and Dropped count the ranges that came and went since New.
	Gained, Dropped uint64
	// Lost counts the Leases that it has lost since New. Expired counts the ones that time has
	// ended: [ErrExpired], [ErrBlind], [ErrExcluded]. It does not include Leases that it gave up
	// when Run ended.
	Lost, Expired uint64
}

// Status returns the present state.
func (r *Replica) Status() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := Status{ID: r.id, Until: r.gate.Until(), Gained: r.gained, Dropped: r.dropped, Lost: r.lost, Expired: r.expired}
	for _, h := range r.holds {
		_, ready := find(r.ready, h.First)
		s.Ranges = append(s.Ranges, Range{h.First, h.Last, h.Number, ready})
		s.Share += share(h.First, h.Last)
	}
	for t := range r.tokens {
		if !t.ended {
			s.Running++
		}
		if _, held := find(r.holds, t.hash); !held {
			s.Draining++
		}
	}
	return s
}

// Assignment returns the assignment and the members as this replica's watch has last brought them,
// nil before. It sends nothing. O(ranges and members).
func (r *Replica) Assignment() *Assignment {
	r.mu.Lock()
	w := r.watch
	r.mu.Unlock()
	if w == nil {
		return nil
	}
	w.mu.Lock()
	v := w.last
	w.mu.Unlock()
	if v == nil {
		return nil
	}
	return assignmentOf(v)
}

// share returns the part of all hashes that a range has. Both ends are included.
func share(first, last uint64) float64 { return (float64(last-first) + 1) / (1 << 32) / (1 << 32) }

// Healthy returns a check for manager.AddHealthCheck. It fails if calls of reconcile go on although
// this replica could not renew its Lease for LeaseDuration and tolerance. Such calls ignore their
// context, or hang: end the process.
func (r *Replica) Healthy(tolerance time.Duration) func(context.Context) error {
	return func(context.Context) error {
		r.mu.Lock()
		defer r.mu.Unlock()
		for t := range r.tokens {
			if late := time.Since(t.lost); !t.ended && !t.lost.IsZero() && late > r.opts.LeaseDuration-r.opts.RenewDeadline+tolerance {
				return fmt.Errorf("shard: a reconcile goes on %v after the lease has ended", late)
			}
		}
		return nil
	}
}

func (r *Replica) key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: r.opts.Namespace, Name: name}
}

// token is a call of reconcile. Its fields are guarded by the replica's mu.
type token struct {
	replica *Replica
	hash    uint64
	number  int64
	cancel  context.CancelCauseFunc
	pass    *gate.Pass // for its writes
	ended   bool
	lost    time.Time // when the lease ended, zero if it has not
}

type tokenKey struct{}

// begin begins a call of reconcile. The caller has to call end. It returns no token if the hash
// belongs to others. doubt says that the lease is over by the clock, but that the core has not
// decided so yet.
func (r *Replica) begin(ctx context.Context, hash uint64) (of context.Context, t *token, doubt bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h, ok := find(r.ready, hash)
	if !ok {
		return nil, nil, false
	}
	if !r.gate.Open() {
		return nil, nil, true
	}
	t = &token{replica: r, hash: hash, number: h.Number}
	ctx, t.pass = r.gate.Grant(ctx)
	ctx, t.cancel = context.WithCancelCause(context.WithValue(ctx, tokenKey{}, t))
	r.tokens[t] = struct{}{}
	return ctx, t, false
}

// end ends a call of reconcile. If a write of it may still arrive, the call holds up the move of
// its range for as long as the others wait after the end of a lease.
func (r *Replica) end(t *token) {
	t.cancel(nil)
	t.pass.End()
	r.mu.Lock()
	t.ended = true
	r.mu.Unlock()
	wait := time.Until(t.pass.Unclear().Add(r.opts.LeaseDuration - r.opts.RenewDeadline))
	if wait > 0 {
		time.AfterFunc(wait, func() { r.forget(t) })
	} else {
		r.forget(t)
	}
}

// forget removes a call that has ended.
func (r *Replica) forget(t *token) {
	r.mu.Lock()
	delete(r.tokens, t)
	_, held := find(r.holds, t.hash)
	r.mu.Unlock()
	if !held { // the range may move now
		signal(r.wake)
	}
}

// busy reports whether calls of reconcile run for hashes from first to last.
func (r *Replica) busy(first, last uint64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for t := range r.tokens {
		if first <= t.hash && t.hash <= last {
			return true
		}
	}
	return false
}

// has reports whether a hash is in the ranges in which work may begin. It does not look at the
// clock: a key that is left out is only added when its range comes, and a lease that is renewed at
// the last moment brings no range.
func (r *Replica) has(hash uint64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := find(r.ready, hash)
	return ok
}

// limit sets until when this replica may write. It ends the writes that are under way if that is
// over.
func (r *Replica) limit(until time.Time, id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.id = id
	r.gate.Limit(until)
}

// lose ends all calls of reconcile.
func (r *Replica) lose(err *LostError) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gate.Limit(time.Time{})
	r.lost++
	if err.byTime() {
		r.expired++
	}
	for t := range r.tokens {
		t.lost = time.Now()
		t.pass.End()
		t.cancel(fmt.Errorf("%w: %w", ErrMoved, err))
	}
}

// hold takes new ranges, and returns those that are not ready.
func (r *Replica) hold(holds []replica.Hold) (missing []replica.Hold, version int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gained += uint64(len(without(holds, r.holds)))
	r.dropped += uint64(len(without(r.holds, holds)))
	r.holds, r.ready = holds, common(r.ready, holds)
	r.version++
	return without(holds, r.ready), r.version
}

// admit makes ranges ready, unless hold was called since.
func (r *Replica) admit(ranges []replica.Hold, version int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.version != version {
		return false
	}
	r.ready = append(r.ready, ranges...)
	slices.SortFunc(r.ready, func(a, b replica.Hold) int {
		if a.First < b.First {
			return -1
		}
		return 1
	})
	return true
}

// find returns the range with a hash.
func find(ranges []replica.Hold, hash uint64) (replica.Hold, bool) {
	for _, h := range ranges {
		if h.First <= hash && hash <= h.Last {
			return h, true
		}
	}
	return replica.Hold{}, false
}

// common returns the intersection of two lists, with the numbers of the second one. Both are
// sorted.
func common(a, b []replica.Hold) []replica.Hold { return hashrange.Common(a, b, (*replica.Hold).Ends) }

// without returns the first list without the hashes of the second one. Both are sorted.
func without(a, b []replica.Hold) []replica.Hold {
	return hashrange.Without(a, b, (*replica.Hold).Ends)
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
