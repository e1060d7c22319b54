package informer

import (
	"hash/maphash"
	"reflect"
	"sync"

	"github.com/kinform/kinform/deltafifo"
	"github.com/kinform/kinform/internal/compare"
	"github.com/kinform/kinform/internal/objmeta"
	"github.com/kinform/kinform/internal/packed"
	"github.com/kinform/kinform/internal/typekind"
	"github.com/kinform/kinform/store"
)

// versions decides which objects a relist found unchanged. Its UID, version and contents must be the
// same, because contents can change at a version: see package objid. If an object carries its
// resourceVersion, that counts. If it does not, as a projection, the resourceVersion of the event
// that brought it counts. Only the latter versions are noted here: 16 bytes per object in a map that
// is a third empty. The sums of contents are in the store, 8 bytes per object.
//
// A version belongs to one object of a collection, so a hash can stand for the key. If two keys
// share a hash, an unchanged object may count as changed, never the other way round.
//
// Commits write the map, with the informer's mu held. The reflector's goroutine reads it, too.
type versions[K comparable, T any] struct {
	meta objmeta.Reader[T] // set by New
	seed maphash.Seed      // set by New
	// codec is set by New; nil unless objects are packed.
	codec packed.Codec

	mu    sync.RWMutex
	noted map[uint64]uint64 // by hash of the key, for objects in the store
	most  int               // largest size of noted since it was made

	variations variations // guarded by the informer's mu
}

func newVersions[K comparable, T any]() versions[K, T] {
	return versions[K, T]{meta: objmeta.Of[T](), seed: maphash.MakeSeed(), variations: variations{seed: maphash.MakeSeed()}}
}

// unchanged returns store.Options.Unchanged, or nil if no T can carry its version.
func unchanged[K comparable, T any](v *versions[K, T]) func(known, listed T) bool {
	if !v.meta.Some() {
		return nil
	}
	return func(known, listed T) bool {
		switch {
		case !sameObject(known, listed):
			return false
		case v.same(known, listed):
			return true
		}
		v.variations.note(objmeta.KeyTextOf(known), objmeta.VersionOf(known), known, listed)
		return false
	}
}

// sameObject reports whether two objects with one key carry the same version and UID. It
// panics if their methods do. The store turns the panic into an error.
func sameObject[T any](known, listed T) bool { return objmeta.SameVersion(known, listed) }

// same is sameContents for a known object that may have been packed, which can leave something out, such as empty maps.
// Then listed is packed, too.
func (v *versions[K, T]) same(known, listed T) bool {
	if sameContents(known, listed) {
		return true
	}
	if v.codec == nil {
		return false
	}
	bytes, err := v.codec.Pack(listed)
	return err == nil && sameContents(known, packed.Open[T](v.codec, bytes))
}

// sameContents reports whether two objects with one key and version are equal.
func sameContents[T any](known, listed T) bool {
	if typekind.Of((*T)(nil)) == reflect.Pointer && any(known) == any(listed) {
		return true
	}
	return reflect.DeepEqual(known, listed)
}

// sameVersion reports whether known, the store's object under key, is in the state listed. It returns
// false if the metadata cannot be read, so that the commit reports what is wrong with the object.
func sameVersion[K comparable, T any](v *versions[K, T], key K, known T, listed compare.State) bool {
	if version := v.meta.Version(known); version != "" {
		return version == listed.ResourceVersion && v.meta.UID(known) == listed.UID
	}
	return hasVersion(v, key, listed.ResourceVersion)
}

// repeats reports whether a delta brings the same version as the one before it. Like repeatsStored, it
// is for objects that do not carry their version.
func repeats[K comparable, T any](v *versions[K, T], before, d *deltafifo.Delta[T]) bool {
	return bare(v, d) && before.Type != deltafifo.Deleted && before.ResourceVersion == d.ResourceVersion
}

// repeatsStored reports whether a delta brings the version that the store has.
func repeatsStored[K comparable, T any](v *versions[K, T], key K, d *deltafifo.Delta[T]) bool {
	return bare(v, d) && hasVersion(v, key, d.ResourceVersion)
}

// bare reports whether a delta has an object without a version.
func bare[K comparable, T any](v *versions[K, T], d *deltafifo.Delta[T]) bool {
	return d.Type != deltafifo.Deleted && v.meta.Version(d.Object) == ""
}

// hasVersion reports whether rv is noted for key. If rv is empty, as in a list of a server that has no
// versions, it reports whether nothing is noted.
func hasVersion[K comparable, T any](v *versions[K, T], key K, rv string) bool {
	if number := versionOf(v, key); rv != "" {
		return number != 0 && number == parseVersion(rv)
	} else {
		return number == 0
	}
}

// versionOf returns the version noted for key, and 0 if there is none.
func versionOf[K comparable, T any](v *versions[K, T], key K) uint64 {
	v.mu.RLock()
	defer v.mu.RUnlock()
	if len(v.noted) == 0 {
		return 0
	}
	return v.noted[maphash.Comparable(v.seed, key)]
}

// noteCommitted notes the outcome of an op whose event was at version rv.
func noteCommitted[K comparable, T any](v *versions[K, T], op *store.Op[K, T], rv string) {
	if op.Err != nil || op.Unchanged {
		return // the store keeps its object
	}
	number := uint64(0)
	if rv != "" && !op.Delete && v.meta.Version(op.Object) == "" {
		number = parseVersion(rv)
	}
	if number == 0 && len(v.noted) == 0 {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if number == 0 {
		forgetVersion(v, op.Key)
		return
	}
	if v.noted == nil {
		v.noted = map[uint64]uint64{}
	}
	v.noted[maphash.Comparable(v.seed, op.Key)] = number
	v.most = max(v.most, len(v.noted))
}

// smallVersions is the size below which a map is not worth replacing.
const smallVersions = 64

// forgetVersion removes the note for key. A map never shrinks, so forget replaces the map when little
// is left in it. Amortized O(1). Called with mu held.
func forgetVersion[K comparable, T any](v *versions[K, T], key K) {
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
