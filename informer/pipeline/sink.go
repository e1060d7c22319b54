package pipeline

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/deltafifo"
	"github.com/kinform/kinform/internal/objmeta"
	"github.com/kinform/kinform/reflector"
)

// Sink is the reflector.Sink that puts what a reflector learns into a delta FIFO, under its
// key. Objects that a list has but that could not be used are not deleted by it, as far as
// they may be among those known. The goroutine of the reflector's Run owns it.
type Sink[K comparable, T any] struct {
	fifo *deltafifo.DeltaFIFO[K, T]
	key  func(T) (K, error)
	bad  func(*reflector.ObjectError)

	meta objmeta.Reader[T]

	unchanged func(resourceVersion string) func(key K, known, listed T, version string) bool // may be nil

	// The list in progress.
	items   *deltafifo.Items[K, T] // nil for none
	skipped []*reflector.ObjectError
	rewound bool
}

// NewSink returns a sink for fifo. key gives an object's key and must not panic; bad hears
// of the objects that it gives none, without their Resource. unchanged is, for a list at a
// resourceVersion, what deltafifo.List.Unchanged is, or nil. Nothing else may be nil.
func NewSink[K comparable, T any](fifo *deltafifo.DeltaFIFO[K, T], key func(T) (K, error), bad func(*reflector.ObjectError), unchanged func(resourceVersion string) func(key K, known, listed T, version string) bool) *Sink[K, T] {
	return &Sink[K, T]{fifo: fifo, key: key, bad: bad, meta: objmeta.Of[T](), unchanged: unchanged}
}

// Listed implements reflector.Sink. A streaming list can have events other than Added.
func (s *Sink[K, T]) Listed(ctx context.Context, ev reflector.Event[T]) error {
	key, err := s.key(ev.Object)
	if err != nil {
		s.report(ev, err) // it has no key, so it is none that is known
		return ctx.Err()
	}
	if s.items == nil {
		s.items = &deltafifo.Items[K, T]{}
	}
	if ev.Type == reflector.Deleted {
		s.items.Delete(key)
	} else if s.meta.Version(ev.Object) != "" {
		s.items.Set(key, ev.Object, "")
	} else {
		s.items.Set(key, ev.Object, ev.ResourceVersion)
	}
	return ctx.Err()
}

// Skipped implements reflector.Sink.
func (s *Sink[K, T]) Skipped(bad *reflector.ObjectError) { s.skipped = append(s.skipped, bad) }

// Replace implements reflector.Sink.
func (s *Sink[K, T]) Replace(ctx context.Context, resourceVersion string) error {
	defer s.Discard()
	list := deltafifo.List[K, T]{
		Items:           s.items,
		ResourceVersion: resourceVersion,
		Keep:            keeper[K, T](s.skipped),
		Rewound:         s.rewound,
	}
	if s.unchanged != nil && !s.rewound {
		list.Unchanged = func() func(K, T, T, string) bool { return s.unchanged(resourceVersion) }
	}
	return s.fifo.Replace(ctx, list)
}

// Discard implements reflector.Sink.
func (s *Sink[K, T]) Discard() { s.items, s.skipped, s.rewound = nil, nil, false }

// Rewound implements reflector.Rewinder.
func (s *Sink[K, T]) Rewound() { s.rewound = true }

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
