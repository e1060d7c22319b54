package shard

import (
	"context"
	"fmt"
	"iter"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/internal/usercode"
	"github.com/kinform/kinform/shard/internal/assign"
)

// Keys says what [Divide] needs to know about the keys of a controller. Hashed, All and Add must be
// set.
type Keys[Q comparable] struct {
	// Hashed returns the text by which a key is assigned: keys with equal texts belong to one
	// replica. It must return the same text for a key in all replicas and at all times, even when
	// the object is gone: so take it from the key. It is called often, by several goroutines at
	// once, and without a lock.
	//
	// The keys of a controller are mostly keys of owners: informers of other kinds map their
	// objects to them. So an owner and what it owns come to one replica. To divide by something
	// else that never changes for an object, such as a label with the tenant, make it a part of Q,
	// and queue such keys with controller.Watch.
	Hashed func(Q) string

	// Hash returns the hash of such a text. Nil means [Hash]. Use [ServerHash], and name
	// that in Options.Scheme, if the text is what servers select by: see [Replica.Hashes]. All
	// replicas need the same.
	Hash func(text string) uint64

	// All returns all keys, such as the keys of the informer's store. When ranges come to this
	// replica, the keys in them are added. It is called by one goroutine at a time.
	All func() iter.Seq[Q]

	// Add adds a key to the queue, such as a function that calls Queue().Add of the controller, which is made later. It
	// is not called before the replica runs.
	Add func(Q)

	// CatchUp returns when the caches that reconcile reads are new enough for ranges that have come
	// to this replica. It is called before All. An error is reported, and it is called again after
	// RetryPeriod. Its context ends when the ranges change.
	//
	// Use WaitForNow of each controller.Handle that reconcile reads. By then the former owner has
	// stopped, so reads have all of its writes, whether it left or died. This takes some milliseconds, or
	// up to three seconds if nothing changes in a collection. A version that the former owner leaves in
	// its Lease would save the request, but could not tell of a deletion, whose answer has no version, of
	// a write without an answer, or of anything after a crash. The handles must run, since ranges wait
	// for them. Nil means that ranges do not wait: the cache may be as old as any controller's after a
	// restart.
	CatchUp func(context.Context) error
}

// ByKey returns namespace and name of a key, for Keys.Hashed.
func ByKey(key types.NamespacedName) string { return key.Namespace + "/" + key.Name }

// ByNamespace returns the namespace of a key, for Keys.Hashed: all of one namespace belongs to one
// replica. With few namespaces, or namespaces of different sizes, the load is not even.
func ByNamespace(key types.NamespacedName) string { return key.Namespace }

// Hash returns the hash of a text, as the ranges of an assignment divide it.
func Hash(text string) uint64 { return assign.Hash(text) }

// Work is the part of a controller's keys that belongs to a replica.
type Work[Q comparable] struct {
	replica   *Replica
	keys      Keys[Q]
	reconcile func(context.Context, Q) error
}

// doubtTime is how long a reconcile waits before it looks again whether a lease is over.
const doubtTime = 10 * time.Millisecond

// Divide divides the keys of one controller. Several controllers may share a Replica: then their
// keys with the same text belong to the same replica. It returns an error that wraps [ErrInvalid]
// if a function is missing, or [ErrStarted] after [Replica.Run] was called.
func Divide[Q comparable](r *Replica, keys Keys[Q], reconcile func(context.Context, Q) error) (*Work[Q], error) {
	if r == nil || keys.Hashed == nil || keys.All == nil || keys.Add == nil || reconcile == nil {
		return nil, fmt.Errorf("shard: %w: the replica, Keys.Hashed, Keys.All, Keys.Add and the function must not be nil", ErrInvalid)
	}
	w := &Work[Q]{r, keys, reconcile}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.started {
		return nil, fmt.Errorf("shard: Divide among the replicas of %s: %w", r.key(r.opts.Name), ErrStarted)
	}
	r.works = append(r.works, w)
	return w, nil
}

func (w *Work[Q]) hash(key Q) uint64 {
	text := w.keys.Hashed(key)
	if w.keys.Hash == nil {
		return Hash(text)
	}
	return w.keys.Hash(text)
}

// Has reports whether this replica works on a key now. Use it in a filter, so that the keys of
// others are not queued. A key that it leaves out is added when its range comes to this replica.
func (w *Work[Q]) Has(key Q) bool { return w.replica.has(w.hash(key)) }

// Reconcile calls the function of [Divide] for a key of this replica, and returns its result. For
// another key it returns nil, so that the queue forgets it. Pass it to controller.New or
// queue.Run.
//
// The context ends when this replica's lease is over; the cause then matches [ErrMoved].
func (w *Work[Q]) Reconcile(ctx context.Context, key Q) error {
	of, t, doubt := w.replica.begin(ctx, w.hash(key))
	for doubt { // for a moment, at the end of a lease
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(doubtTime):
		}
		of, t, doubt = w.replica.begin(ctx, w.hash(key))
	}
	if t == nil {
		return nil
	}
	defer w.replica.end(t)
	return w.reconcile(of, key)
}

// Number returns the fencing number of the key that a reconcile works on, by its context, and
// whether the context is one. See the package documentation.
func Number(ctx context.Context) (int64, bool) {
	t, ok := ctx.Value(tokenKey{}).(*token)
	if !ok {
		return 0, false
	}
	return t.number, true
}

func (w *Work[Q]) catchUp(ctx context.Context) (err error) {
	if w.keys.CatchUp == nil {
		return nil
	}
	usercode.Contain("Keys.CatchUp", func() { err = w.keys.CatchUp(ctx) }, func(p *PanicError) { err = p })
	return err
}

// enqueue adds all keys with a hash in a range. A panic that one key causes costs the others
// nothing.
func (w *Work[Q]) enqueue(in func(hash uint64) bool, failed func(*PanicError)) {
	usercode.Contain("Keys.All", func() {
		for key := range w.keys.All() {
			usercode.Contain("Keys.Hashed or Keys.Add", func() {
				if in(w.hash(key)) {
					w.keys.Add(key)
				}
			}, func(err *PanicError) {
				err.Key = fmt.Sprint(key)
				failed(err)
			})
		}
	}, failed)
}
