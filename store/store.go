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

	// Unchanged reports whether new equals old, the object stored under the same key. If so, the
	// store keeps old and the commit writes nothing for the key. nil means that every object
	// is stored. It runs in the writer's
	// goroutine, without the lock that readers take.
	Unchanged func(old, new T) bool

	// Packed keeps the objects as bytes, without what they have in common: a pod takes a seventh of its memory. The
	// garbage collector does not look into them. Each read makes a new object, which belongs to the caller: some 12 µs
	// for a pod. So does a write, for Op.Old. The bytes are what MarshalBinary of T returns if T has that and
	// UnmarshalBinary, else protobuf if T has that, else JSON. Fields that are not encoded, such as unexported ones,
	// are lost. An object that cannot be encoded is kept as it is: see Op.Kept. Readers get copies of it if it has
	// DeepCopyObject. While an object is written nobody else may use it, because encoding may fill in what it computes.
	// New returns ErrInvalid if no T can be encoded.
	Packed bool

	// OnError is called with errors that a read cannot return: the store does not have the
	// index (index.ErrUnknownIndex), or the index function panicked (*informer.PanicError), or packed bytes do not decode. It is
	// called once for each index name and kind of error, at most 1,000 times in all; reads of
	// frozen Readers count too. nil drops the errors. It runs in the goroutine of the failed
	// read, with no lock held.
	OnError func(error)
}

// readSide gives Store the methods of Reader.
type readSide[K comparable, T any] = Reader[K, T]

// Store holds objects T by key K. It has the methods of a [Reader], and the writes. Any number of
// goroutines may use it; writes run one after the other.
type Store[K comparable, T any] struct {
	readSide[K, T]

	unchanged func(old, new T) bool // set once, may be nil

	// The lock order is writeMu, then the lock of the slots. User functions run under
	// writeMu alone, so that they may read the store but must not write to it.
	writeMu sync.Mutex
	closed  bool        // guarded by writeMu
	rewound bool        // guarded by writeMu: Rewind was called and no commit has followed
	plan    plan        // guarded by writeMu
	verify  func(error) // for tests: called after every commit with what Check returns
}

// New returns an empty store. key returns the key of an object.
// Errors: [ErrInvalid], index.ErrDuplicate.
func New[K comparable, T any](key KeyFunc[K, T], opts Options[T]) (*Store[K, T], error) {
	if key == nil {
		return nil, errNoKeyFunc
	}
	if err := mapkey.Check[K](); err != nil {
		return nil, err
	}
	codec, err := codecOf(opts.Packed, (*T)(nil))
	if err != nil {
		return nil, err
	}
	body := slots.New[T](newKeys[K](), codec, opts.OnError)
	indexes, err := instances(body, opts.Indexes)
	if err != nil {
		return nil, err
	}
	if err := slots.AddIndexes(body, indexes, func() error { return nil }); err != nil {
		return nil, err
	}
	s := &Store[K, T]{unchanged: opts.Unchanged}
	s.key, s.slots = key, body
	if codec != nil {
		s.codec, s.packedOf = codec, func(key K) string { return packedOf(&s.readSide, key) }
	}
	s.parts, s.seed, s.mask = keytable.PartsOf[K](), maphash.MakeSeed(), ^uint32(0)
	return s, nil
}

// Reader returns the reading side, for code that must not write.
func (s *Store[K, T]) Reader() *Reader[K, T] { return &s.readSide }

// Close makes every later write, and every wait, fail with ErrClosed. Reads still work. Close
// first waits for a write in progress. Closing again does nothing.
func (s *Store[K, T]) Close() {
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	s.closed = true
	endWaits(&s.waits, ErrClosed)
}
