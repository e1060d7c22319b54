package slots

import "sync"

// Slots is a State behind its lock.
type Slots[T any] struct {
	mu sync.RWMutex
	st *State[T] // guarded by mu; the State's content too, save for the writer's own reads

	reports *reports // set once; shared with frozen slots
}

// New returns empty slots, with keys that are empty too. onError may be nil.
func New[T any](keys Keys, onError func(error)) *Slots[T] {
	return &Slots[T]{st: &State[T]{keys: keys}, reports: &reports{onError: onError}}
}

// Both sides hold the lock for less than a microsecond as a rule, while to be put to
// sleep and woken takes several: so each tries some times before it sleeps.
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
func (s *Slots[T]) lock() {
	for range writeTries {
		if s.mu.TryLock() {
			return
		}
	}
	s.mu.Lock()
}

// Done ends what Read began.
func (s *Slots[T]) Done() { s.mu.RUnlock() }

// Own returns the State for the writer's own reads, without the lock.
func (s *Slots[T]) Own() *State[T] { return s.st }

// AsideAfter is the largest number of changes that should be made in place. In place, a
// change takes some 0.3–1 µs under the lock, so that readers wait 1 ms at the worst in a
// store of 100,000; a clone costs the writer some 20–40 ns per object stored, so a large
// store takes more changes before it pays.
func (s *Slots[T]) AsideAfter() int { return max(1024, s.st.Len()/64) }

// Begin returns the State to change: the present one, with readers locked out, or a clone
// if that one is frozen. End must follow.
func (s *Slots[T]) Begin() *State[T] {
	if !s.st.frozen.Load() {
		s.lock()
		if !s.st.frozen.Load() { // by a reader, just before it was locked out
			return s.st
		}
		s.mu.Unlock()
	}
	return s.st.clone() // without the lock: nobody changes a frozen State
}

// Freeze returns slots of their own that have the present State for ever. also is called
// at the same moment, before any change. Nobody may write to them. Cost: O(1), but the next
// change clones the State.
func (s *Slots[T]) Freeze(also func()) *Slots[T] {
	st := s.Read()
	st.frozen.Store(true)
	also()
	s.Done()
	return &Slots[T]{st: st, reports: s.reports}
}

// Clone returns a State of the writer's own, which End can put in place of the present
// one. Until then the present State must not be changed.
func (s *Slots[T]) Clone() *State[T] { return s.st.clone() }

// End makes the changes to st visible, together with what also does under the lock. st
// comes from Begin or from Clone.
func (s *Slots[T]) End(st *State[T], also func()) {
	st.tidy()
	if st != s.st {
		s.lock()
		s.st = st
	}
	also()
	s.mu.Unlock()
}

// Note calls note with readers locked out, where nothing of the State changes.
func (s *Slots[T]) Note(note func()) {
	s.lock()
	note()
	s.mu.Unlock()
}

// AddIndexes makes indexes, which cover the objects of now, visible together.
func (s *Slots[T]) AddIndexes(indexes []Index[T]) {
	st := s.Begin()
	st.indexes = append(st.indexes[:len(st.indexes):len(st.indexes)], indexes...)
	s.End(st, func() {})
}

// Report passes err to the error handler, once per topic, for frozen slots too. No lock is
// held meanwhile.
func (s *Slots[T]) Report(topic string, err error) { s.reports.report(topic, err) }
