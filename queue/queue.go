package queue

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kinform/kinform/internal/mapkey"
)

// Queue is a work queue of keys. The package comment describes its guarantees. All methods may be
// called from any goroutine. Make one with [New]. It need not be closed: a queue without references
// is garbage if no key is delayed or held in it, or if it was shut down.
type Queue[K comparable] struct {
	// Set once by New.
	base        time.Time // zero of the int64 times
	seed        maphash.Seed
	limiter     Limiter[K]
	backoff     Exponential[K] // used if limiter is nil
	classOf     func(K) string
	reports     *reports[K] // nil for a queue without a name whose errors are dropped
	ageAfter    int64
	debounce    int64 // zero: none
	debounceMax int64

	runs atomic.Pointer[runs] // nil before the first Run

	mu sync.Mutex // guards what follows; no user code runs and nothing waits while it is held

	store   store[K]
	ready   readyQueue[K]
	pending [heaps]timers[K]
	sets    uint64 // number of times set in pending
	age     ageing
	down    bool      // beside age, where it takes no extra memory
	classes *classSet // nil without Options.Class
	timing  *timing[K]

	timer *time.Timer
	armed int64 // the time that the timer is set for; zero when it is not set

	parked waiters
	idle   chan struct{} // made by the first wait for it; closed when down and no key is queued or running

	running int // entries handed out
	dirties int // running entries that will come back
	count   counters
}

// New returns an empty queue. It starts no goroutine. It panics if K cannot be a key: if K is a
// float, a complex number, an interface, or an array or struct that holds one. Values of these may
// not equal themselves (NaN), or not compare.
func New[K comparable](opts Options[K]) *Queue[K] {
	mapkey.Must[K]()
	q := &Queue[K]{
		base:     time.Now().Add(-1), // so that no stamp is zero, which means none
		seed:     maphash.MakeSeed(),
		classOf:  opts.Class,
		reports:  reportsOf(opts),
		ageAfter: int64(ageAfter),
		debounce: max(0, int64(opts.Debounce)),
	}
	switch l := opts.Limiter.(type) {
	case nil:
	case Exponential[K]:
		q.backoff = l
	default:
		q.limiter = l
	}
	q.debounceMax = saturatingAdd(0, q.debounce, debounceSpan)
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

// Name returns [Options.Name].
func (q *Queue[K]) Name() string {
	if q.reports == nil {
		return ""
	}
	return q.reports.name
}

// Len returns the number of queued keys: added and not yet handed out. It does not include delayed
// and held keys, and keys added again while they run. O(1).
func (q *Queue[K]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.ready.n
}

// now returns the present time in the unit of the entries. It is never zero.
func (q *Queue[K]) now() int64 { return int64(time.Since(q.base)) }

// stamp returns the time at which an entry starts to wait, or zero if it will not be used.
func stamp[K comparable](q *Queue[K]) int64 {
	if q.timing != nil || q.ready.levels != nil {
		return q.now()
	}
	return 0
}

// hash returns the key's hash. Called without the lock, so that long keys do not lengthen the lock
// hold.
func (q *Queue[K]) hash(key K) uint32 { return uint32(maphash.Comparable(q.seed, key)) }
