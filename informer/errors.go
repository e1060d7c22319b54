package informer

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/kinform/kinform/internal/logs"
	"github.com/kinform/kinform/internal/mistake"
	"github.com/kinform/kinform/internal/usercode"
	"github.com/kinform/kinform/reflector"
)

var (
	// ErrInvalid is matched by the errors of mistakes in the program: a nil key function, handler, informer or index, a
	// text that cannot be the name of a namespace. The text says what to change. It is the value of
	// package controller.
	ErrInvalid = mistake.Err

	// ErrRunning is returned by Run while another call of Run is in progress.
	ErrRunning = errors.New("informer: is running")

	// errContentsVary is reported to Options.OnError, once, if the contents of an object change
	// back and forth at one version: earlier contents have come back twice. The error that wraps it
	// names the resource and the object. Most likely several servers behind one address have
	// different definitions or versions. The store has the contents of the newest list.
	errContentsVary = errors.New("contents vary without a new version: do all servers behind the address agree?")

	// ErrHandlerBehind ends a wait for the store while a handler is too far behind. The error
	// that wraps it names the handler. Without this error, a waiting handler could block
	// itself.
	ErrHandlerBehind = errors.New("informer: the store waits for a handler that is too far behind")

	// ErrStopped is returned by calls that need a running informer, between the end of Run and
	// its next call.
	ErrStopped = errors.New("informer: stopped")
)

// errTooManyWrites is returned by RecordWrite and RecordGone when the watch is too far behind this process's writes.
var errTooManyWrites = errors.New("informer: too many writes ahead of the watch")

// The mistakes, which match ErrInvalid.
var (
	errNoKeyFunc    error = mistake.Text("the key function is nil: pass store.ObjectKey or your own")
	errNoNamespaces error = mistake.Text("give a set of namespaces, and a function for their sources")
	errNamespace    error = mistake.Text("not the name of a namespace")
)

// PanicError reports that a function of the user panicked or called runtime.Goexit. In the
// latter case Value says that the call ended its goroutine. Its fields are Where (the kind of function, such as
// "handler"), Name (of the handler or index), Resource, Key, Value (the argument of panic) and
// Stack.
//
// The whole module has one such type: errors.As finds an *informer.PanicError no matter which
// package called the function: the key function or Options.Unchanged of a store, an index function, decoding (a method
// UnmarshalJSON), the function of queue.Run, a Limiter, Options.Class, or OnError.
type PanicError = usercode.PanicError

// NotSyncingError says why a cache does not fill: the last list failed in a way that lasts
// until somebody changes something. The informer keeps trying. See [Informer.WaitForSync].
type NotSyncingError struct {
	// Resource is the collection's name, as reflector.Source.Resource returns it.
	Resource string
	// Err is the *reflector.RequestError of the last try. Its Lasting method returns true. It
	// wraps, for example, one of these:
	//
	//   - an *errors.StatusError of k8s.io/apimachinery/pkg/api/errors: Unauthorized,
	//     Forbidden, NotFound (no such resource, for example because its
	//     CustomResourceDefinition is missing) or MethodNotAllowed (the resource cannot be
	//     listed or watched)
	//   - reflector.ErrUnusable: the answer is not a list
	//   - a TLS error: the server's certificate is not trusted
	Err error
}

func (e *NotSyncingError) Error() string { return "cache does not sync: " + e.Err.Error() }

// Unwrap returns Err.
func (e *NotSyncingError) Unwrap() error { return e.Err }

// LogValue implements slog.LogValuer: the group of Err.
func (e *NotSyncingError) LogValue() slog.Value { return slog.GroupValue(logs.Attrs(e.Err)...) }

const neverRan = "nobody has called Run of the informer, the handle or the factory"

// UnsyncedError is returned by a wait for a cache whose context ended first. It says how far
// the informer got.
type UnsyncedError struct {
	// Resource is the collection's name, as reflector.Source.Resource returns it.
	Resource string
	// Failing says since when and why requests fail, and when the next one follows. It is zero
	// if none failed: then the list is under way, or NeverRan is true.
	Failing reflector.Failing
	// NeverRan says that Run was not called.
	NeverRan bool
	// Why says in words what the cache waits for, such as "the list is slow: nothing has come for 40s". It is meant for
	// people, and its form may change.
	Why string
	// Err is the context's error.
	Err error
}

func (e *UnsyncedError) Error() string {
	text := e.Resource + ": the cache is not filled: " + e.Err.Error()
	if e.Why != "" {
		text += "; " + e.Why
	}
	return text
}

// Unwrap returns Err. The requests' own failure is not in the chain: its timeout would look
// like the timeout of the wait.
func (e *UnsyncedError) Unwrap() error { return e.Err }

// LogValue implements slog.LogValuer: a group of message, resource and error, of hint if Run was
// not called, of since, next and failure if requests fail, and otherwise of why.
func (e *UnsyncedError) LogValue() slog.Value {
	attrs := []slog.Attr{
		slog.String(logs.Message, "cache is not filled"), slog.String("resource", e.Resource), slog.Any("error", e.Err),
	}
	switch f := e.Failing; {
	case e.NeverRan:
		attrs = append(attrs, slog.String("hint", neverRan))
	case f.Err != nil:
		attrs = append(attrs, slog.Time("since", f.Since), slog.Time("next", f.Next), slog.Any("failure", f.Err))
	case e.Why != "":
		attrs = append(attrs, slog.String("why", e.Why))
	}
	return slog.GroupValue(attrs...)
}

// MutationError says that code wrote to an object that the informer shares: a handler, or a
// caller that has it from the store. See [Mutations]. The damage stays in this state of the
// object. Later states come from the server and are not affected.
type MutationError struct {
	// Resource is the collection's name, Key the object's.
	Resource, Key string
	// Handlers are the names of the suspects, in alphabetical order. If the write was found
	// after a handler's call, they are the handlers that were being called with the object.
	// Otherwise they are all handlers that got it. If there are none, the writer has the
	// object from the store.
	Handlers []string
	// Diff names the fields that differ: lines with - are the server's values, lines with + the
	// present ones. It is meant for people, and its form may change.
	Diff string
}

func (e *MutationError) Error() string {
	return fmt.Sprintf("%s: the shared object %q was written to; handlers that had it: %q; difference:\n%s", e.Resource, e.Key, e.Handlers, e.Diff)
}

// LogValue implements slog.LogValuer: a group of message, resource, key, handlers, diff, and error.
func (e *MutationError) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String(logs.Message, "shared object was written to"),
		slog.String("resource", e.Resource),
		slog.String("key", e.Key),
		slog.Any("handlers", e.Handlers),
		slog.String("error", "the shared object was written to"),
		slog.String("diff", e.Diff),
	)
}

// LostWriteError says that list and watch did not reach a write within two minutes after
// [Informer.RecordWrite] or [Informer.RecordGone] recorded it, or that a restored server has lost
// the write. Reads keep the write until list or watch bring more: see [Informer.RecordWrite].
// Usually the cause is a watch that brings nothing.
type LostWriteError struct {
	// Resource is the collection's name, Key the object's.
	Resource, Key string
	// ResourceVersion is the write's.
	ResourceVersion string
	// Deleted says that the write was a deletion.
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

// LogValue implements slog.LogValuer: a group of message, resource, key, resourceVersion, and
// error.
func (e *LostWriteError) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String(logs.Message, "recorded write is lost"),
		slog.String("resource", e.Resource),
		slog.String("key", e.Key),
		slog.String("resourceVersion", e.ResourceVersion),
		slog.String("error", e.what()),
	)
}
