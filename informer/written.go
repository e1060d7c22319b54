package informer

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/kinform/kinform/deltafifo"
	"github.com/kinform/kinform/internal/usercode"
)

const (
	// maxWritten is how many writes of this process may be ahead of the watch.
	maxWritten = 10_000

	// writtenFor is how long they are believed. The watch of an idle resource brings a
	// bookmark every minute, so that longer means that something is wrong.
	writtenFor = 2 * time.Minute
)

// Written says that this process has just written obj, the state that the server answered
// with. Until the watch has caught up, [Informer.Get] and listers return it, so that the
// process reads its own writes; the store and handlers do not know of it. rv is the
// resourceVersion of the answer; it may be empty where T has metadata, and must not where
// T is a projection without. obj must belong to the informer's collection. A write that is
// older than another that was told of changes nothing.
//
// If the watch has not caught up within two minutes, the write is forgotten and a
// [*LostWriteError] reported to Options.OnError; so it is at once if the server turns out to be
// restored from a backup. Writes end with the run of the informer.
//
// It returns what the key function returns, [ErrNoVersion] without a resourceVersion that
// compares, [ErrStopped] while the informer does not run, and [ErrTooManyWrites] if the
// watch is 10,000 writes behind. Reads are then those of the store. Cost: O(1) and one
// allocation, and O(writes that are ahead) for every commit.
func (i *Informer[K, T]) Written(obj T, rv string) error {
	key, err := i.keyOf(obj)
	if err != nil {
		return err
	}
	if rv == "" {
		rv = versionOf(obj)
	}
	return i.wrote(key, ahead[T]{obj: obj, rv: rv})
}

// Deleted says that this process has just deleted the object of key. Until the watch has
// caught up, it is gone for [Informer.Get] and listers. rv is the resourceVersion of the
// deletion, or of the object that was deleted: a newer state of it, as one that waits for
// its finalizers, and a newer object of the key are shown; where T is a projection without
// metadata, the latter may take until their next change, see docs/design.md. See [Informer.Written].
func (i *Informer[K, T]) Deleted(key K, rv string) error {
	if err := usercode.CheckKey(key); err != nil {
		return err
	}
	return i.wrote(key, ahead[T]{rv: rv, deleted: true})
}

// Get returns the object under key and whether there is one: what this process has just
// written, see [Informer.Written], or else what the store has. Cost: that of the store's
// Get while no write is ahead of it.
func (i *Informer[K, T]) Get(key K) (T, bool) {
	if i.written.count.Load() > 0 {
		i.written.mu.RLock()
		a, ok := i.written.ahead[key]
		i.written.mu.RUnlock()
		if ok && a.deleted {
			return *new(T), false
		}
		if ok {
			return a.obj, true
		}
	}
	// What was taken off in the meantime is in the store already.
	return i.store.Get(key)
}

// ahead is one write that the watch has not brought yet.
type ahead[T any] struct {
	obj     T // zero if it is a deletion
	rv      string
	deleted bool
	until   time.Time
}

// written holds the writes of this process that are ahead of the store. It is locked
// within the informer's mu.
type written[K comparable, T any] struct {
	count atomic.Int64 // of ahead

	mu    sync.RWMutex
	ahead map[K]ahead[T] // nil for none
	taken uint64         // number of times that some were taken off
	timer *time.Timer    // nil unless it is set
}

// supersedes reports whether a is newer than b. A deletion can be told of with the version of
// what was deleted, the write of which then came before, though it may be told of later.
func (a ahead[T]) supersedes(b ahead[T]) bool {
	return older(b.rv, a.rv) || a.deleted && !b.deleted && !older(a.rv, b.rv)
}

func (i *Informer[K, T]) wrote(key K, a ahead[T]) error {
	if _, err := resourceversion.CompareResourceVersion(a.rv, a.rv); err != nil {
		return ErrNoVersion
	}
	i.mu.Lock() // no commit may come between the look at the store and the entry
	defer i.mu.Unlock()
	if i.phase != running {
		return ErrStopped
	}
	if i.caughtUp(key, a) {
		return nil
	}
	w := &i.written
	w.mu.Lock()
	defer w.mu.Unlock()
	if known, ok := w.ahead[key]; ok && known.supersedes(a) {
		return nil
	} else if !ok && len(w.ahead) >= maxWritten {
		return ErrTooManyWrites
	}
	if w.ahead == nil {
		w.ahead = map[K]ahead[T]{}
	}
	a.until = time.Now().Add(writtenFor)
	w.ahead[key] = a
	w.count.Store(int64(len(w.ahead)))
	if w.timer == nil {
		w.timer = time.AfterFunc(writtenFor, func() { i.expireWritten(time.Now()) })
	}
	return nil
}

