// Package sharded knows how servers divide the objects of a collection by the hash of a field (KEP-5866).
package sharded

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/sharding"

	"github.com/kinform/kinform/internal/mistake"
)

// The fields that a shard can be made by.
const (
	UID       = "object.metadata.uid"
	Namespace = "object.metadata.namespace"
)

// ErrBad is in the errors of a shard that no server has.
var ErrBad error = mistake.Text("reflector: bad shard")

// errOther ends a list that the server made for another shard than the requested one.
var errOther error = mistake.Broken("server sent another shard")

// CheckList returns an error if a list is of another shard than the one asked for. A list that does not say what it
// is of passes.
func CheckList(page metav1.ListMeta, asked string) error {
	if page.ShardInfo != nil && page.ShardInfo.Selector != asked {
		return fmt.Errorf("%w: asked for %q, got %q", errOther, asked, page.ShardInfo.Selector)
	}
	return nil
}

// HashOf returns the function that returns the hash of an object by field, which is [UID] or [Namespace]. An object
// without metadata counts as one without text. Errors: [ErrBad], wrapped.
func HashOf[T any](field string) (func(T) uint64, error) {
	if field != UID && field != Namespace {
		return nil, fmt.Errorf("%w: cannot shard by %q", ErrBad, field)
	}
	byNamespace := field == Namespace
	return func(object T) uint64 {
		h, _ := Hash(object, byNamespace)
		return h
	}, nil
}

// EndOfHashes is 2^64, the end of the last range, and the only bound without sixteen digits.
const EndOfHashes = "0x10000000000000000"

// Range selects the objects with a hash from first to last, both included, by field: [UID] or [Namespace].
func Range(field string, first, last uint64) sharding.ShardRangeRequirement {
	r := sharding.ShardRangeRequirement{Key: field, Start: fmt.Sprintf("0x%016x", first), End: EndOfHashes}
	if last != ^uint64(0) {
		r.End = fmt.Sprintf("0x%016x", last+1)
	}
	return r
}

// Hash returns the hash of an object.
func Hash(object any, byNamespace bool) (uint64, error) {
	m, err := meta.Accessor(object)
	switch {
	case err != nil:
		return Of(""), err
	case byNamespace:
		return Of(m.GetNamespace()), nil
	}
	return Of(string(m.GetUID())), nil
}

// Of returns the 64-bit FNV-1a hash of a text. Package hash/fnv would allocate for every object.
func Of(s string) uint64 {
	h := uint64(14695981039346656037)
	for n := range len(s) {
		h ^= uint64(s[n])
		h *= 1099511628211
	}
	return h
}
