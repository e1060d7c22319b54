package informer

import (
	"fmt"
	"iter"

	"github.com/kinform/kinform/internal/compare"
	"github.com/kinform/kinform/internal/keytext"
	"github.com/kinform/kinform/internal/packed"
	"github.com/kinform/kinform/store"
)

// isOnly reports whether there are no other parts.
func isOnly[K comparable, T any](p *part[K, T]) bool { return p.inf.only == p }

// partOf returns the part of a key, nil if there is none. Called with mu held.
func partOf[K comparable, T any](i *core[K, T], key K) *part[K, T] {
	if i.only != nil {
		return i.only
	}
	if i.over == nil {
		return nil // Failed
	}
	return i.over.parts[i.over.of(key)]
}

// allParts returns all parts. Called with mu held.
//
//go:noinline
func allParts[K comparable, T any](i *core[K, T]) []*part[K, T] {
	if i.only != nil {
		return []*part[K, T]{i.only}
	}
	all := make([]*part[K, T], 0, len(i.places.all))
	for _, p := range i.places.all {
		all = append(all, i.over.parts[p.namespace])
	}
	return all
}

// reached returns the version that list and watch have brought to the store, 0 if it is not known. Called
// with mu held.
func reached[K comparable, T any](p *part[K, T]) uint64 {
	if isOnly(p) {
		return parseVersion(p.inf.store.ResourceVersion())
	}
	return p.at
}

// keyIn returns the key of an object that the source of a part has brought.
func keyIn[K comparable, T any](p *part[K, T], obj T) (K, error) {
	key, err := p.inf.keyOf(obj)
	if err == nil && !isOnly(p) && p.inf.over.of(key) != p.namespace {
		return *new(K), fmt.Errorf("%w: the source of namespace %q has brought %s", errNamespace, p.namespace, keytext.Of(key))
	}
	return key, err
}

// knownObjects is what the store has of a part, in the form that the FIFO needs. It does not embed the reader,
// whose methods would all be compiled once more for every T.
type knownObjects[K comparable, T any] struct {
	reader *store.Reader[K, T]
	part   *part[K, T]
}

// Get implements deltafifo.KnownObjects.
func (c *knownObjects[K, T]) Get(key K) (T, bool) { return c.reader.Get(key) }

// GetMany is Get for many keys, which the FIFO prefers.
func (c *knownObjects[K, T]) GetMany(keys []K, yield func(int, T, bool) bool) {
	c.reader.GetMany(keys, yield)
}

// Packing tells the FIFO what the reader packs.
func (c *knownObjects[K, T]) Packing() (packed.Codec, func(K) string) { return c.reader.Packing() }

// Len implements deltafifo.KnownObjects.
func (c *knownObjects[K, T]) Len() int {
	if isOnly(c.part) {
		return c.reader.Len()
	}
	return c.part.inf.over.count(c.part.namespace)
}

// All implements deltafifo.KnownObjects.
//
//go:noinline
func (c *knownObjects[K, T]) All() iter.Seq2[K, T] {
	if isOnly(c.part) {
		return c.reader.All()
	}
	return keysIn(c.part)
}

// keysIn iterates over what the store has of a namespace.
//
//go:noinline
func keysIn[K comparable, T any](p *part[K, T]) iter.Seq2[K, T] {
	return func(yield func(K, T) bool) {
		for _, obj := range p.inf.over.objects(p.namespace) {
			if key, err := p.inf.key(obj); err == nil && !yield(key, obj) {
				return
			}
		}
	}
}

// GetSum implements compare.Known.
func (c *knownObjects[K, T]) GetSum(key K) (T, uint64, bool) { return c.reader.GetSum(key) }

// Equal implements compare.Known.
func (c *knownObjects[K, T]) Equal(known, listed T) bool { return sameContents(known, listed) }

// Brought implements compare.Known.
func (c *knownObjects[K, T]) Brought(key K) (T, bool) {
	obj, ok := c.reader.Get(key) // first: an own write is in the door before it is in the store
	if kept, has, ahead := putOwn(&c.part.own, key); ahead {
		return kept.obj, has
	}
	return obj, ok
}

// Awaits implements compare.Known.
func (c *knownObjects[K, T]) Awaits(key K) bool { return awaitsOwn(&c.part.own, key) }

// Ahead implements compare.Known.
func (c *knownObjects[K, T]) Ahead() bool { return c.part.own.count.Load() > 0 }

// Awaited implements compare.Known.
func (c *knownObjects[K, T]) Awaited() ([]K, uint64) { return c.part.own.awaited() }

// Same implements compare.Known.
func (c *knownObjects[K, T]) Same(key K, known T, listed compare.State) bool {
	return sameVersion(&c.part.inf.versions, key, known, listed)
}

// Omits implements compare.Known. It returns false if a handler wants unchanged objects. It
// also returns false if the list is older than the store: then the server went back in time, and
// versions from before and after cannot be compared.
func (c *knownObjects[K, T]) Omits(resourceVersion string) bool {
	i := c.part.inf
	i.mu.Lock()
	wanted, at := i.unchanged > 0, c.reader.ResourceVersion()
	if !isOnly(c.part) {
		at = versionText(c.part.at)
	}
	i.mu.Unlock()
	return !wanted && !older(resourceVersion, at)
}
