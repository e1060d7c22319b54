package controller

import (
	"sync"

	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/internal/keytext"
	"github.com/kinform/kinform/internal/note"
)

const (
	// maxEvents is the number of events that an input keeps.
	maxEvents = 128
	// maxObjects is the number of events whose objects it keeps. It bounds the memory of old objects.
	maxObjects = 32
)

// events are the newest events of an input that queued a key. The notes in the queue refer to them.
type events[K comparable, T any] struct {
	number uint64 // of the input

	mu   sync.Mutex
	kept []keptEvent[K, T] // grows to maxEvents, then the oldest is overwritten
	n    uint64            // number of all events
	over bool              // keeps none any more
}

type keptEvent[K comparable, T any] struct {
	key      K
	old, now T
}

// add keeps an event, and returns its note. own says that this process made the last change. The cost is an
// uncontended lock, and no allocation once the ring is full.
func (e *events[K, T]) add(ev *informer.Event[K, T], own bool) note.Note {
	is := keptEvent[K, T]{ev.Key, ev.Old, ev.Object}
	e.mu.Lock()
	defer e.mu.Unlock()
	n := e.n
	e.n++
	switch {
	case e.over:
	case len(e.kept) < maxEvents:
		e.kept = append(e.kept, is)
	default:
		e.kept[n%maxEvents] = is
	}
	if n >= maxObjects && !e.over {
		var none T
		past := &e.kept[(n-maxObjects)%maxEvents]
		past.old, past.now = none, none
	}
	return eventNote(e.number, n, ev.Type, [...]bool{ev.Initial, ev.Sync, ev.Replaced, own})
}

// find returns the event of a note as far as it is kept: the key is empty, or the objects are nil, if they are not.
func (e *events[K, T]) find(is note.Note) (key string, old, now any) {
	e.mu.Lock()
	age := (e.n - uint64(is)>>numberAt) & maxNumber // 1 for the newest
	if age == 0 || age > uint64(len(e.kept)) {
		e.mu.Unlock()
		return "", nil, nil
	}
	kept := e.kept[(e.n-age)%maxEvents]
	e.mu.Unlock() // a method of the key may take its time, and the handler needs mu
	if age <= maxObjects {
		old, now = kept.old, kept.now
	}
	return keytext.Of(kept.key), old, now
}

// forget drops the events. Causes lead to them, and may live on after [Unwatch]: with Trace, or where reconcile keeps them.
func (e *events[K, T]) forget() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.kept, e.over = nil, true
}

// keptEvents is an *events.
type keptEvents interface {
	find(is note.Note) (key string, old, now any)
	forget()
}

// ownKey is set in the note of an event that is the result of a write which the reconcile of the queued key made.
const ownKey note.Note = 1 << 2

// caused reports whether a note is of an event that changed something.
func caused(is note.Note) bool {
	return is&note.Event != 0 && is&(isInitial|isSync) == 0
}

// typeOf returns the type of the event of a note.
func typeOf(is note.Note) informer.EventType { return informer.EventType(is & 3) }

// The note of an event has, from the lowest bit on, its type, ownKey and note.Event, its flags, the number of its input, and
// its number among the events of that input.
const (
	flagsAt   = 4
	inputAt   = 8
	maxInput  = 1<<16 - 1
	numberAt  = 24
	maxNumber = 1<<40 - 1
)

// The flags of the note of an event.
const (
	isInitial note.Note = 1 << (flagsAt + iota)
	isSync
	isReplaced
	isOwn
)

// eventNote returns the note of an event. The flags are initial, sync, replaced and own.
func eventNote(input, number uint64, of informer.EventType, flags [4]bool) note.Note {
	is := note.Event | note.Note(of&3) | note.Note(input&maxInput)<<inputAt | note.Note(number)<<numberAt
	for i, set := range flags {
		if set {
			is |= 1 << (flagsAt + i)
		}
	}
	return is
}
