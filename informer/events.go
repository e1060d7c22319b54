package informer

import (
	"context"
	"iter"

	"github.com/kinform/kinform/internal/eventlog"
)

// Events is a handler in the form of a loop:
//
//	for event := range pods.Events(ctx, informer.HandlerOptions[*corev1.Pod]{}) { … }
//
// Ranging over it adds the handler, and leaving the loop removes it. The loop's body has the
// contract of a handler's callback. It gets the same events, one after the other, as a handler that
// [Informer.AddHandler] adds at that moment. The informer waits for the body, unless the options
// say otherwise or ctx is done.
//
// Before Run the loop waits. It ends when ctx is done or the informer stops. Each use of the
// sequence starts over. Events starts no goroutine, and Run does not wait for the loop's body.
//
//go:noinline
func (i *Informer[K, T]) Events(ctx context.Context, opts HandlerOptions[T]) iter.Seq[Event[K, T]] {
	return i.typed.Events(ctx, opts)
}

//go:noinline
func (i *core[K, T]) Events(ctx context.Context, opts HandlerOptions[T]) iter.Seq[Event[K, T]] {
	return func(yield func(Event[K, T]) bool) {
		l := &listener[K, T]{inf: i, opts: opts, loop: true, active: true}
		l.handler = HandlerFunc[K, T](func(ev Event[K, T]) {
			if !yield(ev) {
				l.reg.removed.Store(true)
				eventlog.Close(l.cursor) // or run would wait for more
			}
		})
		i.mu.Lock()
		life := present(&i.base).life
		register(i, l)
		i.mu.Unlock()
		defer release(l)
		defer leaveLoop(i, l)
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		if life.Err() != nil {
			return
		}
		stop := context.AfterFunc(life, func() { cancel(ErrStopped) })
		defer stop()
		// If iter.Pull runs the loop, its body may never return. Nothing may wait for it from
		// now on.
		defer context.AfterFunc(ctx, func() { leaveLoop(i, l) })()
		runListener(ctx, l)
	}
}

// leaveLoop ends a loop over Events. Calling it again does nothing.
func leaveLoop[K comparable, T any](i *core[K, T], l *listener[K, T]) {
	i.mu.Lock()
	defer i.mu.Unlock()
	forgetRun(i, l)
}
