package informer

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/kinform/kinform/internal/logs"
	"github.com/kinform/kinform/internal/usercode"
	"github.com/kinform/kinform/reflector"
)

var (
	// ErrNoHandler is returned by AddHandler for a handler that has nothing to call.
	ErrNoHandler = errors.New("informer: handler is nil")

	// ErrNoKeyFunc is returned by New for a nil key function.
	ErrNoKeyFunc = errors.New("informer: key function is nil")

	// ErrRunning is returned by Run while another call of it has not returned.
	ErrRunning = errors.New("informer: is running")

	// ErrNoVersion is returned by RecordWrite and RecordDelete without a resourceVersion, or with one
	// that cannot be compared (package k8s.io/apimachinery/pkg/util/resourceversion).
	ErrNoVersion = errors.New("informer: no resourceVersion that compares")

	// ErrTooManyWrites is returned by RecordWrite and RecordDelete when the watch is too far behind
	// this process's writes.
	ErrTooManyWrites = errors.New("informer: too many writes ahead of the watch")

	// ErrHandlerBehind ends a wait for the store while a handler is too far behind. The error
	// that wraps it names the handler. Without it, a handler that waits could block itself.
	ErrHandlerBehind = errors.New("informer: the store waits for a handler that is too far behind")

	// ErrStopped is returned by calls that need a running informer, after Run has returned and
	// before it is called again.
	ErrStopped = errors.New("informer: stopped")

	// ErrZeroKey is the error for an object whose key is the zero K: most likely it was never
	// set. The value is the same in all packages that export it.
	ErrZeroKey = usercode.ErrZeroKey

	// ErrGoexit is the Value of a [PanicError] for a function that called runtime.Goexit, as
	// testing.T.FailNow does. The value is the same in all packages that export it.
	ErrGoexit = usercode.ErrGoexit
)

// PanicError is a panic in a function of the user, or a call of runtime.Goexit there: errors.Is
// then finds [ErrGoexit]. Its fields are Where (which function it was, such as "handler"), Name (of
// the handler or index), Resource, Key, Value (given to panic) and Stack.
//
// It is one type in the whole module: errors.As finds it as *informer.PanicError wherever the panic
// was. The packages index, queue, store and client export it too, for programs that do not import this one.
type PanicError = usercode.PanicError

// NotSyncingError says why a cache does not fill: the list or watch fails in a way that
// lasts until somebody changes something. The informer goes on trying.
type NotSyncingError struct {
	// Resource is the collection's name, as reflector.Source.Resource returns it.
	Resource string
	// Err is the *reflector.RequestError of the last try, of which Lasting is true. What it
	// wraps is, for one, an *errors.StatusError of k8s.io/apimachinery/pkg/api/errors:
	// Unauthorized, Forbidden, NotFound (no such resource, such as one whose
	// CustomResourceDefinition is missing) or MethodNotAllowed (the resource cannot be listed
	// or watched); or that the answer is no list (client.ErrNotKubernetes, client.ErrTable,
	// client.ErrWrongKind); or that the server's certificate is not trusted.
	Err error
}

func (e *NotSyncingError) Error() string { return "cache does not sync: " + e.Err.Error() }

// Unwrap returns Err.
func (e *NotSyncingError) Unwrap() error { return e.Err }

// LogValue implements slog.LogValuer: the group of Err.
func (e *NotSyncingError) LogValue() slog.Value { return slog.GroupValue(logs.Attrs(e.Err)...) }

// UnsyncedError is what a wait for a cache ends with when its context does, and says how far the
// informer is.
type UnsyncedError struct {
	// Resource is the collection's name, as reflector.Source.Resource returns it.
	Resource string
	// Failing says since when and why requests fail, and when the next one follows. Zero if
	// none failed: the list is under way, or Run has not begun.
	Failing reflector.Failing
	// Err is the context's error.
	Err error
}

func (e *UnsyncedError) Error() string {
	text := e.Resource + ": the cache is not filled: " + e.Err.Error()
	if f := e.Failing; f.Err != nil {
		text += fmt.Sprintf("; requests fail since %s, the next one follows by %s; the last: %v",
			f.Since.Format(time.RFC3339), f.Next.Format(time.RFC3339), f.Err)
	}
	return text
}

// Unwrap returns Err. What requests fail with is not in the chain: a timeout of theirs would
// pass for one of the wait.
func (e *UnsyncedError) Unwrap() error { return e.Err }

// LogValue implements slog.LogValuer: a group of resource and error; and since, next and
// failure if requests fail.
func (e *UnsyncedError) LogValue() slog.Value {
	attrs := []slog.Attr{slog.String("resource", e.Resource), slog.Any("error", e.Err)}
	if f := e.Failing; f.Err != nil {
		attrs = append(attrs, slog.Time("since", f.Since), slog.Time("next", f.Next), slog.Any("failure", f.Err))
	}
	return slog.GroupValue(attrs...)
}

// MutationError says that an object was written to which the informer shares: by a handler,
// or by somebody who has it from the store. See [Mutations]. Its later states are as the
// server has them; this one stays as it is.
type MutationError struct {
	// Resource is the collection's name, Key the object's.
	Resource, Key string
	// Handlers are the names of those that may have done it, in alphabetical order: found
	// after a handler's call, those that were being called with the object; otherwise all
	// that were given it. Empty if none was: somebody else has it from the store.
	Handlers []string
	// Diff is the difference, as package github.com/google/go-cmp/cmp writes it, with
	// - for what the server sent. It is for people; its form changes.
	Diff string

	diff func() string // makes Diff; nil once it is made
}

func (e *MutationError) Error() string {
	return fmt.Sprintf("%s: the shared object %q was written to; handlers that had it: %q; difference:\n%s", e.Resource, e.Key, e.Handlers, e.Diff)
}

// LogValue implements slog.LogValuer: a group of resource, key, handlers, diff, and error.
func (e *MutationError) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String("resource", e.Resource),
		slog.String("key", e.Key),
		slog.Any("handlers", e.Handlers),
		slog.String("error", "the shared object was written to"),
		slog.String("diff", e.Diff),
	)
}

// LostWriteError says that the watch did not bring what [Informer.RecordWrite] or
// [Informer.RecordDelete] told of, and that reads are those of the store again. The watch is far
// behind, the object does not belong to the informer's collection, or the server has lost
// the write.
type LostWriteError struct {
	// Resource is the collection's name, Key the object's.
	Resource, Key string
	// ResourceVersion is that of the write.
	ResourceVersion string
	// Deleted says that it was a deletion.
	Deleted bool
}

func (e *LostWriteError) Error() string {
	return fmt.Sprintf("%s: %s of object %q at resourceVersion %s", e.Resource, e.what(), e.Key, e.ResourceVersion)
}

func (e *LostWriteError) what() string {
	if e.Deleted {
		return "the watch did not bring the deletion"
	}
	return "the watch did not bring the write"
}

// LogValue implements slog.LogValuer: a group of resource, key, resourceVersion, and error.
func (e *LostWriteError) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String("resource", e.Resource),
		slog.String("key", e.Key),
		slog.String("resourceVersion", e.ResourceVersion),
		slog.String("error", e.what()),
	)
}
