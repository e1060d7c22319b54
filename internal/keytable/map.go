package keytable

// Map finds ids by key: it is a [Table] with the keys beside it.
//
// Reading the key from the object of an id would save the memory for the key. But the object is
// rarely in the processor's cache when it is looked up, and its key is behind one more pointer:
// reading both takes longer than the rest of the lookup (docs/performance/store.md).
//
// The zero Map is empty and ready to use. One writer at a time; reads may run in parallel with
// each other, but not with a write.
type Map[K comparable] struct {
	untyped
	parts Parts[K] // set once; nil if keys are not strings or pairs of them
	plain plain[K] // the keys, if parts is nil
}

// untyped is what a Map has without the type of its keys. It has no methods, which each Map would have again.
type untyped struct {
	table Table
	pairs packed // the keys, if they are strings or pairs of them
}

func cloneUntyped(to, from *untyped) { to.table, to.pairs = from.table.Clone(), from.pairs.clone() }

// Keys is a *[Map] without the type of its keys: what can be done to ids without it.
type Keys interface {
	// Len returns the number of ids.
	Len() int
	// Reserve makes room for n more ids.
	Reserve(n int)
	// Remove takes id, which must be in the map, out of it.
	Remove(id uint32)
	// Move renames id from, which must be in the map, to the unused id to.
	Move(from, to uint32)
	// Truncate gives back memory of ids at and above n, none of which may be in use.
	Truncate(n int)
	// Clone returns an independent copy.
	Clone() Keys
}

// NewMap returns an empty map. With parts, it copies the bytes of keys and does not keep their
// strings alive.
func NewMap[K comparable](parts Parts[K]) *Map[K] { return &Map[K]{parts: parts} }

const (
	pageShift = 7
	pageLen   = 1 << pageShift
)

// Len returns the number of ids.
func (m *Map[K]) Len() int { return m.table.Len() }

// Find returns the id of key. hash is the key's hash.
func Find[K comparable](m *Map[K], hash uint32, key K) (uint32, bool) {
	var p Probe
	id, ok := m.table.Next(hash, &p)
	if !ok {
		return 0, false
	}
	if m.parts == nil {
		for ok && *m.plain.at(id) != key {
			id, ok = m.table.Next(hash, &p)
		}
		return id, ok
	}
	a, b := m.parts(key)
	for ok && !m.pairs.is(id, a, b) {
		id, ok = m.table.Next(hash, &p)
	}
	return id, ok
}

// Likely returns the first id under hash, which is nearly always the right one. It compares no
// keys. Before finding many keys, call Likely for all of them, so that the processor has many
// reads from memory under way at a time.
func Likely[K comparable](m *Map[K], hash uint32) (uint32, bool) {
	var p Probe
	return m.table.Next(hash, &p)
}

// Reserve makes room for n more ids; see [Table.Reserve]. It makes no room for keys, because
// their length is unknown.
func (m *Map[K]) Reserve(n int) { m.table.Reserve(n) }

// Insert puts id under key, both of which must be new.
func Insert[K comparable](m *Map[K], hash uint32, key K, id uint32) {
	m.table.Insert(hash, id)
	if m.parts == nil {
		set(&m.plain, id, key)
		return
	}
	a, b := m.parts(key)
	m.pairs.set(id, a, b)
}

// Adopt replaces the key of id by key, which is equal to it, so that the map no longer keeps
// alive the memory that the old one refers to.
func Adopt[K comparable](m *Map[K], id uint32, key K) {
	if m.parts == nil {
		*m.plain.at(id) = key
	}
}

// Remove takes id, which must be in the map, out of it.
func (m *Map[K]) Remove(id uint32) {
	m.table.Remove(id)
	if m.parts == nil {
		remove(&m.plain, id)
	} else {
		m.pairs.remove(id)
	}
}

// Move renames id from, which must be in the map, to the unused id to.
func (m *Map[K]) Move(from, to uint32) {
	m.table.Move(from, to)
	if m.parts == nil {
		set(&m.plain, to, *m.plain.at(from))
		remove(&m.plain, from)
	} else {
		m.pairs.move(from, to)
	}
}

// Truncate gives back memory of ids at and above n, none of which may be in use.
func (m *Map[K]) Truncate(n int) {
	m.table.Truncate(n)
	m.pairs.truncate(n)
	truncate(&m.plain, n)
}

// Clone implements Keys.
func (m *Map[K]) Clone() Keys {
	c := &Map[K]{parts: m.parts, plain: clone(&m.plain)}
	cloneUntyped(&c.untyped, &m.untyped)
	return c
}
