package informer

import (
	"context"

	"github.com/kinform/kinform/deltafifo"
	"github.com/kinform/kinform/reflector"
)

// sink puts what the reflector learns into the FIFO, under its key. The reflector's
// goroutine owns it.
type sink[K comparable, T any] struct {
	inf *Informer[K, T]

	// The list in progress. at says where a key is; it is nil until the list has an
	// event other than Added, which only a streaming list can have.
	items   []deltafifo.Item[K, T]
	at      map[K]int
	skipped []*reflector.ObjectError
}

// Listed implements reflector.Sink.
func (s *sink[K, T]) Listed(ctx context.Context, ev reflector.Event[T]) error {
	key, err := s.inf.keyOf(ev.Object)
	if err != nil {
		s.inf.badObject(badEvent(ev, err)) // it has no key, so it is none that is cached
		return ctx.Err()
	}
	if ev.Type != reflector.Added && s.at == nil {
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

func (s *sink[K, T]) list(item deltafifo.Item[K, T]) {
	if n, ok := s.at[item.Key]; ok {
		s.items[n] = item
		return
	}
	if s.at != nil {
		s.at[item.Key] = len(s.items)
	}
	s.items = append(s.items, item)
}

// unlist puts the last item in the place of key's; the order of a list means nothing.
func (s *sink[K, T]) unlist(key K) {
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
func (s *sink[K, T]) Skipped(bad *reflector.ObjectError) { s.skipped = append(s.skipped, bad) }

// Replace implements reflector.Sink.
func (s *sink[K, T]) Replace(ctx context.Context, resourceVersion string) error {
	defer s.Discard()
	return s.inf.fifo.Replace(ctx, deltafifo.List[K, T]{
		Items:           s.items,
		ResourceVersion: resourceVersion,
		Keep:            s.inf.keeper(s.skipped),
	})
}

// Discard implements reflector.Sink.
func (s *sink[K, T]) Discard() { s.items, s.at, s.skipped = nil, nil, nil }

// Apply implements reflector.Sink.
func (s *sink[K, T]) Apply(ctx context.Context, ev reflector.Event[T]) error {
	fifo := s.inf.fifo
	if ev.Type == reflector.Bookmark {
		return fifo.Bookmark(ctx, ev.ResourceVersion)
	}
	key, err := s.inf.keyOf(ev.Object)
	if err != nil {
		s.inf.badObject(badEvent(ev, err))
		return fifo.Bookmark(ctx, ev.ResourceVersion)
	}
	switch ev.Type {
	case reflector.Deleted:
		return fifo.Delete(ctx, key, ev.Object, ev.ResourceVersion)
	case reflector.Added:
		return fifo.Add(ctx, key, ev.Object, ev.ResourceVersion)
	default:
		return fifo.Update(ctx, key, ev.Object, ev.ResourceVersion)
	}
}

// badEvent says that an event's object has no key.
func badEvent[T any](ev reflector.Event[T], cause error) *reflector.ObjectError {
	return &reflector.ObjectError{ResourceVersion: ev.ResourceVersion, Type: ev.Type, Err: cause}
}
