package informer

import (
	"context"

	"github.com/kinform/kinform/deltafifo"
	"github.com/kinform/kinform/reflector"
)

// sink is a deltafifo.Sink that commits after the last event at hand, and notices when the server
// answers a list, because an answer ends the refusal of earlier tries. The reflector's goroutine
// owns it.
type sink[K comparable, T any] struct {
	*deltafifo.Sink[K, T]
	inf    *Informer[K, T]
	commit func(deltafifo.Batch[K, T]) error
	listed bool // the list in progress has delivered something
}

// Apply implements reflector.Sink. After the last event at hand it commits in the reflector's
// goroutine, because it takes longer to wake another one than to commit. If more events are at
// hand, they are decoded while the goroutine of Run commits.
func (s *sink[K, T]) Apply(ctx context.Context, ev reflector.Event[T]) error {
	if !ev.Idle || s.inf.log.Lagging(s.inf.lag) != nil {
		return s.Sink.Apply(ctx, ev)
	}
	return s.Sink.ApplyNow(ctx, ev, s.commit)
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
