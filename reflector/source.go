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
//
// List and Watch return soon after ctx is done. The reflector ends requests that take too long
// in this way, and nothing else ends a call that ignores its context: the reflector reports it after 30 seconds.
//
// Sources of this module also need not decode an object of a list that the sink has already, if its key, UID, version
// and the sum of its bytes are the same. Decoding is most of the cost of a list, and most objects of a relist are
// unchanged. client.Resource and the sources of package fake do that, and so do [Map], [Filter], [Shard] and [Tweak]
// over them. Your own wrapper of such a source decodes everything.
//
// A Source that counts what it reads, for [Stats], also has the method
//
//	Received() (bytes uint64, decoding time.Duration)
//
// It returns the bytes of all response bodies so far, after decompression, and the time spent decoding them, without the
// waits for the network. Any goroutine may call it.
type Source[T any] interface {
	// Resource names the collection in errors and logs, such as "pods" or "deployments.apps in
	// namespace prod". It never changes.
	Resource() string

	// List asks for one page (the whole collection unless opts.Limit is set). It passes each
	// object to yield during decoding, as an Added event with the object's own
	// resourceVersion. It returns the list's metadata: the resourceVersion to watch from, and
	// the token of the next page, empty after the last one.
	//
	// List yields an object that cannot be decoded as an *ObjectError with a zero event, and
	// continues with the page. When yield returns false, List stops reading and returns
	// ErrListStopped. Any other error ends the list: the objects yielded before it are not the
	// whole collection. A refusal by the server is an *errors.StatusError of
	// k8s.io/apimachinery/pkg/api/errors, wrapped or not.
	//
	// A list may have no resourceVersion. If the source is a [Server], the list is asked for again
	// after Tuning.PollInterval, and nothing is watched. For another source, the newest version of
	// the objects counts; without one, the collection is listed again whenever the watch ends.
	List(ctx context.Context, opts metav1.ListOptions, yield func(Event[T], error) bool) (metav1.ListMeta, error)

	// Watch returns the events after opts.ResourceVersion. Ranging over the sequence opens the
	// request, and leaving the loop closes it. So a sequence can be used once, and holds
	// nothing if it is never used.
	//
	// A pair with an *ObjectError concerns one event, and the sequence continues. Any other
	// error is the last pair. A sequence that ends without an error was closed by the server
	// in order, as it is after opts.TimeoutSeconds. A Status sent as an ERROR event and a
	// Status that refuses the request are both *errors.StatusError. After one without code and
	// reason, the reflector lists the collection again.
	//
	// With opts.SendInitialEvents the watch begins as a streaming list: the existing objects
	// as Added, then a Bookmark with InitialEventsEnd. A source without streaming lists
	// refuses as a server without them does, with a Status of code 400 or 422, or returns
	// errors.ErrUnsupported: then it is never asked for one again.
	Watch(ctx context.Context, opts metav1.ListOptions) iter.Seq2[Event[T], error]
}

// Server is an optional interface of a [Source] that speaks to an API server.
type Server interface {
	// Breaker returns the shared state of the connection to the server. All sources of one
	// connection return the same value, in each call. With nil, the source does not count as a
	// Server.
	Breaker() *Breaker
}

// breakerOf returns the breaker of a source that is a Server, and a new one for any other.
func breakerOf(source any) (b *Breaker, isServer bool) {
	if s, ok := source.(Server); ok {
		if b := s.Breaker(); b != nil {
			return b, true
		}
	}
	return new(Breaker), false
}
