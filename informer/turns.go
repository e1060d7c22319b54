package informer

import (
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kinform/kinform/internal/keytext"
	"github.com/kinform/kinform/internal/tracing"
)

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
	placed placed
	key    K // if used
	used   bool
}

type placed struct {
	tracing.Event // without Turns in the ring
	place         uint64
}

// place returns the place of the event at a position of the log.
func (t *trace[K]) place(position uint64) uint64 {
	if mark := t.mark.Load(); mark != 0 && position >= mark {
		return position - 1 + t.listed
	}
	return position
}

func addTraced[K comparable](t *trace[K], key K, e *placed) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.events[e.place%uint64(len(t.events))] = traced[K]{*e, key, true}
}

// findTraced returns the events of a key that are kept, the newest first.
func findTraced[K comparable](t *trace[K], key string) (found []placed) {
	t.mu.Lock()
	all := slices.Clone(t.events)
	t.mu.Unlock()
	is := keytext.Matches[K](key) // which may call a method of K
	for n := range all {
		if e := &all[n]; e.used && is(e.key) {
			found = append(found, e.placed)
		}
	}
	sort.Slice(found, func(i, j int) bool { return found[i].place > found[j].place })
	return found
}

// addTurns adds the turns of a handler to events. t may be nil.
func addTurns(to []placed, handler string, t *turns) {
	for n := range to {
		if e := &to[n]; t != nil && t.from <= e.place {
			e.Turns = append(e.Turns, t.of(handler, e.place))
		}
	}
}

// eventsOf returns events with their turns in order.
func eventsOf(found []placed) []tracing.Event {
	all := make([]tracing.Event, 0, len(found))
	for _, e := range found {
		sortTurns(e.Turns)
		all = append(all, e.Event)
	}
	return all
}

const (
	turnsTogether = 16                     // the most turns that have one note
	fastTurns     = 100 * time.Microsecond // turns that take no longer than this are noted together
	missed        = -1                     // instead of the time of turns that will not come
)

// turns are the turns of a handler for the newest events. A fast handler has one note for several turns: with 20 such
// handlers, a note for each turn added 38% to the cost of an event (BenchmarkTrace).
type turns struct {
	base time.Time
	from uint64 // place from which on it gets events

	begun atomic.Uint64 // place behind the newest turn, or behind those that will not come

	mu       sync.Mutex // taken by the goroutine of the handler to write what follows, and by others to read it
	next     uint64     // place behind those that have a note
	together uint64     // turns of the newest note, before the end of a run
	n        uint64     // notes so far
	notes    []turnNote // the newest, by number modulo their length
}

// turnNote is for the places from from on, up to those of the next note. There is at least one.
type turnNote struct {
	from  uint64
	after time.Duration // since base, or missed
}

func newTurns(base time.Time, from uint64, kept int) *turns {
	return &turns{base: base, from: from, next: from, together: 1, notes: make([]turnNote, kept)}
}

// begin notes that the turn for an event has come. The handler has rest more events at hand.
func (t *turns) begin(place uint64, rest int) {
	if place >= t.next {
		t.group(place, rest)
	}
	t.begun.Store(place + 1)
}

func (t *turns) group(place uint64, rest int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Since(t.base)
	if t.n > 0 && now-t.at(t.n-1).after <= fastTurns {
		t.together = min(2*t.together, turnsTogether)
	} else {
		t.together = 1
	}
	t.note(turnNote{place, now}, place+min(t.together, uint64(rest)+1))
}

// skip notes that the turns for events before place will not come.
func (t *turns) skip(place uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.next < place {
		t.note(turnNote{t.next, missed}, place)
		t.begun.Store(place)
	}
}

// note adds a note for the places before next. Called with mu held.
func (t *turns) note(note turnNote, next uint64) {
	*t.at(t.n) = note
	t.n++
	t.next = next
}

// at returns the room of the n-th note.
func (t *turns) at(n uint64) *turnNote { return &t.notes[n%uint64(len(t.notes))] }

// of returns the turn for a place. Cost: O(log of the kept notes).
func (t *turns) of(handler string, place uint64) tracing.Turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	if place >= t.begun.Load() {
		return tracing.Turn{Handler: handler}
	}
	kept := min(t.n, uint64(len(t.notes)))
	after := sort.Search(int(kept), func(n int) bool { return t.at(t.n-kept+uint64(n)).from > place })
	if after == 0 {
		return tracing.Turn{Handler: handler, Missed: true}
	}
	note := t.at(t.n - kept + uint64(after) - 1)
	if note.after == missed {
		return tracing.Turn{Handler: handler, Missed: true}
	}
	return tracing.Turn{Handler: handler, Began: t.base.Add(note.after)}
}

func sortTurns(all []tracing.Turn) {
	slices.SortFunc(all, func(a, b tracing.Turn) int { return strings.Compare(a.Handler, b.Handler) })
}
