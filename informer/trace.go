package informer

import (
	"time"

	"github.com/kinform/kinform/internal/eventlog"
	"github.com/kinform/kinform/internal/objmeta"
	"github.com/kinform/kinform/internal/tracing"
)

// Trace makes the informer keep its newest n events from now on, and when each handler got them,
// for a debug page. [Informer.Traced] returns them. Without a call nothing is kept, and an event
// costs nothing more. With one, each event costs about 0.1 µs, and 0.1 µs for each handler that
// gets events one by one; fast handlers behind a burst cost next to nothing (BenchmarkTrace). With
// the usual key, an event takes 112 bytes and 16 for each handler, and keeps the texts of its key
// and version in memory. Resyncs and unchanged objects do not count as events here.
//
// A second call with a larger n starts over. Any other call does nothing.
func (i *Informer[K, T]) Trace(n int) { i.engine.Trace(n) }

func (i *core[K, T]) Trace(n int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	old := i.trace.Load()
	if n <= 0 || old != nil && n <= len(old.events) {
		return
	}
	t := &trace[K]{events: make([]traced[K], n), base: time.Now()}
	if old != nil {
		t.listed = old.listed
		t.mark.Store(old.mark.Load())
	}
	i.trace.Store(t)
	for l := range i.listeners {
		l.turns.Store(newTurns(t.base, 0, n))
	}
}

// Traced returns the kept events of the key that has this text in logs and errors, the newest
// first. O(kept events).
//
//go:noinline
func (i *Informer[K, T]) Traced(key string) []tracing.Event { return i.engine.Traced(key) }

//go:noinline
func (i *core[K, T]) Traced(key string) []tracing.Event {
	t := i.trace.Load()
	if t == nil {
		return nil
	}
	found := findTraced(t, key)
	if len(found) == 0 {
		return nil
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	for l := range i.listeners {
		addTurns(found, l.reg.name, l.turns.Load())
	}
	return eventsOf(found)
}

// traceInitial notes the newest objects of the initial list. Called with mu held, before the mark
// is appended to the log.
func traceInitial[K comparable, T any](i *core[K, T]) {
	t := i.trace.Load()
	if t == nil {
		return
	}
	list, now := i.store.Snapshot(), time.Now()
	position, n := eventlog.End(&i.log), uint64(0)
	t.listed = uint64(list.Len())
	t.mark.Store(position + 1)
	for key, obj := range pairsOf(&list) {
		if n++; n+uint64(len(t.events)) > t.listed {
			addTraced(t, key, &placed{tracing.Event{Type: Added.String(), Initial: true, Version: objmeta.VersionOf(obj), Committed: now}, position + n - 1})
		}
	}
}

// traceEvent notes an event. Called with mu held, before ev is appended to the log.
func traceEvent[K comparable, T any](i *core[K, T], ev *Event[K, T], version string) {
	t := i.trace.Load()
	if t == nil {
		return
	}
	if version == "" {
		version = objmeta.VersionOf(ev.Object)
	}
	now := tracing.Event{Type: ev.Type.String(), Initial: ev.Initial, Replaced: ev.Replaced, Own: ev.Own, Version: version, Committed: time.Now()}
	addTraced(t, ev.Key, &placed{now, t.place(eventlog.End(&i.log))})
}

// traceTurn notes that the turn for the event at a position of the log has come.
func traceTurn[K comparable, T any](l *listener[K, T], position uint64) {
	if turns := l.turns.Load(); turns != nil {
		turns.begin(l.inf.trace.Load().place(position), len(l.rest))
	}
}

// traceWalk notes that the turn for the n-th object of the initial list has come.
func traceWalk[K comparable, T any](l *listener[K, T], n int) {
	if turns := l.turns.Load(); turns != nil && l.listed {
		if mark := l.inf.trace.Load().mark.Load(); mark != 0 {
			turns.begin(mark-1+uint64(n)-1, l.found.Len()-n)
		}
	}
}

// traceFrom makes l note its turns from now on, if the informer keeps events. Called with mu held.
func traceFrom[K comparable, T any](i *core[K, T], l *listener[K, T]) {
	if t := i.trace.Load(); t != nil {
		l.turns.Store(newTurns(t.base, t.place(eventlog.Published(&i.log)), len(t.events)))
	}
}
