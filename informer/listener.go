package informer

import (
	"context"

	"github.com/kinform/kinform/internal/eventlog"
	"github.com/kinform/kinform/store"
)

// listener calls one handler. The goroutine that start begins owns all of it but reg.
type listener[K comparable, T any] struct {
	reg     *Registration
	inf     *Informer[K, T]
	handler Handler[K, T]
	cursor  *eventlog.Cursor[Event[K, T]]

	late  bool                 // added after the initial list
	found store.Snapshot[K, T] // what a late one is told of first; zero once it was
	key   K                    // of the event that the handler was called for last
}

// start begins to call l's handler. Called with mu held, while the informer runs.
func (i *Informer[K, T]) start(l *listener[K, T]) {
	i.wg.Go(func() {
		defer i.end(l)
		i.contain("handler", func() string { return keyString(l.key) }, func() { l.run(i.ctx) })
	})
}

// end lets go of l, whose handler will not be called again.
func (i *Informer[K, T]) end(l *listener[K, T]) {
	l.cursor.Close()
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.listeners, l)
	close(l.reg.done)
}

// run calls the handler until it is removed or the informer stops.
func (l *listener[K, T]) run(ctx context.Context) {
	if l.late && !l.replay(ctx) {
		return
	}
	for {
		events, err := l.cursor.Next(ctx)
		if err != nil {
			return
		}
		for n := range events {
			if !l.handle(ctx, &events[n]) {
				return
			}
		}
	}
}

// replay tells a late handler what it found. It returns false if the handler is to end.
func (l *listener[K, T]) replay(ctx context.Context) bool {
	for key, obj := range l.found.All() {
		if !l.handle(ctx, &Event[K, T]{Type: Added, Initial: true, Key: key, Object: obj}) {
			return false
		}
	}
	l.found = store.Snapshot[K, T]{}
	close(l.reg.synced)
	return true
}

// handle calls the handler for one entry of the log. It returns false if the handler is
// to end.
func (l *listener[K, T]) handle(ctx context.Context, ev *Event[K, T]) bool {
	if l.reg.removed.Load() || ctx.Err() != nil {
		return false
	}
	if ev.Type == syncedMark {
		if !l.late {
			close(l.reg.synced)
		}
		return true
	}
	l.key = ev.Key
	l.handler.Handle(*ev)
	return true
}
