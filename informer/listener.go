package informer

import (
	"context"
	"slices"
	"time"

	"github.com/kinform/kinform/internal/eventlog"
	"github.com/kinform/kinform/internal/keytext"
)

// startListener begins to call l's handler. Called with mu held, while the informer runs.
func startListener[K comparable, T any](i *core[K, T], s *session, l *listener[K, T]) {
	if l.loop || l.active {
		return
	}
	l.active = true
	l.reg.begin()
	s.run.Go(func() {
		defer endRun(i, l)
		contain(&i.base, s, handling, l.describe, func() { runListener(s.run.Ctx, l) })
	})
}

// describe completes the error for a panic of the handler.
func (l *listener[K, T]) describe(err *PanicError) {
	err.Where, err.Name = l.doing, l.opts.Name
	if l.current != nil {
		err.Key = keytext.Of(l.current.Key)
	}
}

// endRun marks l as inactive: its handler is not called again before the next Run.
func endRun[K comparable, T any](i *core[K, T], l *listener[K, T]) {
	i.mu.Lock()
	defer i.mu.Unlock()
	l.active = false
	l.reg.calls.rest()
	takeBack(l)
	if l.leaving {
		forgetRun(i, l)
		release(l)
	}
	l.reg.cease()
}

// release drops the events that a removed handler has not been given, because its Registration may
// be kept for long. Called by the goroutine that owns l, or while none does.
func release[K comparable, T any](l *listener[K, T]) {
	l.found, l.rest, l.current = nil, nil, nil
	eventlog.Leave(l.cursor)
}

// takeBack puts back an event on which the filter panicked. The handler has not seen it, and must
// get it before later events.
func takeBack[K comparable, T any](l *listener[K, T]) {
	if l.doing != filtering {
		return
	}
	l.doing = ""
	if l.found != nil {
		l.replayed--
	} else if !l.current.Sync {
		l.rest = append([]Event[K, T]{*l.current}, l.rest...)
	}
}

// forgetRun removes l for good. Called with mu held.
func forgetRun[K comparable, T any](i *core[K, T], l *listener[K, T]) {
	l.reg.removed.Store(true)
	eventlog.Close(l.cursor)
	l.overrun, l.initial = nil, nil
	if _, there := i.listeners[l]; there && l.opts.Unchanged {
		i.unchanged--
	}
	delete(i.listeners, l)
	i.coalescing = slices.DeleteFunc(i.coalescing, func(other *listener[K, T]) bool { return other == l })
	l.reg.cease()
}

// runListener calls the handler until the handler is removed or ctx is done. When ctx ends, the caller
// must wake the cursor.
func runListener[K comparable, T any](ctx context.Context, l *listener[K, T]) {
	if !replay(ctx, l) {
		return
	}
	setDue(l, time.Now().Add(firstResync(l)))
	for handleRest(ctx, l) && ctx.Err() == nil {
		if isDue(l) {
			if !resync(ctx, l) {
				return
			}
			continue
		}
		events, err := nextEvents(l)
		if err == nil {
			l.rest, l.logged = events, true
		} else if ctx.Err() != nil || !catchUp(l) {
			return
		}
	}
}

// nextEvents waits for a run of the log. It returns nothing if a resync is due, or if somebody woke the
// cursor.
func nextEvents[K comparable, T any](l *listener[K, T]) ([]Event[K, T], error) {
	if l.opts.Resync <= 0 {
		return eventlog.Next(l.cursor)
	}
	if events, err := eventlog.TryNext(l.cursor); err != nil || events != nil {
		return events, err
	}
	due := time.AfterFunc(time.Until(l.due), func() { eventlog.Wake(l.cursor) })
	defer due.Stop()
	return eventlog.Next(l.cursor)
}

// catchUp makes the difference since l was left behind l's next events. It returns false if l
// was not left behind: then the handler must stop.
func catchUp[K comparable, T any](l *listener[K, T]) bool {
	i := l.inf
	i.mu.Lock()
	missed := l.overrun
	l.overrun, l.initial = nil, nil
	if missed == nil || l.reg.removed.Load() {
		i.mu.Unlock()
		return false
	}
	position := eventlog.Position(l.cursor)
	if !l.leaving {
		l.cursor = newCursor(i, l)
	}
	if turns := l.turns.Load(); turns != nil {
		turns.skip(i.trace.Load().place(eventlog.Published(&i.log)))
	}
	l.backlog.Store(1)
	now, synced := i.store.Snapshot(), hasSyncedAll(&i.base)
	i.mu.Unlock()
	l.logged = false
	l.rest = missedEvents(missed, i.versions.meta, position, now, !l.synced)
	if synced && !l.synced {
		l.rest = append(l.rest, Event[K, T]{Type: syncedMark})
	}
	l.backlog.Store(int64(len(l.rest)))
	return true
}

func newCursor[K comparable, T any](i *core[K, T], l *listener[K, T]) *eventlog.Cursor[Event[K, T]] {
	if l.opts.Coalesce {
		return eventlog.NewLossyCursor(&i.log)
	}
	return eventlog.NewCursor(&i.log)
}
