package informer

// Handler gets the changes of a cache. See the package documentation for its guarantees.
type Handler[K comparable, T any] interface {
	// Handle is called for one event at a time, from the handler's own goroutine. If an object
	// was deleted and created again while no watch saw it, Handle gets one Updated event that
	// is flagged Replaced.
	Handle(Event[K, T])
}

// HandlerFunc is a function that is a [Handler].
type HandlerFunc[K comparable, T any] func(Event[K, T])

// Handle calls f.
func (f HandlerFunc[K, T]) Handle(ev Event[K, T]) { f(ev) }

// HandlerFuncs is a [Handler] with one function for each type of event. A nil function skips
// its events; at least one must be set. Updated is also called for a new object that replaces
// another under the same key: see Event.Replaced.
type HandlerFuncs[K comparable, T any] struct {
	Added, Updated, Deleted func(Event[K, T])
}

// Handle calls the function for ev's type.
func (h HandlerFuncs[K, T]) Handle(ev Event[K, T]) {
	var f func(Event[K, T])
	switch ev.Type {
	case Added:
		f = h.Added
	case Updated:
		f = h.Updated
	case Deleted:
		f = h.Deleted
	}
	if f != nil {
		f(ev)
	}
}

// isNil reports whether h has nothing to call.
func isNil[K comparable, T any](h Handler[K, T]) bool {
	switch h := h.(type) {
	case nil:
		return true
	case HandlerFunc[K, T]:
		return h == nil
	case HandlerFuncs[K, T]:
		return h.Added == nil && h.Updated == nil && h.Deleted == nil
	}
	return false
}
