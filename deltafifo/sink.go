package deltafifo

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/internal/objmeta"
	"github.com/kinform/kinform/reflector"
)

// Sink is the reflector.Sink that puts the objects and events of a reflector into a [DeltaFIFO],
// each under its key. A list that has unusable objects does not delete the known objects that they
// may be. The goroutine of the reflector's Run owns the Sink.
type Sink[K comparable, T any] struct {
	fifo *core[K, T]
	key  func(T) (K, error)
	bad  func(*reflector.ObjectError)

	meta objmeta.Reader[T]

	// The list in progress.
	items             *Objects[K, T] // nil for none
	skipped           []*reflector.ObjectError
	rewound, doubtful bool
}

// Sink returns a sink for f. key returns an object's key and must not panic. bad gets an error without
// Resource for each object that has no key.
func (f *DeltaFIFO[K, T]) Sink(key func(T) (K, error), bad func(*reflector.ObjectError)) *Sink[K, T] {
	return sinkOf(&f.core, key, bad)
}

// NewSink returns a sink with a queue of its own, whose consumer uses TryPop. It compiles to less than a
// [DeltaFIFO] with a sink. See [New] for known, opts and when it panics, and [DeltaFIFO.Sink] for key and bad.
func NewSink[K comparable, T any](known KnownObjects[K, T], opts Options, key func(T) (K, error), bad func(*reflector.ObjectError)) *Sink[K, T] {
	f := new(core[K, T])
	open(f, known, opts)
	return sinkOf(f, key, bad)
}

func sinkOf[K comparable, T any](f *core[K, T], key func(T) (K, error), bad func(*reflector.ObjectError)) *Sink[K, T] {
	return &Sink[K, T]{fifo: f, key: key, bad: bad, meta: objmeta.Of[T]()}
}

// TryPop takes all pending deltas, like [DeltaFIFO.TryPop]. One goroutine at a time may call it, as it consumes.
func (s *Sink[K, T]) TryPop() (batch Batch[K, T], ok bool) { return tryPop(s.fifo) }

// Len returns the number of pending deltas. Any goroutine may call it.
func (s *Sink[K, T]) Len() int { return pendingDeltas(&s.fifo.gate) }

// Close ends production, see [DeltaFIFO.Close]. Any goroutine may call it.
func (s *Sink[K, T]) Close() { closeGate(&s.fifo.gate) }

// Listed implements reflector.Sink. A streaming list can have events other than Added.
func (s *Sink[K, T]) Listed(ctx context.Context, ev reflector.Event[T]) error {
	key, err := s.key(ev.Object)
	if err != nil {
		reportKeyless(s, &ev, err) // without a key it is not a known object
		return ctx.Err()
	}
	if s.items == nil {
		s.items = &Objects[K, T]{codec: s.fifo.codec, packedOf: s.fifo.packedOf}
	}
	if ev.Type == reflector.Deleted {
		s.items.Delete(key)
	} else if s.meta.Version(ev.Object) != "" {
		setObject(s.items, key, ev.Object, "", ev.Sum)
	} else {
		s.items.unknown = true
		setObject(s.items, key, ev.Object, ev.ResourceVersion, ev.Sum)
	}
	return ctx.Err()
}

// Skipped implements reflector.Sink.
//
//go:noinline
func (s *Sink[K, T]) Skipped(bad *reflector.ObjectError) { s.skipped = append(s.skipped, bad) }

// Replace implements reflector.Sink.
func (s *Sink[K, T]) Replace(ctx context.Context, resourceVersion string) error {
	defer s.Discard()
	return produceList(ctx, s.fifo, &Replacement[K, T]{
		Objects:         s.items,
		ResourceVersion: resourceVersion,
		Keep:            keeper[K, T](s.skipped),
		Rewound:         s.rewound,
		Doubtful:        s.doubtful,
	})
}

// Discard implements reflector.Sink.
func (s *Sink[K, T]) Discard() {
	s.items, s.skipped, s.rewound, s.doubtful = nil, nil, false, false
}

// Rewound serves reflectors.
func (s *Sink[K, T]) Rewound(certain bool) { s.rewound, s.doubtful = certain, !certain }

// Apply implements reflector.Sink.
func (s *Sink[K, T]) Apply(ctx context.Context, ev reflector.Event[T]) error {
	key, d := deltaOf(s, &ev)
	return produce(ctx, s.fifo, key, &d)
}

// ApplyNow is Apply for an event after which nothing else is about to come. If the consumer waits
// for changes and only few are pending, it does not wake the consumer but calls process with all of
// them. Meanwhile Pop waits, and when ApplyNow returns, the batch has been processed, even if
// process failed or panicked; keys that process gave back with [DeltaFIFO.Requeue] are the
// consumer's then. It returns process's error unchanged. A consumer that uses [DeltaFIFO.Process]
// waits for changes between two calls, too.
func (s *Sink[K, T]) ApplyNow(ctx context.Context, ev reflector.Event[T], process func(Batch[K, T]) error) error {
	key, d := deltaOf(s, &ev)
	return produceNow(ctx, s.fifo, key, &d, process)
}

// deltaOf returns the delta of a watch event. Without a key it only moves the version.
func deltaOf[K comparable, T any](s *Sink[K, T], ev *reflector.Event[T]) (key K, d Delta[T]) {
	d.ResourceVersion = ev.ResourceVersion
	if ev.Type == reflector.Bookmark {
		return key, d
	}
	key, err := s.key(ev.Object)
	if err != nil {
		reportKeyless(s, ev, err)
		return *new(K), d
	}
	d.Object, d.Sum = ev.Object, ev.Sum
	switch ev.Type {
	case reflector.Deleted:
		d.Type = Deleted
	case reflector.Added:
		d.Type = Added
	default:
		d.Type = Updated
	}
	return key, d
}

// reportKeyless says that an event's object has no key.
func reportKeyless[K comparable, T any](s *Sink[K, T], ev *reflector.Event[T], cause error) {
	s.bad(&reflector.ObjectError{ResourceVersion: ev.ResourceVersion, Type: ev.Type, Err: cause})
}

// keeper returns a Replacement.Keep for a list with the given unusable objects, nil if no object
// needs to be kept. An unusable object is known by its name only: it may be any known object with
// that name or without metadata. If its name is unknown too, it may be any object at all. An object
// that certainly has no name is none of the known objects.
func keeper[K comparable, T any](skipped []*reflector.ObjectError) func(K, T) bool {
	var u unusable
	for _, bad := range skipped {
		u.add(bad)
	}
	if u.none() {
		return nil
	}
	return func(_ K, obj T) bool { return u.mayBe(obj) }
}

// unusable is a set of objects that could not be used. The zero value is empty.
type unusable struct {
	names map[string]struct{}
	any   bool // there is one whose name is unknown
}

func (u *unusable) add(bad *reflector.ObjectError) {
	switch {
	case bad.Key == "":
		u.any = u.any || !errors.Is(bad, reflector.ErrNoName)
	case u.names == nil:
		u.names = map[string]struct{}{bad.Key: {}}
	default:
		u.names[bad.Key] = struct{}{}
	}
}

func (u *unusable) none() bool { return !u.any && len(u.names) == 0 }

// mayBe reports whether obj may be in the set.
func (u *unusable) mayBe(obj any) bool {
	if u.any {
		return true
	}
	object, ok := obj.(metav1.Object)
	if !ok {
		return true
	}
	_, ok = u.names[objmeta.KeyText(object)]
	return ok
}
