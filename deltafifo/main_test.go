package deltafifo

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/kinform/kinform/internal/compare"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// never is a context that is over: with it no method waits.
var never = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// shelf is the simplest store that there can be.
type shelf[T any] struct {
	mu sync.RWMutex
	m  map[int]T
}

func newShelf[T any]() *shelf[T] { return &shelf[T]{m: map[int]T{}} }

func (s *shelf[T]) Get(key int) (T, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	obj, ok := s.m[key]
	return obj, ok
}

// Same implements compare.Known for objects that were listed with themselves as version.
func (s *shelf[T]) Same(_ int, known T, listed compare.State) bool {
	return listed.ResourceVersion == fmt.Sprint(known)
}

// GetSum implements compare.Known without sums.
func (s *shelf[T]) GetSum(key int) (T, uint64, bool) {
	obj, ok := s.Get(key)
	return obj, 0, ok
}

// Equal implements compare.Known.
func (s *shelf[T]) Equal(known, listed T) bool { return reflect.DeepEqual(known, listed) }

// Brought implements compare.Known.
func (s *shelf[T]) Brought(key int) (T, bool) { return s.Get(key) }

// Awaits implements compare.Known.
func (s *shelf[T]) Awaits(int) bool { return false }

// Ahead implements compare.Known.
func (s *shelf[T]) Ahead() bool { return false }

// Awaited implements compare.Known.
func (s *shelf[T]) Awaited() ([]int, uint64) { return nil, 0 }

// Omits implements compare.Known, for the lists that compares tells.
func (s *shelf[T]) Omits(rv string) bool { return compares(rv) }

// compares reports whether a list at rv is compared: most are.
func compares(rv string) bool {
	sum := 0
	for _, b := range []byte(rv) {
		sum += int(b)
	}
	return sum%4 > 0
}

func (s *shelf[T]) Len() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.m)
}

func (s *shelf[T]) All() iter.Seq2[int, T] {
	return func(yield func(int, T) bool) {
		s.mu.RLock()
		defer s.mu.RUnlock()
		for key, obj := range s.m {
			if !yield(key, obj) {
				return
			}
		}
	}
}

// commit does to the store what happened to one key.
func (s *shelf[T]) commit(key int, deltas []Delta[T]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last := deltas[len(deltas)-1]; last.Type == Deleted {
		delete(s.m, key)
	} else {
		s.m[key] = last.Object
	}
}

func (s *shelf[T]) content() map[int]T {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return maps.Clone(s.m)
}

// objectsOf returns an Objects with the given objects. If several have one key, the last one
// counts.
func objectsOf[K comparable, T any](items ...keyedObject[K, T]) *Objects[K, T] {
	l := &Objects[K, T]{}
	for _, item := range items {
		l.Set(item.Key, item.Object, "")
	}
	settleObjects(l)
	return l
}
