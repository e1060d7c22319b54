package informer

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/kinform/kinform/internal/logs"
	"github.com/kinform/kinform/reflector"
)

// lateAfter is how long an informer waits for a namespace that brings nothing, once another one has
// listed.
const lateAfter = 10 * time.Second

// LateNamespaceError says that an informer no longer waits for the first list of a namespace in
// this run. Another namespace has listed, and this one has brought nothing for 10 seconds since
// then: its requests fail, or the server does not answer them. The pause after an earlier failure
// does not count, because all namespaces come back together if the server was away. A single
// namespace that fails must not stop the others, as when a webhook cannot convert its objects.
//
// The informer has synced without the namespace, or does so now. The objects of the namespace are
// missing, or as old as at the end of the last run. Unlike a refused namespace, it counts as being
// listed, so a controller's keys in it wait. The namespace keeps trying to list, and its objects
// come when it succeeds.
//
// Options.OnError gets one such error for each late namespace, at most once in a run.
type LateNamespaceError struct {
	// Resource is the name of the namespace's source, Namespace its own.
	Resource, Namespace string
	// Failing says since when and why its requests fail. It is zero if they have no answer yet.
	Failing reflector.Failing
}

func (e *LateNamespaceError) Error() string {
	text := fmt.Sprintf("%s: namespace %q has not listed, so its objects are missing or old; the others no longer wait for it", e.Resource, e.Namespace)
	if f := e.Failing; f.Err != nil {
		return fmt.Sprintf("%s; it fails since %s: %v", text, f.Since.Format(time.RFC3339), f.Err)
	}
	return text + "; the server does not answer"
}

// Unwrap returns the last failure, nil if there is none.
func (e *LateNamespaceError) Unwrap() error { return e.Failing.Err }

// LogValue implements slog.LogValuer: a group of message, resource and namespace, and of since and
// error if requests fail.
func (e *LateNamespaceError) LogValue() slog.Value {
	attrs := []slog.Attr{
		slog.String(logs.Message, "namespace is late"), slog.String("resource", e.Resource), slog.String("namespace", e.Namespace),
	}
	if f := e.Failing; f.Err != nil {
		attrs = append(attrs, slog.Time("since", f.Since), slog.Any("error", f.Err))
	}
	return slog.GroupValue(attrs...)
}
