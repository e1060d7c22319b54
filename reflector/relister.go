package reflector

import "k8s.io/apimachinery/pkg/types"

// Identity is one state of an object, as a list names it before the object is decoded. Version and
// UID alone do not name a state: the API server applies defaults and converts when it reads from
// etcd, so the contents of an object can change at its version. A new default or conversion webhook
// in a CustomResourceDefinition does that, and so does an upgrade of the server. Two equal
// identities have the same contents because their sums are equal, too. If a restored server gives
// out a version again, the bytes differ, so its lists need no exception.
type Identity struct {
	types.NamespacedName
	UID             types.UID
	ResourceVersion string
	// Sum is the [Event.Sum] of the event that would carry the decoded object. An identity without
	// it is never known.
	Sum uint64
}

// Relister is an optional interface of a [Source] that need not decode objects that the reflector
// has already. Decoding is most of the cost of a list, and most objects of a relist are unchanged.
// client.Resource and the sources of package fake are Relisters, and so are the results of [Map],
// [Filter], [Shard] and [Tweak] over a Relister.
type Relister[T any] interface {
	// Relist returns a source of the same collection that asks known about an object before it
	// decodes the object. If known returns true, the next event that the source yields is that
	// object's, with Recalled set and a zero Object. The source asks only about the objects of a
	// List, and about Added events of a watch with SendInitialEvents, up to the end of these. It
	// asks in the goroutine that yields the event. It does not ask about an object whose identity it
	// cannot read with certainty: one without UID or version, or with members that come twice.
	//
	// self is the source that the caller holds. Relist returns nil if self is not its receiver: a
	// type that embeds a Relister has its method too, but may have its own List and Watch.
	//
	// [New] calls Relist once. The returned source is used like the receiver, and in turn with it.
	Relist(self Source[T], known func(Identity) bool) Source[T]
}

// Recaller is an optional interface of a [Sink] that keeps objects, for a source that is a
// [Relister].
type Recaller[T any] interface {
	// Lookup is called in the goroutine of Run, before each request for a list or a page. It returns
	// a function that returns the sink's object with an identity, and true. It returns false if the
	// sink does not have the object in that state, or would put a decoded object into another place.
	// The function is called in the goroutine of Run until the list or page ends. Nil means that the
	// sink has nothing.
	Lookup() func(Identity) (T, bool)
}

// recall is the side of a reflector that knows objects of a list. The goroutine of Run owns it.
type recall[T any] struct {
	source Source[T]   // the Relister's; nil if no objects can be recalled
	sink   Recaller[T] // nil with source

	known func(Identity) (T, bool) // of the list or page in progress; nil for none
	found T                        // the object of the next event
	sum   uint64                   // its sum
}

// beginRecalling makes c recall objects, if source and sink can.
func beginRecalling[T any](c *recall[T], source Source[T], sink Sink[T]) {
	from, ok := source.(Relister[T])
	to, holds := sink.(Recaller[T])
	if ok && holds {
		c.sink, c.source = to, from.Relist(source, func(id Identity) bool { return findRecalled(c, id) })
	}
}

// findRecalled is the function that the source asks.
func findRecalled[T any](c *recall[T], id Identity) (ok bool) {
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
