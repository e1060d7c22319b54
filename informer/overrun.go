package informer

import (
	"reflect"

	"github.com/kinform/kinform/store"
)

// overrun is what a handler that coalesces had not been given when it was left behind.
type overrun[K comparable, T any] struct {
	missed []Event[K, T]        // the events before it then
	from   uint64               // position of the first in the log
	then   store.Snapshot[K, T] // the store after the last
}

// cutLoose leaves behind the handlers that are to coalesce and are too slow. Called with
// mu held, before a commit.
func (i *Informer[K, T]) cutLoose() {
	for _, l := range i.loose {
		if missed, from, cut := i.log.Cut(l.cursor, i.lag); cut {
			l.overrun = &overrun[K, T]{missed: missed, from: from, then: i.store.Snapshot()}
			l.overruns++
		}
	}
}

// catchUp makes l's next events what is different since it was left behind. It returns
// false if it was not: the handler is to end.
func (l *listener[K, T]) catchUp() bool {
	i := l.inf
	i.mu.Lock()
	missed := l.overrun
	l.overrun, l.initial = nil, nil
	if missed == nil || l.reg.removed.Load() {
		i.mu.Unlock()
		return false
	}
	position := l.cursor.Position()
	if !l.leaving {
		l.cursor = i.newCursor(l)
	}
	l.news.Store(1)
	now, synced := i.store.Snapshot(), i.hasSynced()
	i.mu.Unlock()
	l.rest = missed.news(position, now, !l.synced)
	if synced && !l.synced {
		l.rest = append(l.rest, Event[K, T]{Type: syncedMark})
	}
	l.news.Store(int64(len(l.rest)))
	return true
}

// news returns what leads a handler that is at position of the log to the state now.
func (o *overrun[K, T]) news(position uint64, now store.Snapshot[K, T], initial bool) (news []Event[K, T]) {
	seen := o.seen(position)
	for key, obj := range now.All() {
		old, had := seen[key]
		delete(seen, key)
		switch {
		case !had:
			news = append(news, Event[K, T]{Type: Added, Initial: initial, Key: key, Object: obj})
		case !same(old, obj):
			news = append(news, Event[K, T]{Type: Updated, Key: key, Object: obj, Old: old})
		}
	}
	for key, old := range seen {
		news = append(news, Event[K, T]{Type: Deleted, FinalStateUnknown: true, Key: key, Object: old, Old: old})
	}
	return news
}

// seen returns what a handler at position has seen last of each key: the store as it was
// then, taken back event by event.
func (o *overrun[K, T]) seen(position uint64) map[K]T {
	seen := make(map[K]T, o.then.Len())
	for key, obj := range o.then.All() {
		seen[key] = obj
	}
	for n := len(o.missed) - 1; n >= int(position-o.from); n-- {
		switch ev := &o.missed[n]; ev.Type {
		case initialMark:
			clear(seen)
		case Added:
			delete(seen, ev.Key)
		case Updated, Deleted:
			seen[ev.Key] = ev.Old
		}
	}
	return seen
}

// same reports whether two objects are the same one: identical pointers, or equal values.
func same[T any](a, b T) bool {
	v := reflect.ValueOf(&a).Elem()
	if v.Comparable() {
		return any(a) == any(b)
	}
	return reflect.DeepEqual(a, b)
}
