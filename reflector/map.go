package reflector

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/internal/objid"
	"github.com/kinform/kinform/internal/objmeta"
)

// Map returns a source that converts source's objects with project, one by one as they arrive,
// so that a cache can hold a small struct where the server sends a large object. The large
// object is garbage as soon as project returns, unless the result refers to it. So copy the
// parts to keep; strings need no copy.
//
// project runs in the goroutine of the reflector, for every object listed and watched, deleted ones
// included. It may change its argument and return it, so objects in a cache of the result share no parts:
// see client.Resource.Relist. Equal arguments must give results that are
// deeply equal: otherwise a watch that breaks off may cost a list. Nor is project called for an
// object of a list that the sink has already ([Source]). If it returns an error, the
// object is reported as an [*ObjectError] and skipped, like one that could not be decoded. A panic
// in it continues as a panic whose value is an error that names the object's key.
//
// resourceVersions come from source's events, whether or not T keeps them. Map returns nil if
// source or project is nil, so that [New] refuses it.
func Map[R, T any](source Source[R], project func(R) (T, error)) Source[T] {
	if source == nil || project == nil {
		return nil
	}
	return newAdapter(adapter[R, T]{source: source, writes: true, convert: func(ev Event[R], _ bool) (Event[T], bool, error) {
		object, err := project(ev.Object)
		return Event[T]{Type: ev.Type, Idle: ev.Idle, ResourceVersion: ev.ResourceVersion, Sum: ev.Sum, Object: object}, true, err
	}})
}

// Filter returns a source of those objects of source for which keep returns true. An object that
// changes so that keep becomes false is a Deleted event with the refused state (a server's selector
// sends the state before it). An object for which keep becomes true keeps source's event. keep runs
// in the goroutine of the reflector, must change nothing, and must depend on its argument alone. A
// panic in it continues as in [Map]. Filter returns nil if source or keep is nil.
//
// Prefer a selector of the server if one can select the same objects: then the server does not
// send the others at all.
func Filter[T any](source Source[T], keep func(T) bool) Source[T] {
	if source == nil || keep == nil {
		return nil
	}
	return newAdapter(adapter[T, T]{source: source, convert: func(ev Event[T], live bool) (Event[T], bool, error) {
		switch {
		case ev.Type == Deleted || keep(ev.Object):
			return ev, true, nil
		case ev.Type == Modified:
			ev.Type = Deleted // it may have been kept before
			return ev, true, nil
		}
		skip, ok := omit(ev, live)
		return skip, ok, nil
	}})
}

// omit returns the event in place of one that is left out. In a live watch it is a bookmark,
// so that a collection of which little is kept does not fall behind the server's history.
// Initial events get none: they come in any order, so the version of one says nothing about
// the others.
func omit[T any](ev Event[T], live bool) (Event[T], bool) {
	return Event[T]{Type: Bookmark, Omitted: true, Idle: ev.Idle, ResourceVersion: ev.ResourceVersion}, live
}

// adapter is a source that changes the events of another.
type adapter[R, T any] struct {
	source Source[R]
	// convert is not called for bookmarks. live is false for the objects of a list. The event
	// is left out if the second result is false.
	convert func(ev Event[R], live bool) (Event[T], bool, error)
	writes  bool // convert may write to the objects
	// request adds to the options of each request, and checkList checks the answer to a list.
	// Both may be nil.
	request   func(*metav1.ListOptions)
	checkList func(metav1.ListMeta) error

	omittedEvents *atomic.Uint64 // initial events that were left out
}

func newAdapter[R, T any](a adapter[R, T]) *adapter[R, T] {
	a.omittedEvents = new(atomic.Uint64)
	return &a
}

// Relist implements relister if the other source does.
func (a *adapter[R, T]) Relist(self Source[T], known func(objid.Identity) bool) Source[T] {
	from, ok := a.source.(relister[R])
	if !ok || self != Source[T](a) || known == nil && a.writes {
		return nil
	}
	relist := *a
	if relist.source = from.Relist(a.source, known); relist.source == nil {
		return nil
	}
	return &relist
}