// caughtUp reports whether the store is at least as new as a.
func (i *Informer[K, T]) caughtUp(key K, a ahead[T]) bool {
	if older(i.store.ResourceVersion(), a.rv) || i.store.ResourceVersion() == "" {
		return false
	}
	if !a.deleted {
		return true
	}
	obj, ok := i.store.Get(key)
	return !ok || older(a.rv, versionOf(obj))
}

// settle does what is to be done after a commit that found the store at resourceVersion
// before: the writes that the store has caught up with are taken off. Called with mu held.
func (i *Informer[K, T]) settle(batch deltafifo.Batch[K, T], before string) {
	w := &i.written
	if w.count.Load() == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for key, a := range w.ahead {
		if i.caughtUp(key, a) || a.deleted && i.isNewer(batch, key, a, before) {
			w.take(key)
		}
	}
}

// isNewer reports whether an object that does not say how old it is came after a deletion,
// as far as can be told: it came when the store had got that far, or after another of its
// key went, in one commit with it. What says how old it is caughtUp knows; a relist repeats
// such an object, and it is no newer for that.
func (i *Informer[K, T]) isNewer(batch deltafifo.Batch[K, T], key K, a ahead[T], before string) bool {
	if before == "" || older(i.store.ResourceVersion(), a.rv) {
		return false
	}
	if obj, _ := i.store.Get(key); versionOf(obj) != "" {
		return false
	}
	return !older(before, a.rv) && touches(batch, key) || remakes(batch, key)
}

// touches reports whether batch changes the object of key. O(changes).
func touches[K comparable, T any](batch deltafifo.Batch[K, T], key K) bool {
	for k := range batch.All() {
		if k == key {
			return true
		}
	}
	return false
}

// remakes reports whether batch deletes the object of key and then adds one. O(changes).
func remakes[K comparable, T any](batch deltafifo.Batch[K, T], key K) bool {
	for k, deltas := range batch.All() {
		if k != key {
			continue
		}
		deleted := slices.IndexFunc(deltas, func(d deltafifo.Delta[T]) bool { return d.Type == deltafifo.Deleted })
		return deleted >= 0 && slices.ContainsFunc(deltas[deleted:], func(d deltafifo.Delta[T]) bool { return d.Type != deltafifo.Deleted })
	}
	return false
}

// take takes one off. Called with w.mu held.
func (w *written[K, T]) take(key K) {
	delete(w.ahead, key)
	w.taken++
	if len(w.ahead) == 0 {
		w.ahead = nil // maps never shrink
		if w.timer != nil {
			w.timer.Stop()
			w.timer = nil
		}
	}
	w.count.Store(int64(len(w.ahead)))
}

// expireWritten takes off what was believed for too long, and reports it.
func (i *Informer[K, T]) expireWritten(now time.Time) {
	i.mu.Lock()
	if i.phase != running {
		i.mu.Unlock()
		return
	}
	s := i.session.Load()
	s.Add(1) // Run waits for the report
	i.mu.Unlock()
	defer s.Done()
	i.reportLost(i.written.expire(now, func() { i.expireWritten(time.Now()) }))
}

func (i *Informer[K, T]) reportLost(all []*LostWriteError) {
	for _, lost := range all {
		lost.Resource = i.Resource()
		i.report(lost)
	}
}

// expireAll takes all off, as expire does with what was believed for too long.
func (w *written[K, T]) expireAll() []*LostWriteError {
	if w.count.Load() == 0 {
		return nil
	}
	return w.expire(time.Now().Add(writtenFor), nil)
}

// expire takes off what has expired and sets the timer for the rest.
func (w *written[K, T]) expire(now time.Time, again func()) (lost []*LostWriteError) {
	w.mu.Lock()
	defer w.mu.Unlock()
	next := now.Add(writtenFor)
	for key, a := range w.ahead {
		if a.until.After(now) {
			if a.until.Before(next) {
				next = a.until
			}
			continue
		}
		lost = append(lost, &LostWriteError{Key: keyString(key), ResourceVersion: a.rv, Deleted: a.deleted})
		w.take(key)
	}
	if w.timer = nil; len(w.ahead) > 0 {
		w.timer = time.AfterFunc(next.Sub(now), again)
	}
	slices.SortFunc(lost, func(a, b *LostWriteError) int { return cmp.Compare(a.Key, b.Key) })
	return lost
}

// forgetWritten takes all off, because the store stands still from now on.
func (i *Informer[K, T]) forgetWritten() {
	w := &i.written
	w.mu.Lock()
	defer w.mu.Unlock()
	for key := range w.ahead {
		w.take(key)
	}
}

// versionOf returns obj's resourceVersion, empty if T has none.
func versionOf[T any](obj T) string {
	if o, ok := any(obj).(metav1.Object); ok {
		return o.GetResourceVersion()
	}
	return ""
}
