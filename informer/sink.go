package informer

import (
	"context"

	"github.com/kinform/kinform/informer/pipeline"
	"github.com/kinform/kinform/reflector"
)

// sink is the pipeline's, and says when the server lists: then it refuses no longer. The
// reflector's goroutine owns it.
type sink[K comparable, T any] struct {
	*pipeline.Sink[K, T]
	inf    *Informer[K, T]
	listed bool // something of the list in progress
}

// Listed implements reflector.Sink.
func (s *sink[K, T]) Listed(ctx context.Context, ev reflector.Event[T]) error {
	if !s.listed {
		s.listed = true
		s.inf.refusal.set(nil)
	}
	return s.Sink.Listed(ctx, ev)
}

// Replace implements reflector.Sink.
func (s *sink[K, T]) Replace(ctx context.Context, resourceVersion string) error {
	s.listed = false
	s.inf.refusal.set(nil)
	return s.Sink.Replace(ctx, resourceVersion)
}

// Discard implements reflector.Sink.
func (s *sink[K, T]) Discard() {
	s.listed = false
	s.Sink.Discard()
}

// unchangedAt returns what tells the objects of a list that are as they are in the store,
// so that there is nothing to be done about them. It returns nil if there is: for a handler
// that wants to hear of them, and when the server went back in time, so that versions of
// before and after do not compare. The FIFO calls it when all that came before the list is
// in the store.
func (i *Informer[K, T]) unchangedAt(resourceVersion string) func(known, listed T) bool {
	same := unchanged[T]()
	i.mu.Lock()
	wanted := i.unchanged > 0
	i.mu.Unlock()
	if same == nil || wanted || older(resourceVersion, i.store.ResourceVersion()) {
		return nil
	}
	return func(known, listed T) (is bool) {
		defer func() {
			if recover() != nil {
				is = false // the commit will say what is wrong with the object
			}
		}()
		return same(known, listed)
	}
}
