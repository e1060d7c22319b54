package informer

import (
	"context"

	"github.com/kinform/kinform/deltafifo"
	"github.com/kinform/kinform/reflector"
)

// sink is a deltafifo.Sink that also notices when the server answers a list, because an answer
// ends the refusal of earlier tries. The reflector's goroutine owns it.
type sink[K comparable, T any] struct {
	*deltafifo.Sink[K, T]
	inf    *Informer[K, T]
	listed bool // the list in progress has delivered something
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
