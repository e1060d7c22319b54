package reflector

import (
	"context"
	"iter"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Source is a typed lister-watcher of one collection: one resource, with its namespace
// and selectors already chosen. client.Resource and the in-memory server of package fake
// are sources.
//
// A Reflector uses a Source from one goroutine at a time. A Source that is shared by
// several reflectors must be safe for concurrent use.
type Source[T any] interface {
	// Resource names the collection in errors and logs, such as "pods" or
	// "deployments.apps in namespace prod". It never changes.
	Resource() string

	// List asks for one page (the whole collection unless opts.Limit is set) and passes
	// each object to yield while it is being decoded, as an Added event with the object's
	// own resourceVersion. It returns the list's metadata: the resourceVersion to watch
	// from, and the token of the next page, empty after the last one.
	//
	// An object that cannot be decoded is yielded as an *ObjectError with a zero event;
	// the rest of the page goes on. When yield returns false, List stops reading and
	// returns ErrStopped. Any other error ends the list: what was yielded before it is
	// not the whole collection. A refusal by the server is an *errors.StatusError of
	// k8s.io/apimachinery/pkg/api/errors, wrapped or not.
	List(ctx context.Context, opts metav1.ListOptions, yield func(Event[T], error) bool) (metav1.ListMeta, error)

	// Watch returns the events after opts.ResourceVersion. Ranging over it opens the
	// request and leaving the loop closes it, so the sequence can be used once and a
	// sequence that is never used holds nothing.
	//
	// A pair with an *ObjectError concerns one event and the sequence goes on. Any other
	// error is the last pair. A sequence that ends without one was closed by the server
	// in order, which it does after opts.TimeoutSeconds. A Status sent as an ERROR event
	// and a Status that refuses the request are both *errors.StatusError.
	//
	// With opts.SendInitialEvents the watch begins as a streaming list: the objects that
	// there are, as Added, and a Bookmark with InitialEventsEnd. A source that cannot do so
	// refuses, as servers do that cannot: with a Status of code 400 or 422, or with
	// errors.ErrUnsupported.
	Watch(ctx context.Context, opts metav1.ListOptions) iter.Seq2[Event[T], error]
}

// Server is what a [Source] can implement beside if it speaks to an API server. A list of it
// always has a version.
type Server interface {
	// Breaker returns what is known of the connection to the server: the same for all sources
	// that share one, and the same in each call. Nil is no Server.
	Breaker() *Breaker
}

// breakerOf returns the breaker of a source, or one of its own if it has none.
func breakerOf(source any) (b *Breaker, isServer bool) {
	if s, ok := source.(Server); ok {
		if b := s.Breaker(); b != nil {
			return b, true
		}
	}
	return new(Breaker), false
}
