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
	tracing.Event        // without Turns
	key           K      // if used
	place         uint64 // if used
	used          bool
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

func (t *turns) of(handler string, place uint64) tracing.Turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	if at := t.began[place%uint64(len(t.began))]; at.place == place+1 {
		return tracing.Turn{Handler: handler, Began: t.base.Add(at.after)}
	}
	return tracing.Turn{Handler: handler, Missed: place < t.next}
}

func sortTurns(all []tracing.Turn) {
	slices.SortFunc(all, func(a, b tracing.Turn) int { return strings.Compare(a.Handler, b.Handler) })
}
