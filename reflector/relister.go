package reflector

import "github.com/kinform/kinform/internal/objid"

// relister is an optional interface of a [Source] that need not decode objects that the reflector
// has already. Decoding is most of the cost of a list, and most objects of a relist are unchanged.
// client.Resource and the sources of package fake are relisters, and so are the results of [Map],
// [Filter], [Shard] and [Tweak] over a relister.
type relister[T any] interface {
	// Relist with a nil function returns a source of the same collection whose objects may have parts in common,
	// such as equal maps, for [Options.ReadOnly]. It returns nil if somebody writes to them.
	//
	// Relist returns a source of the same collection that asks known about an object before it
	// decodes the object. If known returns true, the next event that the source yields is that
	// object's, with Recalled set and a zero Object. The source asks only about the objects of a
	// List, and about Added events of a watch with SendInitialEvents, up to the end of these. It
	// asks in the goroutine that yields the event. It does not ask about an object whose identity it
	// cannot read with certainty: one without UID or version, or with members that come twice.
	//
	// self is the source that the caller holds. Relist returns nil if self is not its receiver: a
	// type that embeds a relister has its method too, but may have its own List and Watch.
	//
	// [New] calls Relist once with nil for Options.ReadOnly, and once with a function, of the result if there is one, which is a relister, too.
	// The returned sources are used in turn, in place of the receiver.
	Relist(self Source[T], known func(objid.Identity) bool) Source[T]
}

// recaller is an optional interface of a [Sink] that keeps objects, for a source that is a
// [relister].
type recaller[T any] interface {
	// Lookup is called in the goroutine of Run, before each request for a list or a page. It returns
	// a function that returns the sink's object with an identity, and true. It returns false if the
	// sink does not have the object in that state, or would put a decoded object into another place.
	// The function is called in the goroutine of Run until the list or page ends. Nil means that the
	// sink has nothing.
	Lookup() func(objid.Identity) (T, bool)
}

// recall is the side of a reflector that knows objects of a list. The goroutine of Run owns it.
type recall[T any] struct {
	source Source[T]   // the relister's; nil if no objects can be recalled
	sink   recaller[T] // nil with source

	known func(objid.Identity) (T, bool) // of the list or page in progress; nil for none
	found T                              // the object of the next event
	sum   uint64                         // its sum
}

// beginReading lets the objects have parts in common, if the source can and they are read-only, and makes t recall
// objects, if source and sink can.
func beginReading[T any](t *transfer[T], readOnly bool) {
	source := t.source
	from, ok := source.(relister[T])
	if !ok {
		return
	}
	if readOnly {
		if shared := from.Relist(source, nil); shared != nil {
			t.source, source, from = shared, shared, shared.(relister[T])
		}
	}
	if to, holds := t.sink.(recaller[T]); holds {
		c := &t.recall
		c.sink, c.source = to, from.Relist(source, func(id objid.Identity) bool { return findRecalled(c, id) })
	}
}

// findRecalled is the function that the source asks.
func findRecalled[T any](c *recall[T], id objid.Identity) (ok bool) {
	if c.known == nil || id.Sum == 0 {
		return false
	}
	c.found, ok = c.known(id)
	c.sum = id.Sum
	return ok
}

// completeRecalled gives a recalled event the object that was found for it, and its sum.
func completeRecalled[T any](c *recall[T], ev *Event[T]) {
	ev.Object, ev.Sum, ev.Recalled = c.found, c.sum, false
	c.found = *new(T)
}

// beginRecall returns the source for the next list or page.
func beginRecall[T any](c *recall[T], usual Source[T]) Source[T] {
	if c.source == nil {
		return usual
	}
	if c.known = c.sink.Lookup(); c.known == nil {
		return usual
	}
	return c.source
}

// endRecall ends the list or page.
func endRecall[T any](c *recall[T]) { c.known, c.found = nil, *new(T) }
