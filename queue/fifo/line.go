package fifo

// minLine is the least number of slots in a line that is not new.
const minLine = 16

// slot is one place in a line.
type slot[K comparable, T any] struct {
	item     Item[K, T]
	unsynced bool // counts for Synced until it is processed
	taken    bool // a key is in it
}

// line holds keys in order of arrival, each with its object. It is a ring: place n is in slot n
// modulo the number of slots, which is a power of two. A deletion leaves a gap.
type line[K comparable, T any] struct {
	slots      []slot[K, T]
	head, tail uint64 // places in [head, tail) are in use or gaps
	at         map[K]uint64
}

func (l *line[K, T]) slot(place uint64) *slot[K, T] { return &l.slots[place&uint64(len(l.slots)-1)] }

// find returns the slot of key, or nil. It is valid until the next add or remove.
func (l *line[K, T]) find(key K) *slot[K, T] {
	if place, ok := l.at[key]; ok {
		return l.slot(place)
	}
	return nil
}

// add puts a key that is not in the line at its end.
func (l *line[K, T]) add(item Item[K, T]) *slot[K, T] {
	if l.tail-l.head == uint64(len(l.slots)) {
		l.rebuild()
	}
	l.at[item.Key] = l.tail
	s := l.slot(l.tail)
	*s = slot[K, T]{item: item, taken: true}
	l.tail++
	return s
}

// remove removes a key that is in the line.
func (l *line[K, T]) remove(key K) slot[K, T] {
	place := l.at[key]
	s := l.slot(place)
	old := *s
	*s = slot[K, T]{}
	delete(l.at, key)
	for l.head < l.tail && !l.slot(l.head).taken {
		l.head++
	}
	if len(l.slots) > 4*max(len(l.at), minLine) {
		l.rebuild()
	}
	return old
}

// first returns the key that came first; there must be one.
func (l *line[K, T]) first() K { return l.slot(l.head).item.Key }

// rebuild closes the gaps, and makes room for at least half as many keys again. Before the next
// rebuild at least a quarter as many keys must come or go, so that its amortized cost is O(1).
func (l *line[K, T]) rebuild() {
	size := minLine
	for 2*size < 3*len(l.at) {
		size *= 2
	}
	next := line[K, T]{slots: make([]slot[K, T], size), at: make(map[K]uint64, size)}
	for place := l.head; place < l.tail; place++ {
		if s := l.slot(place); s.taken {
			next.at[s.item.Key] = next.tail
			next.slots[next.tail] = *s
			next.tail++
		}
	}
	*l = next
}
