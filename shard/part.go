package shard

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/kinform/kinform/internal/mistake"
	"github.com/kinform/kinform/internal/sharded"
	"github.com/kinform/kinform/reflector"
)

// Part says which objects of a resource a cache keeps: those whose hash is in a set. It is the
// controller.OpenOptions.Part of a handle. Other caches get the source that Source returns, and
// follow the set: an object outside it is as if it did not exist.
//
//   - When ranges leave the set, handlers get a deletion with FinalStateUnknown for each object in
//     them. That needs no request.
//   - When ranges come, handlers get additions. The watch ends, and one list of the whole part
//     follows, for which only the objects that the cache lacks are decoded. Handlers and readers see
//     no change of the objects that stay. While the list fails, they are watched in between. A list
//     in progress goes on if ranges come, and another one follows.
//   - A server that selects by Field (feature gate ShardedListAndWatch, alpha in Kubernetes 1.36,
//     beta and on by default in 1.38) sends only the part. Any other server sends all objects.
//
// No request is sent while the set is empty, until the first ranges come. [Hashes.WaitForLists]
// waits for lists. A write that is recorded (informer.Informer.RecordWrite) does not enter the cache
// if its object is not in the part, or no list of its range has begun yet.
type Part[T any] struct {
	// Hashes is the set. It must not be nil.
	Hashes *Hashes

	// Hash returns the hash of an object, which must be the same for all states of the object. It
	// must be quick, and runs with locks held. A panic in it ends Run, like one in a source, or goes
	// on in the call of Set or of RecordWrite. Nil means [ServerHash] of the field named by
	// Field.
	Hash func(T) uint64

	// Field is the field by which the server can select objects: [FieldUID] or
	// [FieldNamespace]. Then Hash must be nil. Empty means that the server sends all
	// objects, and those that are not in the set are dropped as they arrive, before they are
	// stored.
	Field string
}

// The fields of [Part.Field].
const (
	FieldUID       = sharded.UID
	FieldNamespace = sharded.Namespace
)

// ServerHash returns the hash of the text of a field, by which servers divide objects.
func ServerHash(text string) uint64 { return sharded.Of(text) }

// Source returns a source of the objects of from that are in the part. It serves one informer or
// reflector, and must not be wrapped: Part comes after reflector.Map and the like. Errors:
// [ErrHashes], reflector.ErrInvalid.
func (p Part[T]) Source(from reflector.Source[T]) (reflector.Source[T], error) {
	if from == nil {
		return nil, mistake.NoSource
	}
	hash, err := p.hash()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", from.Resource(), err)
	}
	f := &follower{field: p.Field}
	p.Hashes.follow(f)
	return reflector.Select[T](from, &selector[T]{f, hash}), nil
}

// Has reports whether an object is in the part, by the set as it is now. Errors: the errors of Source.
func (p Part[T]) Has(obj T) (bool, error) {
	hash, err := p.hash()
	if err != nil {
		return false, err
	}
	return p.Hashes.Has(hash(obj)), nil
}

func (p Part[T]) hash() (func(T) uint64, error) {
	switch {
	case p.Hashes == nil:
		return nil, fmt.Errorf("%w: Part.Hashes is nil", ErrHashes)
	case (p.Hash == nil) == (p.Field == ""):
		return nil, fmt.Errorf("%w: set either Part.Hash or Part.Field", ErrHashes)
	case p.Field == "":
		return p.Hash, nil
	}
	return sharded.HashOf[T](p.Field)
}

// selector is a follower for objects T.
type selector[T any] struct {
	*follower
	hash func(T) uint64
}

// Asked serves reflectors.
func (s *selector[T]) Asked(obj T) (bool, error) {
	if s.field != "" {
		if _, err := meta.Accessor(obj); err != nil {
			return false, err
		}
	}
	return s.hasAsked(s.hash(obj))
}

// Selects serves reflectors.
func (s *selector[T]) Selects(obj T) bool { return s.has(s.hash(obj)) }
