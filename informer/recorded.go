package informer

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/kinform/kinform/deltafifo"
	"github.com/kinform/kinform/internal/keytext"
	"github.com/kinform/kinform/internal/objmeta"
	"github.com/kinform/kinform/internal/usercode"
	"github.com/kinform/kinform/store"
)

const (
	// maxWritten is the limit of writes that may be ahead of the watch.
	maxWritten = 10_000

	// writtenFor is the time after which a write counts as lost. The watch of an idle resource
	// brings a bookmark every minute, so a longer delay means that something is wrong.
	writtenFor = 2 * time.Minute
)

// RecordWrite records a write of this process: obj is the object in the server's answer. Until the
// watch has caught up, [Informer.Get] and listers return obj, so the process reads its own writes.
// The store and the handlers do not get it, with one exception. If somebody deletes the object, and
// the next list begins after that, the watch brings neither the write nor the deletion. Handlers
// then get Added, and Deleted with FinalStateUnknown.
//
// rv is the resourceVersion of the answer. It may be empty if T has metadata; a projection without
// metadata needs it. obj must belong to the informer's collection. A write that is older than one
// already recorded changes nothing.
//
// If the watch does not catch up within two minutes, the informer forgets the write and reports a
// [*LostWriteError] to Options.OnError. When it notices that the server was restored from a backup,
// it does so at once, unless the server has the write. The end of Run forgets all writes.
//
// Errors: those of the key function; store.ErrResourceVersion, with the resource and the key, if rv
// is missing or cannot be compared with others; [ErrStopped] while the informer does not run;
// [ErrTooManyWrites] if the watch is 10,000 writes behind. After an error, reads return what the
// store has. Cost: O(1) and one call of each bound index, and O(writes ahead of the watch) for
// every commit after the watch has reached the oldest of them. A [Union] pays that for every
// commit.
func (i *Informer[K, T]) RecordWrite(obj T, rv string) error {
	key, err := i.keyOf(obj)
	if err != nil {
		return err
	}
	if rv == "" {
		rv = objmeta.VersionOf(obj)
	}
	return i.wrote(key, ahead[T]{obj: obj, rv: rv})
}

// RecordDelete records that this process has deleted the object of key. Until the watch has
// caught up, [Informer.Get] and listers do not return the object. rv is the resourceVersion of
// the deletion or of the deleted object. Reads do return a newer state of the object, such as
// one that waits for its finalizers, and a newer object with the same key. If T is a projection
// without metadata, a newer object may stay hidden until its next change: see docs/design.md.
// See [Informer.RecordWrite].
func (i *Informer[K, T]) RecordDelete(key K, rv string) error {
	if err := usercode.CheckKey(key); err != nil {
		return err
	}
	return i.wrote(key, ahead[T]{rv: rv, deleted: true})
}

// RecordGone records that the object with uid is gone from under key: this process deleted it,
// removed the last finalizer that its deletion waited for, or learned it from the server. Until
// the watch has caught up, reads hide the object, whatever its version. They return another object
// under key once the watch brings it. rv is any resourceVersion at which the object was seen.
//
// Without a uid, rv must be that of the deletion or a later one. Reads then have nothing under key
// until the watch has reached rv. Otherwise see [Informer.RecordDelete].
func (i *Informer[K, T]) RecordGone(key K, uid types.UID, rv string) error {
	if err := usercode.CheckKey(key); err != nil {
		return err
	}
	return i.wrote(key, ahead[T]{rv: rv, deleted: true, uid: uid, exact: uid == ""})
}

// LostWrites returns the number of recorded writes that the informer gave up before the watch
// brought them: because of a [*LostWriteError], or at the end of Run. Since then reads may be
// older than these writes. Cost: one atomic load.
func (i *Informer[K, T]) LostWrites() uint64 { return i.written.lost.Load() }

// LostKeys returns the keys of the writes that were lost since an earlier call of LostWrites or
// LostKeys. since is the number of lost writes that this call returned, and now is the present one.
// A key may be there twice. complete is false if some keys are not known any more: the informer
// knows the last 5,000 or more.
func (i *Informer[K, T]) LostKeys(since uint64) (keys []K, now uint64, complete bool) {
	w := &i.written
	w.mu.RLock()
	defer w.mu.RUnlock()
	now = w.lost.Load()
	since = min(since, now)
	first := max(since, now-uint64(len(w.lostKeys)))
	return slices.Clone(w.lostKeys[len(w.lostKeys)-int(now-first):]), now, first == since
}

