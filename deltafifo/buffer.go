package deltafifo

const (
	// arenaLen is how many first deltas of keys share one allocation.
	arenaLen = 256
	// keepLen bounds the buffers that are kept for reuse: those of a large list would pin
	// its memory for good, since a Go map does not shrink.
	keepLen = 1024
)

// entry is one key of a buffer with its deltas, oldest first.
type entry[K comparable, T any] struct {
	key    K
	list   uint64 // number of the Replace that listed the key; zero if none did
	deltas []Delta[T]
}

func (e *entry[K, T]) last() *Delta[T] { return &e.deltas[len(e.deltas)-1] }

// buffer is a batch in the making: entries in order of first arrival, and where they are.
type buffer[K comparable, T any] struct {
	entries     []entry[K, T]
	at          map[K]int
	arena       []Delta[T] // unused rest of the current chunk
	deltas      int
	rv          string
	moved       bool // rv was set
	endsInitial bool
}

func newBuffer[K comparable, T any]() *buffer[K, T] {
	return &buffer[K, T]{at: make(map[K]int)}
}

func (b *buffer[K, T]) empty() bool { return b.deltas == 0 && !b.moved }

func (b *buffer[K, T]) find(key K) *entry[K, T] {
	if i, ok := b.at[key]; ok {
		return &b.entries[i]
	}
	return nil
}

// push appends d to the deltas of key and returns the entry.
func (b *buffer[K, T]) push(key K, d Delta[T]) *entry[K, T] {
	b.deltas++
	if e := b.find(key); e != nil {
		e.deltas = append(e.deltas, d)
		return e
	}
	if len(b.arena) == 0 {
		b.arena = make([]Delta[T], arenaLen)
	}
	// Nearly every key has one delta in a batch. Capacity 1 makes a second one move out.
	deltas := b.arena[:1:1]
	b.arena = b.arena[1:]
	deltas[0] = d
	b.at[key] = len(b.entries)
	b.entries = append(b.entries, entry[K, T]{key: key, deltas: deltas})
	return &b.entries[len(b.entries)-1]
}

func (b *buffer[K, T]) moveTo(rv string) {
	if rv != "" {
		b.rv, b.moved = rv, true
	}
}

// reset empties the buffer so that it can be filled anew without pinning an object. It
// returns nil if the buffer is too large to keep. The used part of the arena stays with
// the entries and goes with them.
func (b *buffer[K, T]) reset() *buffer[K, T] {
	if len(b.entries) > keepLen {
		return nil
	}
	clear(b.at)
	clear(b.entries)
	*b = buffer[K, T]{entries: b.entries[:0], at: b.at, arena: b.arena}
	return b
}
