// Package tracing has what a debug page gets from an informer about a key.
package tracing

import "time"

// Found is an informer's knowledge of a key.
type Found struct {
	// Object is the object in the store, a T, and Version its resourceVersion. Cached says whether
	// there is one.
	Object  any
	Version string
	Cached  bool
	// PendingWrite is the version of informer.Informer.PendingWrite.
	PendingWrite string
}

// Event is one of the newest events of an informer: see informer.Informer.Trace.
type Event struct {
	// Type is the name of the informer.EventType.
	Type string
	// Initial, Replaced and Own are those of informer.Event.
	Initial, Replaced, Own bool
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
	// event. Zero if that has not happened. Up to 16 calls that follow each other count as begun
	// with the first, if the calls before it took less than 0.1 ms.
	Began time.Time
	// Missed says that the handler will not get it: the handler was left behind, and gets only the
	// difference (Coalesce).
	Missed bool
}
