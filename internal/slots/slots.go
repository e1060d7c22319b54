package slots

import (
	"sync"

	"github.com/kinform/kinform/internal/keytable"
	"github.com/kinform/kinform/internal/nocmp"
	"github.com/kinform/kinform/internal/packed"
	"github.com/kinform/kinform/internal/posting"
)

// Slots is a State and its lock.
type Slots[T any] struct {
	_ nocmp.Type

	mu sync.RWMutex
	st *State[T] // guarded by mu, as is its content; the writer reads it without

	reports *reports // set once; shared with frozen slots
}

// New returns empty slots. keys must be empty; onError may be nil. codec packs objects; nil keeps them as they are.
//
//go:noinline
func New[T any](keys keytable.Keys, codec packed.Codec, onError func(error)) *Slots[T] {
	s := &Slots[T]{st: &State[T]{tables: tables{keys: keys, rows: posting.NewRows(0)}}, reports: &reports{onError: onError}}
	if codec != nil {
		s.st.opener = &opener{codec, s.reports}
	}
	return s
}

// Readers and the writer usually hold the lock for less than a microsecond, but sleeping and
// waking takes several. So both try a number of times before they sleep.
const (
	readTries  = 100 // some 3 ns each
	writeTries = 20  // some 20 ns each
)

// Read locks out the writer and returns the State, until Done.
func (s *Slots[T]) Read() *State[T] {
	for range readTries {
		if s.mu.TryRLock() {
			return s.st
		}
	}
	s.mu.RLock()
	return s.st
}

// lock locks out the readers.
func lock[T any](s *Slots[T]) {
	for range writeTries {
		if s.mu.TryLock() {
			return
		}
	}
	s.mu.Lock()
}

// Done ends what Read began.
func (s *Slots[T]) Done() { s.mu.RUnlock() }

// Own returns the State for reads by the writer, without the lock.
func (s *Slots[T]) Own() *State[T] { return s.st }

// AsideAfter returns the largest number of changes that should be made in place. A change in
// place takes about 0.3–1 µs under the lock, so readers wait at most about 1 ms in a store of
// 100,000 objects. A clone costs the writer 20–40 ns per stored object, so it pays only for more
// changes in a larger store.
func AsideAfter[T any](s *Slots[T]) int { return max(1024, s.st.Len()/64) }

// Begin returns the State to change: the present one, with readers locked out, or a clone
// if that one is frozen. End must follow.
func Begin[T any](s *Slots[T]) *State[T] {
	if !s.st.frozen.Load() {
		lock(s)
		if !s.st.frozen.Load() { // a reader froze it just before the lock was taken
			return s.st
		}
		s.mu.Unlock()
	}
	return clone(s.st) // without the lock: a frozen State never changes
}

// Freeze returns read-only slots that keep the present State for ever. It calls also before any
// later change can be made. Cost: O(1), but the next change clones the State.
func Freeze[T any](s *Slots[T], also func()) *Slots[T] {
	st := s.Read()
	st.frozen.Store(true)
	also()
	s.Done()
	return &Slots[T]{st: st, reports: s.reports}
}

// Clone returns a copy of the State, which End can put in place of the present one. Until then
// the present State must not be changed.
func Clone[T any](s *Slots[T]) *State[T] { return clone(s.st) }

// End makes the changes to st, a result of Begin or Clone, visible. It calls also under the same
// hold of the lock.
func End[T any](s *Slots[T], st *State[T], also func()) {
	tidy(st)
	if st != s.st {
		lock(s)
		s.st = st
	}
	also()
	s.mu.Unlock()
}

// Note calls note with readers locked out. note must not change the State.
func Note[T any](s *Slots[T], note func()) {
	lock(s)
	note()
	s.mu.Unlock()
}

// AddIndexes adds indexes, which are empty, and makes them visible in one step. Before that it
// calls fill without the lock: fill must put the present objects into the indexes. If fill returns
// an error, AddIndexes returns it and adds none.
func AddIndexes[T any](s *Slots[T], indexes []Index[T], fill func() error) error {
	rows := s.st.rows.Widened(len(indexes))
	rows.Lengthen(s.st.objs.Len())
	for i, x := range indexes {
		x.Use(rows, len(s.st.indexes)+i)
	}
	if err := fill(); err != nil {
		return err
	}
	st := Begin(s)
	st.rows = rows
	st.indexes = append(st.indexes[:len(st.indexes):len(st.indexes)], indexes...)
	for col, x := range st.indexes {
		x.Use(rows, col)
	}
	End(s, st, func() {})
	return nil
}

// Report passes err to the error handler, at most once per topic. Frozen slots share the topics
// of the slots that they come from. No lock is held during the call.
func Report[T any](s *Slots[T], topic string, err error) { s.reports.report(topic, err) }