// omitter is a source that can leave out initial events. A reflector asks it for their number
// so far, from any goroutine, to tell whether the server is silent.
type omitter interface{ omitted() uint64 }

func (a *adapter[R, T]) omitted() uint64 {
	n := a.omittedEvents.Load()
	if o, ok := a.source.(omitter); ok {
		n += o.omitted()
	}
	return n
}

// Resource implements Source.
func (a *adapter[R, T]) Resource() string { return a.source.Resource() }

// Received implements readCounter with the numbers of the other source.
func (a *adapter[R, T]) Received() (bytes uint64, decoding time.Duration) {
	if m, ok := a.source.(readCounter); ok {
		return m.Received()
	}
	return 0, 0
}

// Breaker implements Server with the breaker of the other source.
func (a *adapter[R, T]) Breaker() *Breaker {
	if s, ok := a.source.(Server); ok {
		return s.Breaker()
	}
	return nil
}

// List implements Source.
func (a *adapter[R, T]) List(ctx context.Context, opts metav1.ListOptions, yield func(Event[T], error) bool) (metav1.ListMeta, error) {
	if a.request != nil {
		a.request(&opts)
	}
	page, err := a.source.List(ctx, opts, func(ev Event[R], err error) bool {
		out, ok, err := convertPair(a, ev, false, err)
		return !ok && err == nil || yield(out, err)
	})
	if err == nil && a.checkList != nil {
		err = a.checkList(page)
	}
	return page, err
}

// Watch implements Source.
func (a *adapter[R, T]) Watch(ctx context.Context, opts metav1.ListOptions) iter.Seq2[Event[T], error] {
	if a.request != nil {
		a.request(&opts)
	}
	return func(yield func(Event[T], error) bool) {
		live := opts.SendInitialEvents == nil || !*opts.SendInitialEvents
		// A watch from these versions begins with the existing objects too, in any order.
		unordered := opts.ResourceVersion == "" || opts.ResourceVersion == "0"
		for ev, err := range a.source.Watch(ctx, opts) {
			unordered = unordered && (err != nil || ev.Type == Added)
			out, ok, err := convertPair(a, ev, live, err)
			// A bookmark promises an order, so none stands for an object where there is no
			// order.
			if !ok && err == nil || unordered && out.Type == Bookmark {
				a.omittedEvents.Add(1)
				continue
			}
			if !yield(out, err) {
				return
			}
			live = live || ev.InitialEventsEnd
		}
	}
}

// convertPair converts one pair. Without an error, ok is false if there is nothing to yield.
func convertPair[R, T any](a *adapter[R, T], ev Event[R], live bool, err error) (out Event[T], ok bool, _ error) {
	if err != nil {
		return out, false, err
	}
	if ev.Recalled { // it was converted when it came, to what the reflector has
		return Event[T]{Type: ev.Type, Recalled: true, ResourceVersion: ev.ResourceVersion}, true, nil
	}
	if ev.Type == Bookmark {
		return Event[T]{Type: Bookmark, InitialEventsEnd: ev.InitialEventsEnd, Omitted: ev.Omitted, Idle: ev.Idle, ResourceVersion: ev.ResourceVersion}, true, nil
	}
	defer func() {
		if value := recover(); value != nil {
			panic(fmt.Errorf("%s: object %q: panic: %w", a.Resource(), keyOf(ev.Object), asError(value)))
		}
	}()
	if out, ok, err = a.convert(ev, live); err == nil {
		return out, ok, nil
	}
	bad := &ObjectError{Resource: a.Resource(), Key: keyOf(ev.Object), ResourceVersion: ev.ResourceVersion, Type: ev.Type, Err: err}
	if !live && ev.Type != Deleted { // in a list; a deletion that a streaming one brings is one
		bad.Type = 0
	}
	return Event[T]{}, false, bad
}

// asError returns the value of a panic as an error.
func asError(value any) error {
	if err, ok := value.(error); ok {
		return err
	}
	return errors.New(fmt.Sprint(value))
}

// keyOf returns "namespace/name" or "name". It is empty if object has no metadata.
func keyOf(object any) string {
	m, err := meta.Accessor(object)
	if err != nil {
		return ""
	}
	return objmeta.KeyText(m)
}