// Get returns the object under key and whether there is one. A write that [Informer.RecordWrite]
// recorded comes before the store's object. While no write is ahead of the watch, Get costs the
// same as the store's Get.
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
	// A write that was removed since then is in the store already.
	return i.store.Get(key)
}

// PendingWrite returns the resourceVersion of the recorded write under key ([Informer.RecordWrite])
// that the watch has not brought yet, and whether there is one. Stats.Writes is the number of all
// such writes. O(1), with a lock that reads share.
func (i *Informer[K, T]) PendingWrite(key K) (rv string, ok bool) {
	if i.written.count.Load() == 0 {
		return "", false
	}
	i.written.mu.RLock()
	defer i.written.mu.RUnlock()
	a, ok := i.written.ahead[key]
	return a.rv, ok
}

// ahead is a write that the watch has not brought yet.
type ahead[T any] struct {
	obj     T // zero for a deletion
	rv      string
	deleted bool
	uid     types.UID // of a deletion: it hides this object only; empty if not known
	exact   bool      // of a deletion: rv is not older than the deletion
	until   time.Time
	values  []any // of obj, for each of written.indexes
}

// written holds the writes of this process that are ahead of the store. Its lock is taken inside
// the informer's mu.
type written[K comparable, T any] struct {
	count atomic.Int64  // of ahead
	lost  atomic.Uint64 // number of writes given up so far

	mu       sync.RWMutex
	ahead    map[K]ahead[T] // nil for none
	oldest   string         // no write in ahead has an older version; empty if there is none
	changed  uint64         // number of changes of ahead so far
	indexes  []aheadIndex[K, T]
	taken    uint64      // number of writes removed so far
	lostKeys []K         // of the last lost ones, the newest last
	timer    *time.Timer // for the next expiry; nil if none is set
}

// supersedes reports whether a is newer than b. A deletion may carry the version of the deleted
// object. Then it is newer than the write with that version, even if the write is recorded later.
func (a ahead[T]) supersedes(b ahead[T]) bool {
	if a.uid != "" && !b.deleted && objmeta.UIDOf(b.obj) == a.uid {
		return true // a is the end of that object
	}
	if b.uid != "" && !a.deleted && objmeta.UIDOf(a.obj) == b.uid {
		return false
	}
	return older(b.rv, a.rv) || a.deleted && !b.deleted && !older(a.rv, b.rv)
}

// errLateIndex says that an index was bound meanwhile.
var errLateIndex = errors.New("an index was bound meanwhile")

func (i *Informer[K, T]) wrote(key K, a ahead[T]) error {
	for {
		if err := i.tryWrote(key, a); err != errLateIndex {
			return err
		}
	}
}

func (i *Informer[K, T]) tryWrote(key K, a ahead[T]) error {
	if _, err := resourceversion.CompareResourceVersion(a.rv, a.rv); err != nil {
		return i.about(fmt.Errorf("%s: %w: %w", keytext.Of(key), store.ErrResourceVersion, err))
	}
	indexes := i.written.known()
	a.values = evaluate(a, indexes)
	i.mu.Lock() // no commit may come between the check of the store and the new entry
	defer i.mu.Unlock()
	if i.phase != running {
		return ErrStopped
	}
	w := &i.written
	w.mu.Lock()
	defer w.mu.Unlock()
	known, ok := w.ahead[key]
	if i.caughtUp(key, a) {
		if ok && a.supersedes(known) {
			w.take(key) // not only at the next commit: until then reads would have the older write
		}
		return nil
	}
	if ok && known.supersedes(a) {
		return nil
	} else if !ok && len(w.ahead) >= maxWritten {
		return ErrTooManyWrites
	}
	if !a.deleted && len(w.indexes) > len(indexes) {
		return errLateIndex
	}
	if w.ahead == nil {
		w.ahead = map[K]ahead[T]{}
	}
	a.until = time.Now().Add(writtenFor)
	w.put(key, a)
	i.showUnseen(key, a)
	w.count.Store(int64(len(w.ahead)))
	if w.timer == nil {
		w.timer = time.AfterFunc(writtenFor, func() { i.expireWritten(time.Now()) })
	}
	return nil
}

// caughtUp reports whether the store is at least as new as a.
func (i *Informer[K, T]) caughtUp(key K, a ahead[T]) bool {
	if i.union != nil {
		if known, caughtUp := i.union.caughtUp(key, a); known {
			return caughtUp
		}
	}
	if older(i.store.ResourceVersion(), a.rv) || i.store.ResourceVersion() == "" {
		return false
	}
	if !a.deleted || a.exact {
		return true
	}
	obj, ok := i.store.Get(key)
	if a.uid != "" {
		return !ok || objmeta.UIDOf(obj) != a.uid
	}
	return !ok || older(a.rv, objmeta.VersionOf(obj))
}

