package store

import (
	"hash/maphash"
	"sync"

	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/internal/keytable"
	"github.com/kinform/kinform/internal/mapkey"
	"github.com/kinform/kinform/internal/slots"
)

// Options of a store. The zero value makes a store without indexes.
type Options[T any] struct {
	// Indexes to hold from the start. [Store.AddIndexes] adds more later.
	Indexes []index.Definition[T]

	// Unchanged says that new may be dropped because old, which is stored under the same
	// key, is as good: the store then keeps old, and the commit writes nothing for it.
	// nil means that every object is stored. [SameVersion] suits Kubernetes objects.
	// It runs in the writer's goroutine with no lock held.
	Unchanged func(old, new T) bool

	// OnError is called with errors that a read cannot return: the index is not in the
	// store (index.ErrUnknownIndex), or its function panicked (*index.PanicError). It is
	// called once per name of an index and kind of error, reads of frozen Readers
	// included, and for 1,000 of these at most. nil drops the errors. It runs in the
	// goroutine of the read that went wrong, with no lock held.
	OnError func(error)
}

// readSide makes the methods of Reader those of Store.
type readSide[K comparable, T any] = Reader[K, T]

// Store holds objects T by key K: its methods are those of a [Reader] and the writes.
// Any number of goroutines may use it; writes run one after the other.
type Store[K comparable, T any] struct {
	readSide[K, T]

	unchanged func(old, new T) bool // set once, may be nil

	// The lock order is writeMu, then the lock of the slots. User functions run under
	// writeMu alone, so that they may read the store but must not write to it.
	writeMu sync.Mutex
	closed  bool        // guarded by writeMu
	rewound bool        // guarded by writeMu: Rewind was called and no commit has followed
	plan    plan[K, T]  // guarded by writeMu
	verify  func(error) // for tests: called after every commit with what Check returns
}

// New returns an empty store whose objects have the keys that key gives them.
// Errors: ErrNoKeyFunc, ErrKeyType, index.ErrInvalid, index.ErrExists.
func New[K comparable, T any](key KeyFunc[K, T], opts Options[T]) (*Store[K, T], error) {
	if key == nil {
		return nil, ErrNoKeyFunc
	}
	if err := mapkey.Check[K](); err != nil {
		return nil, err
	}
	body := slots.New[T](newKeys[K](), opts.OnError)
	indexes, err := instances(body, opts.Indexes)
	if err != nil {
		return nil, err
	}
	body.AddIndexes(indexes)
	s := &Store[K, T]{unchanged: opts.Unchanged}
	s.key, s.slots = key, body
	s.parts, s.seed, s.mask = keytable.PartsOf[K](), maphash.MakeSeed(), ^uint32(0)
	return s, nil
}

// Reader returns the reading side alone, for code that must not write.
func (s *Store[K, T]) Reader() *Reader[K, T] { return &s.readSide }

// Close makes every later write fail with ErrClosed and ends all waits with it. Reads go
// on. It returns after a write in progress; closing twice is harmless.
func (s *Store[K, T]) Close() {
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	s.closed = true
	s.waits.end(ErrClosed)
}
