package pipeline

import (
	"context"
	"errors"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/deltafifo"
	"github.com/kinform/kinform/reflector"
)

// Sink is the reflector.Sink that puts what a reflector learns into a delta FIFO, under its
// key. Objects that a list has but that could not be used are not deleted by it, as far as
// they may be among those known. The goroutine of the reflector's Run owns it.
type Sink[K comparable, T any] struct {
	fifo *deltafifo.DeltaFIFO[K, T]
	key  func(T) (K, error)
	bad  func(*reflector.ObjectError)

	// The list in progress: full has those of its items that fill chunks, items the rest.
	// at says where a key is; it is nil until the list has an event other than Added, which
	// only a streaming list can have, and with it all items are in items.
	full    [][]deltafifo.Item[K, T]
	items   []deltafifo.Item[K, T]
	at      map[K]int
	skipped []*reflector.ObjectError
}

// NewSink returns a sink for fifo. key gives an object's key and must not panic; bad hears
// of the objects that it gives none, without their Resource. Nothing may be nil.
func NewSink[K comparable, T any](fifo *deltafifo.DeltaFIFO[K, T], key func(T) (K, error), bad func(*reflector.ObjectError)) *Sink[K, T] {
	return &Sink[K, T]{fifo: fifo, key: key, bad: bad}
}

// Listed implements reflector.Sink.
func (s *Sink[K, T]) Listed(ctx context.Context, ev reflector.Event[T]) error {
	key, err := s.key(ev.Object)
	if err != nil {
		s.report(ev, err) // it has no key, so it is none that is known
		return ctx.Err()
	}
	if ev.Type != reflector.Added && s.at == nil {
		s.join()
		s.at = make(map[K]int, len(s.items))
		for n := range s.items {
			s.at[s.items[n].Key] = n
		}
	}
	if ev.Type == reflector.Deleted {
		s.unlist(key)
	} else {
		s.list(deltafifo.Item[K, T]{Key: key, Object: ev.Object})
	}
	return ctx.Err()
}

func (s *Sink[K, T]) list(item deltafifo.Item[K, T]) {
	if n, ok := s.at[item.Key]; ok {
		s.items[n] = item
		return
	}
	if s.at != nil {
		s.at[item.Key] = len(s.items)
	} else if len(s.items) == listChunk {
		s.full = append(s.full, s.items)
		s.items = make([]deltafifo.Item[K, T], 0, listChunk)
	}
	s.items = append(s.items, item)
}

// listChunk is how many items of a list are kept together: a large list that grew in one
// piece would be copied over and over, and cost five times its size.
const listChunk = 1024

// join puts all items into one piece.
func (s *Sink[K, T]) join() {
	if len(s.full) > 0 {
		s.items, s.full = slices.Concat(append(s.full, s.items)...), nil
	}
}

// unlist puts the last item in the place of key's; the order of a list means nothing.
func (s *Sink[K, T]) unlist(key K) {
	n, ok := s.at[key]
	if !ok {
		return
	}
	last := len(s.items) - 1
	s.items[n] = s.items[last]
	s.at[s.items[n].Key] = n
	delete(s.at, key)
	s.items[last] = deltafifo.Item[K, T]{}
	s.items = s.items[:last]
}

// Skipped implements reflector.Sink.
func (s *Sink[K, T]) Skipped(bad *reflector.ObjectError) { s.skipped = append(s.skipped, bad) }

// Replace implements reflector.Sink.
func (s *Sink[K, T]) Replace(ctx context.Context, resourceVersion string) error {
	defer s.Discard()
	s.join()
	return s.fifo.Replace(ctx, deltafifo.List[K, T]{
		Items:           s.items,
		ResourceVersion: resourceVersion,
		Keep:            keeper[K, T](s.skipped),
	})
}

// Discard implements reflector.Sink.
func (s *Sink[K, T]) Discard() { s.full, s.items, s.at, s.skipped = nil, nil, nil, nil }

// Apply implements reflector.Sink.
func (s *Sink[K, T]) Apply(ctx context.Context, ev reflector.Event[T]) error {
	if ev.Type == reflector.Bookmark {
		return s.fifo.Bookmark(ctx, ev.ResourceVersion)
	}
	key, err := s.key(ev.Object)
	if err != nil {
		s.report(ev, err)
		return s.fifo.Bookmark(ctx, ev.ResourceVersion)
	}
	switch ev.Type {
	case reflector.Deleted:
		return s.fifo.Delete(ctx, key, ev.Object, ev.ResourceVersion)
	case reflector.Added:
		return s.fifo.Add(ctx, key, ev.Object, ev.ResourceVersion)
	default:
		return s.fifo.Update(ctx, key, ev.Object, ev.ResourceVersion)
	}
}

// report says that an event's object has no key.
func (s *Sink[K, T]) report(ev reflector.Event[T], cause error) {
	s.bad(&reflector.ObjectError{ResourceVersion: ev.ResourceVersion, Type: ev.Type, Err: cause})
}

// keeper returns which objects may be those that a list had but that could not be used:
// nil for none. All that is known of such an object is its name, so it may be any that has
// that name or none; and any object at all if its name is not known, unless it is known to
// have none. The function is for the FIFO, under its lock.
func keeper[K comparable, T any](skipped []*reflector.ObjectError) func(K, T) bool {
	names := map[string]bool{}
	for _, bad := range skipped {
		if bad.Key != "" {
			names[bad.Key] = true
		} else if !errors.Is(bad, reflector.ErrNoName) {
			return func(K, T) bool { return true }
		}
	}
	if len(names) == 0 {
		return nil
	}
	return func(_ K, obj T) bool {
		object, ok := any(obj).(metav1.Object)
		return !ok || names[nameOf(object)]
	}
}

// nameOf is the object's name as reflector.ObjectError has it.
func nameOf(object metav1.Object) string {
	if object.GetNamespace() == "" {
		return object.GetName()
	}
	return object.GetNamespace() + "/" + object.GetName()
}
