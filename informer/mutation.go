package informer

import (
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/kinform/kinform/internal/deepcopy"
	"github.com/kinform/kinform/internal/keytext"
	"github.com/kinform/kinform/store"
)

// Mutations says how an informer looks for code that writes to shared objects. Options.OnError gets
// each find as a [*MutationError], once for each state of an object.
//
// The informer copies objects when they enter the store, and compares each object with its copy.
// After a handler's call it compares the objects of the event, and at intervals and at the end of
// Run all copied objects. So it also finds writes by code that got an object from the store. It
// also checks objects that [Informer.RecordWrite] recorded.
//
// T must not write to itself, as a type does that computes a field on first use. Copies are made by
// reflection. Functions, channels and memory that only unexported fields refer to are not compared.
// A check reads the object as any other reader does, so a check during a write to one of its maps
// can end the process.
//
// Zero does not look, and costs nothing.
type Mutations uint8

const (
	// MutationsSampled looks at 64 objects for ten seconds, and then at 64 others: half of
	// them new in the store, half from all of the store in turn. It is cheap enough for
	// production: a few copies and a walk over the store's slots every ten seconds, and one
	// lookup in a table of 64 for each call of a handler.
	MutationsSampled Mutations = iota + 1

	// MutationsAll looks at all objects every second. It is for tests: it keeps a second copy
	// of the store, and copies of earlier states for two minutes.
	MutationsAll
)

const (
	sampleSize   = 64
	samplePeriod = 10 * time.Second
	checkPeriod  = time.Second
	keepRetired  = 2 * time.Minute // so that slow handlers still get an old state checked
)

// detector holds the copies. A nil detector looks for nothing.
type detector[K comparable, T any] struct {
	sampling bool // set when it is made and never changed

	// mu is locked inside the informer's mu. No user code runs with it held.
	mu      sync.Mutex
	watched map[K][]*watched[T]
	size    int // number of objects in watched

	turn int // position in the store where the next sample begins; owned by resample
}

// watched is one state of an object.
type watched[T any] struct {
	obj, copied T
	given       []string  // handlers that got it
	calls       []string  // handlers being called with it, one entry for each call
	retired     time.Time // when another state replaced it; zero for the current one
}

func newDetector[K comparable, T any](mode Mutations) *detector[K, T] {
	if mode == 0 {
		return nil
	}
	return &detector[K, T]{sampling: mode == MutationsSampled, watched: map[K][]*watched[T]{}}
}

// committed records the objects that were written to the store.
func (d *detector[K, T]) committed(ops []store.Op[K, T]) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	for n := range ops {
		op := &ops[n]
		if op.Err != nil || op.Unchanged || op.Delete && !op.Had {
			continue
		}
		for _, w := range d.watched[op.Key] {
			if w.retired.IsZero() {
				w.retired = now
			}
		}
		if d.sampling && d.size >= sampleSize || op.Delete && same(op.Object, op.Old) {
			continue
		}
		w := watchState(d, op.Key, op.Object)
		if op.Delete {
			w.retired = now // handlers get the final state
		}
	}
}

func watchState[K comparable, T any](d *detector[K, T], key K, obj T) *watched[T] {
	w := &watched[T]{obj: obj, copied: deepcopy.Of(obj)}
	d.watched[key] = append(d.watched[key], w)
	d.size++
	return w
}

// enter records that a handler is about to get ev.
func enter[K comparable, T any](d *detector[K, T], handler string, ev *Event[K, T]) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, w := range d.watched[ev.Key] {
		if isOf(w, ev.Object, ev.Old) {
			w.calls = append(w.calls, handler)
			if !slices.Contains(w.given, handler) {
				w.given = append(w.given, handler)
			}
		}
	}
}

// leaveDetector records that the handler has returned. It returns errors for the objects of ev that
// were written to.
func leaveDetector[K comparable, T any](d *detector[K, T], handler string, ev *Event[K, T]) (found []*MutationError) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, w := range slices.Clone(d.watched[ev.Key]) {
		if !isOf(w, ev.Object, ev.Old) {
			continue
		}
		if !intact(w) {
			found = append(found, foundMutation(d, ev.Key, w, w.calls))
		}
		w.calls = withoutFirst(w.calls, handler)
	}
	return found
}

// check compares all objects and returns errors for those that were written to. It drops
// states that were replaced long ago.
func (d *detector[K, T]) check(now time.Time) (found []*MutationError) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for key, states := range d.watched {
		for _, w := range slices.Clone(states) {
			if !intact(w) {
				found = append(found, foundMutation(d, key, w, w.given))
			} else if !w.retired.IsZero() && now.Sub(w.retired) >= keepRetired {
				drop(d, key, w)
			}
		}
	}
	return found
}

// foundMutation makes the error without the difference, because computing that calls the users' Equal
// methods.
func foundMutation[K comparable, T any](d *detector[K, T], key K, w *watched[T], suspects []string) *MutationError {
	drop(d, key, w)
	before, after := w.copied, w.obj
	return &MutationError{
		Key:      keytext.Of(key),
		Handlers: inOrder(suspects),
		diff:     func() string { return deepcopy.Difference(before, after) },
	}
}

// withoutFirst takes a name out once.
//
//go:noinline
func withoutFirst(names []string, name string) []string {
	if n := slices.Index(names, name); n >= 0 {
		return slices.Delete(names, n, n+1)
	}
	return names
}

// inOrder returns the names sorted, each once.
func inOrder(names []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(names)))
}

func drop[K comparable, T any](d *detector[K, T], key K, w *watched[T]) {
	states := slices.DeleteFunc(d.watched[key], func(other *watched[T]) bool { return other == w })
	d.size--
	if len(states) == 0 {
		delete(d.watched, key)
		return
	}
	d.watched[key] = states
}

// resample replaces the watched objects by others. One goroutine calls it.
func resample[K comparable, T any](d *detector[K, T], all store.Snapshot[K, T]) {
	keys, objects := nextSample(d, all) // calls the key function
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(d.watched)
	d.size = 0
	for n, key := range keys {
		watchState(d, key, objects[n])
	}
}

// nextSample returns the next objects in turn.
func nextSample[K comparable, T any](d *detector[K, T], all store.Snapshot[K, T]) (keys []K, objects []T) {
	if d.turn >= all.Len() {
		d.turn = 0
	}
	n, end := 0, d.turn+sampleSize/2
	for key, obj := range all.All() {
		if n++; n > end {
			break
		} else if n > d.turn {
			keys, objects = append(keys, key), append(objects, obj)
		}
	}
	d.turn = end
	return keys, objects
}

// isOf reports whether w is a state in an event with obj and old.
func isOf[T any](w *watched[T], obj, old T) bool { return same(w.obj, obj) || same(w.obj, old) }

// intact reports whether the object is unchanged.
func intact[T any](w *watched[T]) bool { return reflect.DeepEqual(w.obj, w.copied) }
