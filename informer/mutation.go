package informer

import (
	"hash/maphash"
	"time"

	"github.com/kinform/kinform/internal/mutation"
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
	samplePeriod = 10 * time.Second
	checkPeriod  = time.Second
)

func newDetector(mode Mutations) *mutation.Detector {
	if mode == 0 {
		return nil
	}
	return mutation.New(mode == MutationsSampled)
}

// watchCommitted records the objects that were written to the store.
func watchCommitted[K comparable, T any](i *core[K, T], ops []store.Op[K, T]) {
	if i.detector == nil {
		return
	}
	for n := range ops {
		if op := &ops[n]; op.Err == nil && !op.Unchanged && (!op.Delete || op.Had) {
			i.detector.Written(hashOf(&i.base, op.Key), op.Key, op.Object, op.Old, op.Delete)
		}
	}
}

// deliverWatched is callHandler while a detector looks at the objects of ev.
func deliverWatched[K comparable, T any](l *listener[K, T], ev *Event[K, T]) {
	d := l.inf.detector
	hash := hashOf(&l.inf.base, ev.Key)
	d.Enter(hash, l.opts.Name, ev.Object, ev.Old)
	callHandler(l, ev)
	reportMutations(&l.inf.base, d.Leave(hash, l.opts.Name, ev.Object, ev.Old))
}

// resample has the detector look at other objects. One goroutine calls it.
func resample[K comparable, T any](i *core[K, T]) {
	d, all := i.detector, i.store.Snapshot()
	from, end := d.Turn(all.Len())
	n := 0
	var sample []*mutation.State
	for key, obj := range pairsOf(&all) { // calls the key function
		if n++; n > end {
			break
		} else if n > from {
			sample = append(sample, mutation.Of(hashOf(&i.base, key), key, obj))
		}
	}
	d.Resample(sample)
}

// hashOf returns the number by which the detector knows a key.
func hashOf[K comparable](i *base, key K) uint64 { return maphash.Comparable(i.hashes, key) }
