package informer

import (
	"context"
	"slices"
	"time"

	"github.com/kinform/kinform/internal/eventlog"
	"github.com/kinform/kinform/internal/keytext"
)

// start begins to call l's handler. Called with mu held, while the informer runs.
func start[K comparable, T any](i *core[K, T], s *session[K, T], l *listener[K, T]) {
	if l.loop || l.active {
		return
	}
	l.active = true
	l.reg.begin()
	s.Go(func() {
		defer endRun(i, l)
		contain(i, s, handling, l.describe, func() { runListener(s.Ctx, l) })
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

// replay delivers the objects of found. It returns false if the handler must stop. Walking
// needs a large stack, so replay walks only if there is something to deliver.
func replay[K comparable, T any](ctx context.Context, l *listener[K, T]) bool {
	if l.found == nil {
		return true
	}
	if l.found.Len() > 0 && !walk(ctx, l) {
		return false
	}
	early := l.early
	l.found, l.early, l.current, l.replayed = nil, false, nil, 0
	if !early {
		listenerSynced(l)
	}
	return true
}

// walk delivers the objects of found that an earlier run has not delivered yet.
func walk[K comparable, T any](ctx context.Context, l *listener[K, T]) bool {
	n := 0
	var ev Event[K, T] // one for all, since the handler gets a copy
	for key, obj := range l.found.All() {
		if n++; n <= l.replayed {
			continue // the order of a snapshot does not change
		}
		if !mayContinue(ctx, l) {
			return false
		}
		l.replayed++
		traceWalk(l, l.replayed)
		l.backlog.Store(int64(l.found.Len() - l.replayed))
		ev = Event[K, T]{Type: Added, Initial: true, Key: key, Object: obj}
		deliver(l, &ev)
	}
	return true
}

// takeInitial makes the initial list the next thing to deliver.
func takeInitial[K comparable, T any](l *listener[K, T]) {
	l.inf.mu.Lock()
	defer l.inf.mu.Unlock()
	l.found, l.initial, l.listed = l.initial, nil, true
}

// handleRest calls the handler for the rest of a run of the log. It returns false if the
// handler must stop. Then the remaining events wait for the next Run.
func handleRest[K comparable, T any](ctx context.Context, l *listener[K, T]) bool {
	for len(l.rest) > 0 {
		if !mayContinue(ctx, l) {
			return false
		}
		if l.backlog.Load() > 0 {
			l.backlog.Store(int64(len(l.rest)))
		}
		ev, position := &l.rest[0], eventlog.Position(l.cursor)-uint64(len(l.rest))
		l.rest = l.rest[1:] // first, since the handler may not return
		switch {
		case ev.Type == syncedMark:
			listenerSynced(l)
		case ev.Type == initialMark:
			takeInitial(l)
			if !replay(ctx, l) {
				return false
			}
		case ev.Sync && !l.opts.Unchanged:
		default:
			if l.touched != nil {
				l.touched[ev.Key] = struct{}{}
			}
			if l.logged && !ev.Sync {
				traceTurn(l, position)
			}
			deliver(l, ev)
		}
	}
	l.rest, l.current = nil, nil
	l.backlog.Store(0)
	return true
}

// mayContinue reports whether the handler may be called once more.
func mayContinue[K comparable, T any](ctx context.Context, l *listener[K, T]) bool {
	return !l.reg.removed.Load() && ctx.Err() == nil
}

func listenerSynced[K comparable, T any](l *listener[K, T]) {
	if !l.synced {
		l.synced = true
		close(l.reg.synced)
	}
}

// deliver calls the handler for ev, if its filter lets ev pass.
func deliver[K comparable, T any](l *listener[K, T], ev *Event[K, T]) {
	if l.inf.detector == nil {
		call(l, ev)
		return
	}
	enter(l.inf.detector, l.opts.Name, ev)
	call(l, ev)
	reportMutations(l.inf, leaveDetector(l.inf.detector, l.opts.Name, ev))
}

func call[K comparable, T any](l *listener[K, T], ev *Event[K, T]) {
	l.current = ev
	out, passes := *ev, true
	if l.opts.Filter != nil {
		l.doing = filtering
		passes = filter(&out, l.opts.Filter)
	}
	l.doing = handling
	if passes {
		l.handler.Handle(out)
	}
}

// filter turns ev into the event for a handler that sees only passing objects, and reports
// whether there is one. It calls pass only for objects of the event.
func filter[K comparable, T any](ev *Event[K, T], pass func(T) bool) bool {
	switch {
	case ev.Type == Deleted:
		return pass(ev.Old) // the handler saw Old last; the final state may differ
	case ev.Type != Updated || ev.Sync:
		return pass(ev.Object)
	}
	switch before, after := pass(ev.Old), pass(ev.Object); {
	case before && after:
	case after:
		ev.Type, ev.Replaced, ev.Old = Added, false, *new(T)
	case before:
		ev.Type, ev.Replaced, ev.Object = Deleted, false, ev.Old
	default:
		return false
	}
	return true
}