// settle removes the writes that the store has caught up with. It follows every commit; before is
// the store's resourceVersion before the commit. With one source, it looks at the writes only once
// the store has reached the oldest of them. Called with mu held.
func (i *Informer[K, T]) settle(batch deltafifo.Batch[K, T], before string) {
	w := &i.written
	if w.count.Load() == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if i.union == nil && older(i.store.ResourceVersion(), w.oldest) {
		return
	}
	oldest := ""
	for key, a := range w.ahead {
		if i.caughtUp(key, a) || a.deleted && i.isNewer(batch, key, a, before) {
			w.take(key)
		} else if oldest == "" || older(a.rv, oldest) {
			oldest = a.rv
		}
	}
	w.oldest = oldest
}

// settleRewound removes all writes after a list of a server that was restored from a backup, and
// returns those that the list does not have. Called with mu held.
func (i *Informer[K, T]) settleRewound() (lost []*LostWriteError) {
	w := &i.written
	w.mu.Lock()
	defer w.mu.Unlock()
	for key, a := range w.ahead {
		if !i.holds(key, a) {
			lost = append(lost, lostWrite(key, a))
			w.lose(key)
		}
		w.take(key)
	}
	sortLost(lost)
	return lost
}

// holds reports whether the store has the very state that a wrote.
func (i *Informer[K, T]) holds(key K, a ahead[T]) bool {
	obj, ok := i.store.Get(key)
	if a.deleted {
		return !ok || a.uid != "" && objmeta.UIDOf(obj) != a.uid
	}
	return ok && (objmeta.VersionOf(obj) == a.rv || i.versions.has(key, a.rv))
}

// isNewer reports whether the stored object of key is newer than the deletion a. It is for objects
// without a resourceVersion; caughtUp handles the others. Such an object is newer if the batch
// changed it when the store had already reached the deletion's version, or if the batch deleted an
// object of the key and then added this one. A relist may repeat an older object, which is no newer
// for that.
func (i *Informer[K, T]) isNewer(batch deltafifo.Batch[K, T], key K, a ahead[T], before string) bool {
	if before == "" || a.uid != "" || older(i.store.ResourceVersion(), a.rv) {
		return false
	}
	if obj, ok := i.store.Get(key); !ok || objmeta.VersionOf(obj) != "" {
		return false // caughtUp decides
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

// take removes the write of key. Called with w.mu held.
func (w *written[K, T]) take(key K) {
	w.unindex(key)
	delete(w.ahead, key)
	w.taken++
	w.changed++
	if len(w.ahead) == 0 {
		w.ahead, w.oldest = nil, "" // maps never shrink
		if w.timer != nil {
			w.timer.Stop()
			w.timer = nil
		}
	}
	w.count.Store(int64(len(w.ahead)))
}

// lose notes that the write of key is lost. Called with w.mu held.
func (w *written[K, T]) lose(key K) {
	if len(w.lostKeys) == maxWritten {
		w.lostKeys = slices.Clone(w.lostKeys[maxWritten/2:])
	}
	w.lostKeys = append(w.lostKeys, key)
	w.lost.Add(1)
}

// expireWritten removes the writes that have expired, and reports them.
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

// expire removes the writes that have expired and sets the timer for the rest.
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
		lost = append(lost, lostWrite(key, a))
		w.lose(key)
		w.take(key)
	}
	if w.timer = nil; len(w.ahead) > 0 {
		w.timer = time.AfterFunc(next.Sub(now), again)
	}
	sortLost(lost)
	return lost
}

func lostWrite[K comparable, T any](key K, a ahead[T]) *LostWriteError {
	return &LostWriteError{Key: keytext.Of(key), ResourceVersion: a.rv, Deleted: a.deleted}
}

func sortLost(lost []*LostWriteError) {
	slices.SortFunc(lost, func(a, b *LostWriteError) int { return cmp.Compare(a.Key, b.Key) })
}

// forgetWritten removes all writes at the end of Run, when no batch comes any more.
func (i *Informer[K, T]) forgetWritten() {
	w := &i.written
	w.mu.Lock()
	defer w.mu.Unlock()
	for key := range w.ahead {
		w.lose(key)
		w.take(key)
	}
}
