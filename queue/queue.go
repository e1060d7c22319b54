package queue

import (
	"hash/maphash"
	"sync"
	"time"

	"github.com/kinform/kinform/internal/mapkey"
)

// Queue is a work queue of keys: see the package comment for what it promises. All methods may be called from any
// goroutine. Make one with [New]. It needs no closing: a queue that nobody refers to is garbage when no key is
// delayed or held in it, or it was shut down.
type Queue[K comparable] struct {
	// Set once by New.
	base        time.Time // what the int64 times count from
	seed        maphash.Seed
	limiter     Limiter[K]
	backoff     Exponential[K] // stands for limiter when that is nil
	classOf     func(K) string
	onError     func(K, error)
	ageAfter    int64 // negative: never
	debounce    int64 // zero: none
	debounceMax int64

	mu sync.Mutex // guards what follows; no user code runs and nothing waits while it is held

	store   store[K]
	ready   readyQueue[K]
	pending [heaps]timers[K]
	sets    uint64 // times that were set in pending
	age     ageing
	classes *classSet // nil without Options.Class
	timing  *timing[K]

	timer *time.Timer
	armed int64 // the time that the timer is set for; zero when it is not set

	parked waiters
	down   bool
	idle   chan struct{} // made by the first who waits for it, closed when down and nothing is queued or running

	running int // entries handed out
	dirties int // of them, those to come back
	count   counters
}

// New returns an empty queue. It starts no goroutine. It panics if K cannot be a key: if K is a float, a complex number,
// an interface, or an array or struct that holds one. Values of these may not equal themselves (NaN), or not compare.
func New[K comparable](opts Options[K]) *Queue[K] {
	mapkey.Must[K]()
	q := &Queue[K]{
		base:     time.Now().Add(-1), // so that no stamp is zero, which means none
		seed:     maphash.MakeSeed(),
		classOf:  opts.Class,
		onError:  opts.OnError,
		ageAfter: int64(opts.AgeAfter),
		debounce: max(0, int64(opts.Debounce)),
	}
	switch l := opts.Limiter.(type) {
	case nil:
	case Exponential[K]:
		q.backoff = l
	default:
		q.limiter = l
	}
	if opts.AgeAfter == 0 {
		q.ageAfter = int64(defaultAgeAfter)
	}
	q.debounceMax = int64(opts.DebounceMax)
	if opts.DebounceMax <= 0 {
		q.debounceMax = saturatingAdd(0, q.debounce, debounceSpan)
	}
	q.debounceMax = max(q.debounceMax, q.debounce)
	for i := range q.pending {
		q.pending[i].which = i
	}
	if opts.Class != nil {
		q.classes = &classSet{}
	}
	if opts.Timing {
		q.timing = new(timing[K])
	}
	return q
}

// Len is the number of keys that are queued: added and not yet handed out. Delayed and held keys, and those added again
// while they run, are not among them. O(1).
func (q *Queue[K]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.ready.n
}

// now is the present time as the entries count it, never zero.
func (q *Queue[K]) now() int64 { return int64(time.Since(q.base)) }

// stamp is the time at which an entry starts to wait, or zero where nobody will ask.
func (q *Queue[K]) stamp() int64 {
	if q.timing != nil || q.ready.levels != nil && q.ageAfter >= 0 {
		return q.now()
	}
	return 0
}

// hash is the key's hash. Called without the lock, so that long keys do not lengthen it.
func (q *Queue[K]) hash(key K) uint32 { return uint32(maphash.Comparable(q.seed, key)) }
