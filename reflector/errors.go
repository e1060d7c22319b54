package reflector

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"
)

var (
	// ErrStopped is returned by [Source.List] when its yield function returned false.
	ErrStopped = errors.New("list stopped by its caller")

	// ErrNoSource and ErrNoSink are returned by [New] for a nil argument.
	ErrNoSource = errors.New("reflector: source is nil")
	ErrNoSink   = errors.New("reflector: sink is nil")

	// ErrStarted is returned by a second call of [Reflector.Run].
	ErrStarted = errors.New("reflector: Run was called before")

	// ErrOutOfOrder ends a watch in which an event came after a newer one.
	ErrOutOfOrder = errors.New("watch event is older than one before it")

	// ErrRestored says that the server was restored from a backup: its history is not the one
	// that was seen, or ends before it. The collection is listed again, and what the sink holds
	// is not compared by versions.
	ErrRestored = errors.New("the server went back in time: it was restored from a backup")

	// ErrNoName is the cause of an ObjectError for an object without metadata.name: it
	// can be none that a sink holds.
	ErrNoName = errors.New("object has no metadata.name")

	// ErrUnreadableDelete ends a watch in which the object of a deletion could not be
	// read. A list will show what is gone.
	ErrUnreadableDelete = errors.New("object of a deletion could not be read")

	// ErrListTooOld discards a list that is older than what was already seen, which a
	// server does that reads from a cache that lags (kubernetes#59848).
	ErrListTooOld = errors.New("list is older than what was already seen")

	// ErrBadPage discards a list when a page is not the next one of it: without a
	// resourceVersion, older than the first, or with a token that was there before.
	ErrBadPage = errors.New("page does not go on where the one before ended")

	// ErrNoResourceVersion discards a list without a version, of a source that had versions
	// before. A source that has none at all is listed again whenever its watch ends.
	ErrNoResourceVersion = errors.New("list has no resourceVersion: not a Kubernetes list")

	// ErrNoInitialEventsEnd ends a streaming list that has no bookmark at its end: the
	// server closed it before, or is one that does not know of streaming lists and takes
	// the request for a plain watch.
	ErrNoInitialEventsEnd = errors.New("streaming list without a bookmark at its end")

	// ErrUnusable is matched by the error of a source whose server answers with something
	// else than the collection, such as the page of a proxy that asks for a login. See
	// [RequestError.Lasting].
	ErrUnusable = errors.New("not an answer of a list or watch")

	// ErrUnanswered ends a request that no answer came to while its server is known to be
	// away, so that another connection can be tried.
	ErrUnanswered = errors.New("no answer from a server that is away")

	// ErrShortWatch reports a watch that ended at once and moved no resourceVersion.
	ErrShortWatch = errors.New("watch ended within a second and brought no news")
)

// ObjectError reports one object that could not be used: not decodable, of the wrong
// kind, without a name. The list or watch that carried it goes on.
type ObjectError struct {
	// Resource is the collection's name, as [Source.Resource] returns it.
	Resource string
	// Key is "namespace/name", or "name"; empty where it is not known.
	Key string
	// ResourceVersion is the object's own; empty where it is not known.
	ResourceVersion string
	// Type is that of the watch event; zero in a list, and where it is not known.
	Type EventType
	// Err is the cause, never nil.
	Err error
}

func (e *ObjectError) Error() string {
	var b strings.Builder
	b.WriteString(e.Resource)
	b.WriteString(": object ")
	if e.Key == "" {
		b.WriteString("of unknown key")
	} else {
		fmt.Fprintf(&b, "%q", e.Key)
	}
	if e.ResourceVersion != "" {
		fmt.Fprintf(&b, " at resourceVersion %s", e.ResourceVersion)
	}
	fmt.Fprintf(&b, " skipped: %v", e.Err)
	return b.String()
}

// Unwrap returns the cause.
func (e *ObjectError) Unwrap() error { return e.Err }

