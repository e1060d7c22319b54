package informer

import (
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kinform/kinform/internal/eventlog"
	"github.com/kinform/kinform/internal/keytext"
	"github.com/kinform/kinform/internal/objmeta"
)

// Traced is one of the newest events of an informer: see [Informer.Trace].
type Traced struct {
	Type              EventType
	Initial, Replaced bool
	// Version is the resourceVersion that the event brought, empty if it brought none.
	Version string
	// Committed is the time at which the store got the change. For objects of the initial list it
	// is the end of the list.
	Committed time.Time
	// Turns has one element for each handler that was there at that moment, sorted by name.
	Turns []Turn
}

// Turn says when a handler had its turn for an event.
type Turn struct {
	Handler string
	// Began is the time of the call of the handler, or of its filter, which may have refused the
	// event. Zero if that has not happened.
	Began time.Time
	// Missed says that the handler will not get it: the handler was left behind, and gets only the
	// difference (LagCoalesce).
	Missed bool
}

// Trace makes the informer keep its newest n events from now on, and when each handler got them,
// for a debug page. [Informer.Traced] returns them. Without a call nothing is kept, and an event
// costs nothing more. With one, each event costs about 0.1 µs, and 0.05 µs for each handler, with
// an uncontended lock each (BenchmarkTrace). With the usual key, an event takes 112 bytes and 16
// for each handler, and keeps the texts of its key and version in memory. Resyncs and unchanged
// objects do not count as events here.
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
		l.turns.Store(&turns{base: t.base, began: make([]turn, n)})
	}
}

// Traced returns the kept events of the key that has this text in logs and errors, the newest
// first. O(kept events).
//
//go:noinline
func (i *Informer[K, T]) Traced(key string) []Traced { return i.engine.Traced(key) }

//go:noinline
func (i *core[K, T]) Traced(key string) []Traced {
	t := i.trace.Load()
	if t == nil {
		return nil
	}
	found := t.find(key)
	if len(found) == 0 {
		return nil
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	all := make([]Traced, 0, len(found))
	for _, e := range found {
		out := e.Traced
		for l := range i.listeners {
			if turns := l.turns.Load(); turns != nil && turns.from <= e.place {
				out.Turns = append(out.Turns, turns.of(l.reg.name, e.place))
			}
		}
		sortTurns(out.Turns)
		all = append(all, out)
	}
	return all
}

func sortTurns(all []Turn) {
	slices.SortFunc(all, func(a, b Turn) int { return strings.Compare(a.Handler, b.Handler) })
}

// trace is a ring of the newest events. Each event has a place, which is its number among all
// events: the initial list is one event in the log, and as many here as it has objects.
type trace[K comparable] struct {
	base   time.Time
	listed uint64        // objects of the initial list; set before mark
	mark   atomic.Uint64 // position in the log behind the initial list, 0 before

	mu     sync.Mutex
	events []traced[K] // by place modulo its length
}

type traced[K comparable] struct {
	Traced        // without Turns
	key    K      // if used
	place  uint64 // if used
	used   bool
}

// place returns the place of the event at a position of the log.
func (t *trace[K]) place(position uint64) uint64 {
	if mark := t.mark.Load(); mark != 0 && position >= mark {
		return position - 1 + t.listed
	}
	return position
}

func (t *trace[K]) add(e traced[K]) {
	e.used = true
	t.mu.Lock()
	defer t.mu.Unlock()
	t.events[e.place%uint64(len(t.events))] = e
}

// find returns the events of a key, the newest first.
func (t *trace[K]) find(key string) (found []traced[K]) {
	t.mu.Lock()
	all := slices.Clone(t.events)
	t.mu.Unlock()
	is := keytext.Matches[K](key)
	for _, e := range all {
		if e.used && is(e.key) {
			found = append(found, e)
		}
	}
	// Package slices would be compiled anew for each K, which is 15 KB of code.
	sort.Slice(found, func(i, j int) bool { return found[i].place > found[j].place })
	return found
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
	for key, obj := range list.All() {
		if n++; n+uint64(len(t.events)) > t.listed {
			t.add(traced[K]{Traced{Type: Added, Initial: true, Version: objmeta.VersionOf(obj), Committed: now}, key, position + n - 1, true})
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
	t.add(traced[K]{Traced{Type: ev.Type, Initial: ev.Initial, Replaced: ev.Replaced, Version: version, Committed: time.Now()}, ev.Key, t.place(eventlog.End(&i.log)), true})
}

// turns are the turns of a handler for the newest events.
type turns struct {
	base time.Time
	from uint64 // place from which on it gets events

	mu    sync.Mutex
	next  uint64 // place behind those whose turns have come
	began []turn // by place modulo its length
}

type turn struct {
	place uint64 // plus 1, 0 for none
	after time.Duration
}

// begin notes that the turn for an event has come.
func (t *turns) begin(place uint64) {
	after := time.Since(t.base)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.next = place + 1
	t.began[place%uint64(len(t.began))] = turn{place + 1, after}
}

// skip notes that the turns for events before place will not come.
func (t *turns) skip(place uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.next = max(t.next, place)
}

func (t *turns) of(handler string, place uint64) Turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	if at := t.began[place%uint64(len(t.began))]; at.place == place+1 {
		return Turn{Handler: handler, Began: t.base.Add(at.after)}
	}
	return Turn{Handler: handler, Missed: place < t.next}
}

// traceTurn notes that the turn for the event at a position of the log has come.
func traceTurn[K comparable, T any](l *listener[K, T], position uint64) {
	if turns := l.turns.Load(); turns != nil {
		turns.begin(l.inf.trace.Load().place(position))
	}
}

// traceWalk notes that the turn for the n-th object of the initial list has come.
func traceWalk[K comparable, T any](l *listener[K, T], n int) {
	if turns := l.turns.Load(); turns != nil && l.listed {
		if mark := l.inf.trace.Load().mark.Load(); mark != 0 {
			turns.begin(mark - 1 + uint64(n) - 1)
		}
	}
}

// traceFrom makes l note its turns from now on, if the informer keeps events. Called with mu held.
func traceFrom[K comparable, T any](i *core[K, T], l *listener[K, T]) {
	if t := i.trace.Load(); t != nil {
		l.turns.Store(&turns{base: t.base, from: t.place(eventlog.Published(&i.log)), began: make([]turn, len(t.events))})
	}
}
