package informer

import (
	"hash/maphash"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/deltafifo"
	"github.com/kinform/kinform/internal/objmeta"
	"github.com/kinform/kinform/store"
)

// versions decides what a relist found unchanged: an object that says its resourceVersion by
// that and its UID, and one that does not, such as a projection, by the resourceVersion of the
// event that brought it. The latter are noted here: 16 bytes per object in a map that is a
// third empty, nothing for objects that say it themselves.
//
// A version is one state of one object of a collection. So a hash stands for the key: if two
// keys have one, an object counts as changed that is not, never the other way round.
//
// The committing goroutine writes it. The reflector's reads it while nothing is pending or in
// flight, which the FIFO's lock orders.
type versions[K comparable, T any] struct {
	meta objmeta.Reader[T] // set by New
	seed maphash.Seed      // set by New

	noted map[uint64]uint64 // by hash of the key: of objects in the store
	most  int               // that noted had since it was made
}

func newVersions[K comparable, T any]() versions[K, T] {
	return versions[K, T]{meta: objmeta.Of[T](), seed: maphash.MakeSeed()}
}

// unchanged returns store.Options.Unchanged, nil if no T says its version.
func (v *versions[K, T]) unchanged() func(known, listed T) bool {
	if !v.meta.Some() {
		return nil
	}
	return sameObject[T]
}

// sameObject reports whether two objects of a key say that they are the same state. It panics
// where their methods do: the store makes an error of that.
func sameObject[T any](known, listed T) bool {
	before, _ := any(known).(metav1.Object)
	after, _ := any(listed).(metav1.Object)
	return before != nil && after != nil && store.SameVersion(before, after)
}

// same reports whether an object that an event brought at version rv is as known, which the
// store has under key. It is false where metadata cannot be read, so that the commit will say
// what is wrong with the object.
func (v *versions[K, T]) same(key K, known, listed T, rv string) bool {
	if version := v.meta.Version(listed); version != "" {
		return version == v.meta.Version(known) && v.meta.UID(known) == v.meta.UID(listed)
	}
	return v.has(key, rv)
}

// repeats reports whether delta n of a key brings the state that the delta before it did, or,
// if it is the first, that the store has, as far as objects do not say it themselves.
func (v *versions[K, T]) repeats(key K, deltas []deltafifo.Delta[T], n int) bool {
	d := &deltas[n]
	if d.ResourceVersion == "" || d.Type == deltafifo.Deleted || v.meta.Version(d.Object) != "" {
		return false
	}
	if n == 0 {
		return v.has(key, d.ResourceVersion)
	}
	before := &deltas[n-1]
	return before.Type != deltafifo.Deleted && before.ResourceVersion == d.ResourceVersion
}

// has reports whether rv is noted for key.
func (v *versions[K, T]) has(key K, rv string) bool {
	if len(v.noted) == 0 {
		return false
	}
	number, ok := v.noted[maphash.Comparable(v.seed, key)]
	return ok && number == parse(rv)
}

// committed notes what became of an op whose event was at version rv.
func (v *versions[K, T]) committed(op *store.Op[K, T], rv string) {
	if op.Err != nil || op.Unchanged {
		return // the store has what it had
	}
	number := uint64(0)
	if !op.Delete && v.meta.Version(op.Object) == "" {
		number = parse(rv)
	}
	if number == 0 {
		v.forget(op.Key)
		return
	}
	if v.noted == nil {
		v.noted = map[uint64]uint64{}
	}
	v.noted[maphash.Comparable(v.seed, op.Key)] = number
	v.most = max(v.most, len(v.noted))
}

// smallVersions is how many a map may have had that is not worth another.
const smallVersions = 64

// forget takes off what is noted for key. A map never shrinks, so that another takes its place
// when little is left. Amortized O(1).
func (v *versions[K, T]) forget(key K) {
	if len(v.noted) == 0 {
		return
	}
	delete(v.noted, maphash.Comparable(v.seed, key))
	if v.most < smallVersions || len(v.noted) > v.most/4 {
		return
	}
	smaller := make(map[uint64]uint64, len(v.noted))
	for hash, number := range v.noted {
		smaller[hash] = number
	}
	v.noted, v.most = smaller, len(smaller)
}

// parse returns the number that a version is, 0 if it is none. What is no number is not
// compared: the object counts as changed.
func parse(rv string) uint64 {
	if rv == "" {
		return 0 // without the error that the other case allocates
	}
	number, err := strconv.ParseUint(rv, 10, 64)
	if err != nil {
		return 0
	}
	return number
}

// cache is the store as the FIFO knows it.
type cache[K comparable, T any] struct {
	*store.Reader[K, T]
	inf *Informer[K, T]
}

// Compare implements deltafifo.Comparer. It returns nil if a handler wants unchanged objects, and
// if the list is older than the store: then the server went back in time, and versions of before
// and after do not compare.
func (c cache[K, T]) Compare(resourceVersion string) func(key K, known, listed T, version string) bool {
	c.inf.mu.Lock()
	wanted := c.inf.unchanged > 0
	c.inf.mu.Unlock()
	if wanted || older(resourceVersion, c.ResourceVersion()) {
		return nil
	}
	return c.inf.versions.same
}