// LogValue implements slog.LogValuer: a group of resource, key, resourceVersion, and error,
// which is the cause; and event, the type, for one of a watch.
func (e *ObjectError) LogValue() slog.Value {
	attrs := []slog.Attr{
		slog.String("resource", e.Resource),
		slog.String("key", e.Key),
		slog.String("resourceVersion", e.ResourceVersion),
		slog.Any("error", e.Err),
	}
	if e.Type != 0 {
		attrs = append(attrs, slog.String("event", e.Type.String()))
	}
	return slog.GroupValue(attrs...)
}

// RequestError reports a list or watch that failed. The reflector goes on by itself.
type RequestError struct {
	// Verb is "list", "watch", or "watchlist" for a streaming list.
	Verb string
	// Resource is the collection's name, as [Source.Resource] returns it.
	Resource string
	// ResourceVersion is what the list or watch asked for. The later pages of a list do
	// not ask by themselves; it stands for them too.
	ResourceVersion string
	// RetryIn is how long the reflector will wait before it goes on; zero is at once.
	RetryIn time.Duration
	// Err is the cause, never nil.
	Err error
}

func (e *RequestError) Error() string {
	when := "at once"
	if e.RetryIn > 0 {
		when = "in " + e.RetryIn.Round(time.Millisecond).String()
	}
	return fmt.Sprintf("%s: %s at resourceVersion %q failed, going on %s: %v",
		e.Resource, e.Verb, e.ResourceVersion, when, e.Err)
}

// Unwrap returns the cause.
func (e *RequestError) Unwrap() error { return e.Err }

// LogValue implements slog.LogValuer: a group of resource, verb, resourceVersion, retryIn,
// and error, which is the cause.
func (e *RequestError) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String("resource", e.Resource),
		slog.String("verb", e.Verb),
		slog.String("resourceVersion", e.ResourceVersion),
		slog.Duration("retryIn", e.RetryIn),
		slog.Any("error", e.Err),
	)
}

// Lasting reports whether the same request will fail in the same way until somebody
// changes something: permissions, certificates, the URL, what the server serves. The
// reflector tries again nevertheless. Lasting are
//
//   - what the server says of the client or of the request: 4xx other than 408, 409, 410,
//     425 and 429, redirections, and 501; but 400 and 422 only of resourceVersion "" and
//     "0", since they may be about the version;
//   - answers that are not the collection ([ErrUnusable], [ErrNoResourceVersion]);
//   - TLS that is not agreed upon: a certificate that is not trusted, or refused by the
//     server, and servers that do not speak it.
//
// Not lasting are connections that are refused or break, names that do not resolve,
// timeouts, 429 and 5xx; nor is a streaming list that LIST follows at once, which may do.
func (e *RequestError) Lasting() bool {
	return (e.Verb != "watchlist" || e.RetryIn > 0) && isLasting(e.Err, e.ResourceVersion)
}

// SlowListError warns that a streaming list has stopped before its end. It is no failure:
// the reflector goes on waiting, for a minute in all or Options.IdleTimeout if that is
// less, and then asks for the list in pages.
type SlowListError struct {
	// Resource is the collection's name, as [Source.Resource] returns it.
	Resource string
	// ResourceVersion is what the list asked for.
	ResourceVersion string
	// Quiet is how long nothing has come at least.
	Quiet time.Duration
}

func (e *SlowListError) Error() string {
	return fmt.Sprintf("%s: streaming list at resourceVersion %q: nothing for %v, still waiting for the bookmark at its end",
		e.Resource, e.ResourceVersion, e.Quiet.Round(time.Millisecond))
}

// LogValue implements slog.LogValuer: a group of resource, verb, resourceVersion, quiet, and
// error.
func (e *SlowListError) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String("resource", e.Resource),
		slog.String("verb", "watchlist"),
		slog.String("resourceVersion", e.ResourceVersion),
		slog.Duration("quiet", e.Quiet),
		slog.String("error", "nothing comes"),
	)
}
