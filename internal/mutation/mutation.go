// Package mutation finds writes to objects that nobody should write to. It copies objects by reflection, and compares
// them with their copies. It is not generic, so that it is compiled once.
package mutation

import (
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/kinform/kinform/internal/deepcopy"
)

// SampleSize is the number of objects of a sample.
const SampleSize = 64

// keepRetired is so long that slow handlers still get an old state checked.
const keepRetired = 2 * time.Minute

// Detector holds the copies.
type Detector struct {
	// Sampling says that it looks at a sample. It is set when the Detector is made and never changed.
	Sampling bool

	// mu is taken inside the informer's. No user code runs with it held.
	mu      sync.Mutex
	watched map[uint64][]*State // by the hashes of their keys: of equal hashes, isOf tells the states apart
	size    int                 // number of states in watched

	turn int // position in the store where the next sample begins; owned by the caller of Turn
}

// State is one state of an object.
type State struct {
	hash        uint64
	key         any
	obj, copied any
	given       []string  // handlers that got it
	calls       []string  // handlers being called with it, one entry for each call
	retired     time.Time // when another state replaced it; zero for the current one
}

// Found is a state that was written to.
type Found struct {
	Key      any
	Handlers []string // the suspects, in alphabetical order, each once
	// Diff makes the difference, which is empty if the objects' own Equal methods find none.
	Diff func() string
}

// New returns a Detector.
func New(sampling bool) *Detector {
	return &Detector{Sampling: sampling, watched: map[uint64][]*State{}}
}

// Of makes a state of an object, which it copies. hash is that of its key.
func Of(hash uint64, key, obj any) *State {
	return &State{hash: hash, key: key, obj: obj, copied: deepcopy.Of(obj)}
}

// Written records that obj has replaced old, or was deleted: then it is the final state.
func (d *Detector) Written(hash uint64, key, obj, old any, deleted bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	for _, s := range d.watched[hash] {
		if s.retired.IsZero() {
			s.retired = now
		}
	}
	if d.Sampling && d.size >= SampleSize || deleted && Same(obj, old) {
		return
	}
	s := Of(hash, key, obj)
	if deleted {
		s.retired = now // handlers get it
	}
	d.add(s)
}

func (d *Detector) add(s *State) {
	d.watched[s.hash] = append(d.watched[s.hash], s)
	d.size++
}

// Enter records that a handler is about to get obj and old.
func (d *Detector) Enter(hash uint64, handler string, obj, old any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.watched[hash] {
		if s.isOf(obj, old) {
			s.calls = append(s.calls, handler)
			if !slices.Contains(s.given, handler) {
				s.given = append(s.given, handler)
			}
		}
	}
}

// Leave records that the handler has returned. It returns those of obj and old that were written to.
func (d *Detector) Leave(hash uint64, handler string, obj, old any) (found []Found) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range slices.Clone(d.watched[hash]) {
		if !s.isOf(obj, old) {
			continue
		}
		if !s.intact() {
			found = append(found, d.found(s, s.calls))
		}
		if n := slices.Index(s.calls, handler); n >= 0 {
			s.calls = slices.Delete(s.calls, n, n+1)
		}
	}
	return found
}

// Check compares all objects and returns those that were written to. It drops states that were replaced long ago.
func (d *Detector) Check(now time.Time) (found []Found) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, states := range d.watched {
		for _, s := range slices.Clone(states) {
			if !s.intact() {
				found = append(found, d.found(s, s.given))
			} else if !s.retired.IsZero() && now.Sub(s.retired) >= keepRetired {
				d.drop(s)
			}
		}
	}
	return found
}

// found tells of a state without the difference, because computing that calls the users' Equal methods.
func (d *Detector) found(s *State, suspects []string) Found {
	d.drop(s)
	return Found{
		Key:      s.key,
		Handlers: slices.Compact(slices.Sorted(slices.Values(suspects))),
		Diff:     func() string { return deepcopy.Difference(s.copied, s.obj) },
	}
}

func (d *Detector) drop(s *State) {
	states := slices.DeleteFunc(d.watched[s.hash], func(other *State) bool { return other == s })
	d.size--
	if len(states) == 0 {
		delete(d.watched, s.hash)
		return
	}
	d.watched[s.hash] = states
}

// Turn returns the positions, of n in a store, of the objects of the next sample.
func (d *Detector) Turn(n int) (from, end int) {
	if from = d.turn; from >= n {
		from = 0
	}
	d.turn = from + SampleSize/2
	return from, d.turn
}

// Resample looks at other objects in place of those before.
func (d *Detector) Resample(sample []*State) {
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(d.watched)
	d.size = 0
	for _, s := range sample {
		d.add(s)
	}
}

// isOf reports whether s is one of two states.
func (s *State) isOf(obj, old any) bool { return Same(s.obj, obj) || Same(s.obj, old) }

// intact reports whether the object is unchanged.
func (s *State) intact() bool { return reflect.DeepEqual(s.obj, s.copied) }

// Same reports whether two objects are the same: identical pointers, or equal values.
func Same(a, b any) bool {
	if v := reflect.ValueOf(a); v.Kind() == reflect.Pointer || v.Comparable() {
		return a == b
	}
	return reflect.DeepEqual(a, b)
}
