package informer

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kinform/kinform/store"
)

// Mutations is how an informer looks for code that writes to the objects it shares. What it
// finds is a [*MutationError], told to Options.OnError, once for each state of an object.
//
// It compares objects with copies that it took as they came into the store: after each call
// of a handler those that the handler was given, all of them from time to time, and once
// more at the end of Run. So it finds writes of those too that have an object from the
// store. Objects that [Informer.RecordWrite] told of are not looked at.
//
// T can be anything that is not written to by itself, as a field that is computed when it
// is asked for first. Copies are made by reflection; what only unexported fields lead to is
// not looked at, nor are functions and channels. A check reads the object, as other readers
// do: beside a write to one of its maps that can end the process.
type Mutations uint8

const (
	// MutationsIgnored looks for none, and costs nothing.
	MutationsIgnored Mutations = iota

	// MutationsSampled looks at 64 objects for ten seconds, and then at others: half of them
	// new in the store, half from all of the store by turns. It is cheap enough for
	// production: some copies and a walk over the store's slots every ten seconds, and
	// a look into a table of 64 at each call of a handler.
	MutationsSampled

	// MutationsAll looks at all objects, every second. It is for tests: it keeps a second
	// copy of the store, and of the states before for two minutes.
	MutationsAll
)

const (
	sampleSize   = 64
	samplePeriod = 10 * time.Second
	checkPeriod  = time.Second
	keepRetired  = 2 * time.Minute // time for slow handlers to be given it
)

// detector has the copies. Nil is one that looks for nothing.
type detector[K comparable, T any] struct {
	sampling bool // set when it is made and never changed

	// mu is locked within the informer's. No code of users runs with it held.
	mu      sync.Mutex
	watched map[K][]*watched[T]
	size    int // number of objects in watched
	turn    int // where in the store the next sample begins
}

// watched is one state of an object.
type watched[T any] struct {
	obj, copied T
	given       []string  // handlers that were given it
	calls       []string  // those being called with it, one name for each
	retired     time.Time // when another state took its place; zero for the present one
}

func newDetector[K comparable, T any](mode Mutations) *detector[K, T] {
	if mode == MutationsIgnored {
		return nil
	}
	return &detector[K, T]{sampling: mode == MutationsSampled, watched: map[K][]*watched[T]{}}
}

// committed takes note of what was written to the store.
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
		w := d.watch(op.Key, op.Object)
		if op.Delete {
			w.retired = now // handlers are given the final state
		}
	}
}

func (d *detector[K, T]) watch(key K, obj T) *watched[T] {
	w := &watched[T]{obj: obj, copied: deepCopy(obj)}
	d.watched[key] = append(d.watched[key], w)
	d.size++
	return w
}

// enter says that a handler is about to be given ev.
func (d *detector[K, T]) enter(handler string, ev *Event[K, T]) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, w := range d.watched[ev.Key] {
		if w.isOf(ev.Object, ev.Old) {
			w.calls = append(w.calls, handler)
			if !slices.Contains(w.given, handler) {
				w.given = append(w.given, handler)
			}
		}
	}
}

// leave says that the handler has returned, and returns what is not as it was.
func (d *detector[K, T]) leave(handler string, ev *Event[K, T]) (found []*MutationError) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, w := range slices.Clone(d.watched[ev.Key]) {
		if !w.isOf(ev.Object, ev.Old) {
			continue
		}
		if !w.intact() {
			found = append(found, d.found(ev.Key, w, w.calls))
		}
		if n := slices.Index(w.calls, handler); n >= 0 {
			w.calls = slices.Delete(w.calls, n, n+1)
		}
	}
	return found
}

// check looks at all objects and returns what is not as it was. It lets go of old states.
func (d *detector[K, T]) check(now time.Time) (found []*MutationError) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for key, states := range d.watched {
		for _, w := range slices.Clone(states) {
			if !w.intact() {
				found = append(found, d.found(key, w, w.given))
			} else if !w.retired.IsZero() && now.Sub(w.retired) >= keepRetired {
				d.drop(key, w)
			}
		}
	}
	return found
}

// found makes the error, but for the difference, which takes the users' Equal methods.
func (d *detector[K, T]) found(key K, w *watched[T], suspects []string) *MutationError {
	d.drop(key, w)
	before, after := w.copied, w.obj
	return &MutationError{
		Key:      keyString(key),
		Handlers: slices.Compact(slices.Sorted(slices.Values(suspects))),
		diff:     func() string { return difference(before, after) },
	}
}

func (d *detector[K, T]) drop(key K, w *watched[T]) {
	states := slices.DeleteFunc(d.watched[key], func(other *watched[T]) bool { return other == w })
	d.size--
	if len(states) == 0 {
		delete(d.watched, key)
		return
	}
	d.watched[key] = states
}

// resample puts other objects in the place of those that were looked at.
func (d *detector[K, T]) resample(all store.Snapshot[K, T]) {
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(d.watched)
	d.size = 0
	if d.turn >= all.Len() {
		d.turn = 0
	}
	n, end := 0, d.turn+sampleSize/2
	for key, obj := range all.All() {
		if n++; n > end {
			break
		} else if n > d.turn {
			d.watch(key, obj)
		}
	}
	d.turn = end
}

// isOf reports whether the object is one of an event's.
func (w *watched[T]) isOf(obj, old T) bool { return same(w.obj, obj) || same(w.obj, old) }

// intact reports whether the object is as it was.
func (w *watched[T]) intact() bool { return reflect.DeepEqual(w.obj, w.copied) }

// difference returns how two objects differ, empty if in nothing that their types' Equal
// methods make out. Those can panic.
func difference[T any](before, after T) (diff string) {
	defer func() {
		if value := recover(); value != nil {
			diff = fmt.Sprintf("(no difference: comparing panicked: %v)", value)
		}
	}()
	return cmp.Diff(before, after,
		cmp.Exporter(func(reflect.Type) bool { return true }),
		cmpopts.EquateNaNs(),
		cmp.FilterPath(func(p cmp.Path) bool {
			typ := p.Last().Type()
			return typ != nil && (typ.Kind() == reflect.Func || typ.Kind() == reflect.Chan)
		}, cmp.Ignore()))
}

// tellMutations reports what was found and can be told.
func (i *Informer[K, T]) tellMutations(found []*MutationError) {
	for _, err := range found {
		err.Resource = i.Resource()
		if err.Diff = err.diff(); err.Diff != "" {
			err.diff = nil
			i.report(err)
		}
	}
}

// detect looks at the objects from time to time, until ctx is done.
func (i *Informer[K, T]) detect(ctx context.Context) {
	period := checkPeriod
	if i.detector.sampling {
		period = samplePeriod
	}
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			i.tellMutations(i.detector.check(now))
			if i.detector.sampling {
				i.detector.resample(i.store.Snapshot())
			}
		}
	}
}
