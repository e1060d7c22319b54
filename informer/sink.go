package informer

import (
	"context"
	"sync/atomic"

	"github.com/kinform/kinform/deltafifo"
	"github.com/kinform/kinform/reflector"
)

// sink is a deltafifo.Sink that commits after the last event at hand, and leaves everything else to
// the committer. It also notices when the server answers a list, because an answer ends the refusal
// of earlier tries. The reflector's goroutine owns it.
type sink[K comparable, T any] struct {
	to        *deltafifo.Sink[K, T]
	inf       *core[K, T]
	commit    func(deltafifo.Batch[K, T]) error
	session   *session[K, T] // its committer gets what commit does not
	pruned    atomic.Bool    // Prune has put something into the queue
	committed bool           // commit has got everything pending since the flag was cleared
	listed    bool           // the list in progress has delivered something
	marks     bool           // the source has said that it is idle
}

// Apply implements reflector.Sink. After the last event at hand it commits in the reflector's
// goroutine, because it takes longer to wake another one than to commit. If more events are at
// hand, they are decoded while the committer commits, so a busy watch uses two processors. While a handler
// lags, the committer gets the event, because it waits for handlers. No clock decides.
func (s *sink[K, T]) Apply(ctx context.Context, ev reflector.Event[T]) error {
	if !isLast(s, ev.Idle) || s.inf.log.Lagging(s.inf.lag) != nil {
		return leaveSink(s, s.to.Apply(ctx, ev))
	}
	s.committed = false // commit gets nothing while the committer commits, or if too much is pending
	if err := s.to.ApplyNow(ctx, ev, s.commit); err != nil || s.committed && !s.pruned.Swap(false) {
		return err
	}
	return leaveSink(s, nil)
}

// isLast reports whether to take an event for the last one at hand. If the source has never said so
// of any event, one for which a handler waits counts as the last: the handler gets it sooner. While
// all handlers are busy with earlier events, or about to wake up for them, the source is likely to
// be busy too.
func isLast[K comparable, T any](s *sink[K, T], idle bool) bool {
	s.marks = s.marks || idle
	return idle || !s.marks && s.inf.log.Awaited()
}

// leaveSink leaves what was put into the queue to the committer.
func leaveSink[K comparable, T any](s *sink[K, T], err error) error {
	if err == nil {
		s.session.committer.call()
	}
	return err
}

// Listed implements reflector.Sink.
func (s *sink[K, T]) Listed(ctx context.Context, ev reflector.Event[T]) error {
	if !s.listed {
		s.listed = true
		s.inf.refusal.set(nil)
	}
	return s.to.Listed(ctx, ev)
}

// Replace implements reflector.Sink.
func (s *sink[K, T]) Replace(ctx context.Context, resourceVersion string) error {
	s.listed = false
	s.inf.refusal.set(nil)
	return leaveSink(s, s.to.Replace(ctx, resourceVersion))
}

// Skipped implements reflector.Sink.
//
//go:noinline
func (s *sink[K, T]) Skipped(bad *reflector.ObjectError) { s.to.Skipped(bad) }

// Rewound implements reflector.Rewinder.
func (s *sink[K, T]) Rewound(certain bool) { s.to.Rewound(certain) }

// Lookup implements reflector.Recaller.
func (s *sink[K, T]) Lookup() func(reflector.Identity) (T, bool) { return s.to.Lookup() }

// Prune implements reflector.Pruner. The committer gets nothing while commit runs, so Apply calls it again.
func (s *sink[K, T]) Prune(ctx context.Context) error {
	if err := s.to.Prune(ctx); err != nil {
		return err
	}
	s.pruned.Store(true)
	s.inf.mu.Lock()
	defer s.inf.mu.Unlock()
	if s.inf.phase != running || s.inf.session.Load() != s.session {
		return ErrStopped
	}
	s.session.committer.call()
	return nil
}

// Flush implements reflector.Pruner.
func (s *sink[K, T]) Flush(ctx context.Context) error { return s.to.Flush(ctx) }

// Discard implements reflector.Sink.
func (s *sink[K, T]) Discard() {
	s.listed = false
	s.to.Discard()
}
