package keytable

// Map finds ids by key: a [Table] with the keys beside it.
//
// A key could be asked of the object that an id stands for, which would save its size.
// But an object is cold when it is looked up, and its key lies behind one more pointer:
// to read both takes longer than all the rest of a lookup.
//
// The zero Map is empty and ready. One writer at a time; reads may run in parallel with
// each other.
type Map[K comparable] struct {
	table Table
	parts Parts[K] // set once; nil when keys are no pairs of strings
	pairs packed   // the keys, with parts
	plain plain[K] // the keys, without
}

// NewMap returns an empty map. With parts, it keeps the keys as bytes and holds on to none of
// their strings.
func NewMap[K comparable](parts Parts[K]) Map[K] { return Map[K]{parts: parts} }

const (
	pageShift = 7
	pageLen   = 1 << pageShift
)

// Len returns the number of ids.
func (m *Map[K]) Len() int { return m.table.Len() }

// Find returns the id of key, whose hash it is.
func (m *Map[K]) Find(hash uint32, key K) (uint32, bool) {
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

// Likely returns the first id under hash: that of the key searched for, as a rule. It
// does not look at keys. Who will find many keys asks for the likely ids of all of them
// first, so that the processor waits for many reads from memory at a time.
func (m *Map[K]) Likely(hash uint32) (uint32, bool) {
	var p Probe
	return m.table.Next(hash, &p)
}

// Reserve makes room for n more ids; see [Table.Reserve]. It makes none for keys, whose
// length is not known.
func (m *Map[K]) Reserve(n int) { m.table.Reserve(n) }

// Insert puts id under key, both of which must be new.
func (m *Map[K]) Insert(hash uint32, key K, id uint32) {
	m.table.Insert(hash, id)
	if m.parts == nil {
		m.plain.set(id, key)
		return
	}
	a, b := m.parts(key)
	m.pairs.set(id, a, b)
}

// Adopt stores key in place of the equal one of id, so that what that one refers to
// is not kept in memory.
func (m *Map[K]) Adopt(id uint32, key K) {
	if m.parts == nil {
		*m.plain.at(id) = key
	}
}

// Remove takes id, which must be in the map, out of it.
func (m *Map[K]) Remove(id uint32) {
	m.table.Remove(id)
	if m.parts == nil {
		m.plain.remove(id)
	} else {
		m.pairs.remove(id)
	}
}

// Move renames id from, which must be in the map, to the unused id to.
func (m *Map[K]) Move(from, to uint32) {
	m.table.Move(from, to)
	if m.parts == nil {
		m.plain.set(to, *m.plain.at(from))
		m.plain.remove(from)
	} else {
		m.pairs.move(from, to)
	}
}

// Truncate says that no id at or above n is in use any more, so that memory for them can
// be given back.
func (m *Map[K]) Truncate(n int) {
	m.table.Truncate(n)
	m.pairs.truncate(n)
	m.plain.truncate(n)
}

// Clone returns a map of its own with the same ids and keys.
func (m *Map[K]) Clone() Map[K] {
	return Map[K]{table: m.table.Clone(), parts: m.parts, pairs: m.pairs.clone(), plain: m.plain.clone()}
}
