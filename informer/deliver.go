package informer

import (
	"context"

	"github.com/kinform/kinform/internal/eventlog"
)

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

// mayContinue reports whether the handler may be called once more. Its caller does so.
func mayContinue[K comparable, T any](ctx context.Context, l *listener[K, T]) bool {
	l.inf.care.later()
	l.reg.calls.begin()
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
		callHandler(l, ev)
		return
	}
	deliverWatched(l, ev)
}

func callHandler[K comparable, T any](l *listener[K, T], ev *Event[K, T]) {
	l.current = ev
	out, passes := *ev, true
	if l.opts.Filter != nil {
		l.doing = filtering
		passes = filterEvent(&out, l.opts.Filter)
	}
	l.doing = handling
	if passes {
		l.handler.Handle(out)
	}
}

// filterEvent turns ev into the event for a handler that sees only passing objects, and reports
// whether there is one. It calls pass only for objects of the event.
func filterEvent[K comparable, T any](ev *Event[K, T], pass func(T) bool) bool {
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
