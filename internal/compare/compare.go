// Package compare has what a queue of deltas asks about the objects that its consumer has, beyond deltafifo.KnownObjects.
package compare

import (
	"iter"

	"k8s.io/apimachinery/pkg/types"
)

// Known is a deltafifo.KnownObjects that can tell which objects of a list it has already: the store of an
// informer. No method may use the queue.
type Known[K comparable, T any] interface {
	// Get returns the object of key.
	Get(key K) (T, bool)
	// Len returns the number of objects.
	Len() int
	// All returns every key with its object.
	All() iter.Seq2[K, T]
	// GetSum is Get, and also returns the deltafifo.Delta.Sum that came with the object; zero if there was
	// none.
	GetSum(key K) (obj T, sum uint64, ok bool)
	// Same reports whether known, the object of key, has the UID and version that were listed. It is
	// called under the queue's lock, while key has no delta pending or in flight. If known does not
	// carry its version, nothing else is in flight either. Replace may leave out the calls of Same and
	// Equal if the list has known itself, as the same pointer, and the object carries its version:
	// then it is from the store, see reflector.Source.
	Same(key K, known T, listed State) bool
	// Equal reports whether known, an object for which Same was true, has the contents of the listed
	// object. It is called if the sums of the two cannot tell.
	Equal(known, listed T) bool
	// Brought is Get for the newest state that came through the queue.
	Brought(key K) (T, bool)
	// Awaits reports whether known is ahead of the queue in a key, because of a write that did not come
	// through the queue. Then each listed object of the key and each deletion of it is passed on.
	Awaits(key K) bool
	// Ahead reports whether known is ahead in any key. Only a batch ends that, or a write that failed.
	Ahead() bool
	// Awaited returns all keys that known is ahead in, and the number of writes so far that did not come
	// through the queue. A deltafifo.Batch with a list says at which number the list was compared with known.
	Awaited() (keys []K, moment uint64)
	// Omits reports whether objects that are the Same get no delta from a list at a version.
	// Replace calls it once for each list, while nothing is pending or in flight.
	Omits(resourceVersion string) bool
}

// State is the state of an object in a list.
type State struct {
	// UID is empty if the object does not carry a version.
	UID types.UID
	// ResourceVersion is the object's own or, if it carries none, the one that it was listed with.
	ResourceVersion string
}
