package reflector

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kinform/kinform/internal/keytext"
	"github.com/kinform/kinform/internal/logs"
)

// ObjectError reports one object that could not be used: it could not be decoded, is of the
// wrong kind, or has no name. The list or watch that carried it continues.
type ObjectError struct {
	// Resource is the collection's name, as [Source.Resource] returns it.
	Resource string
	// Key is "namespace/name", or "name". Empty if it is not known.
	Key string
	// ResourceVersion is the object's own; empty where it is not known.
	ResourceVersion string
	// Type is the watch event's. Zero in a list, and if it is not known.
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

// LogValue implements slog.LogValuer. The group holds message, resource, key, resourceVersion
// and error, which is the cause. The error of a watch event adds event, its type.
func (e *ObjectError) LogValue() slog.Value {
	attrs := []slog.Attr{
		slog.String(logs.Message, "object is skipped"),
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

// RequestError reports a list or watch that failed. The reflector retries by itself.
type RequestError struct {
	// Verb is "list", "watch", or "watchlist" for a streaming list.
	Verb string
	// Resource is the collection's name, as [Source.Resource] returns it.
	Resource string
	// ResourceVersion is the version that the list or watch asked for. For a later page of a list,
	// it is the version that the first page asked for.
	ResourceVersion string
	// RetryIn is how long the reflector waits before it continues. Zero means at once or, after an
	// error of a source that does not return, once the source has returned.
	RetryIn time.Duration
	// Err is the cause, never nil.
	Err error
}

func (e *RequestError) Error() string {
	when := "at once"
	switch {
	case e.RetryIn > 0:
		when = "in " + e.RetryIn.Round(time.Millisecond).String()
	case errors.Is(e.Err, errNotReturning):
		when = "once it has returned"
	}
	text := fmt.Sprintf("%s: %s at resourceVersion %q failed, trying again %s: %s",
		e.Resource, e.Verb, e.ResourceVersion, when, e.cause())
	if hint := e.hint(); hint != "" {
		text += " (" + hint + ")"
	}
	return text
}

// hint says what to look at, empty for nothing. Kubernetes' own groups have no dot, or end in
// .k8s.io, as some groups of CustomResourceDefinitions do.
func (e *RequestError) hint() string {
	switch {
	case apierrors.IsForbidden(e.Err) && e.Verb == "watch":
		return "without the verb watch, the cache is only as new as its last list"
	case !apierrors.IsNotFound(e.Err):
		return ""
	}
	name, selection := keytext.Resource(e.Resource)
	scope := ""
	if strings.HasPrefix(selection, "in namespace ") {
		scope = " Does the kind have namespaces?"
	}
	switch plural, group, _ := strings.Cut(name, "."); {
	case !strings.Contains(group, "."):
		return "does the server serve this resource in this API version?" + scope + " See kubectl api-resources; in a test, call fake.Register"
	case strings.HasSuffix(group, ".k8s.io"):
		return "does the server serve this API version? If the kind has a CustomResourceDefinition: is it installed?" + scope + " In a test, call fake.Register"
	default:
		return fmt.Sprintf("is the CustomResourceDefinition installed, and is its plural %q?%s In a test, call fake.Register", plural, scope)
	}
}

// cause is the text of Err, without the verb and the resource that errors of a client begin with.
func (e *RequestError) cause() string {
	verb := e.Verb
	if verb == "watchlist" {
		verb = "watch"
	}
	return strings.TrimPrefix(e.Err.Error(), verb+" "+e.Resource+": ")
}

// Unwrap returns the cause.
func (e *RequestError) Unwrap() error { return e.Err }

// LogValue implements slog.LogValuer. The group holds message, resource, verb, resourceVersion,
// retryIn and error, which is the cause. A 404, and a 403 of a watch, add hint.
func (e *RequestError) LogValue() slog.Value {
	message := e.Verb + " failed"
	if errors.Is(e.Err, ErrRestored) {
		message = "the server was restored from a backup" // with its own message, so that the log's limit does not omit it
	}
	attrs := []slog.Attr{
		slog.String(logs.Message, message),
		slog.String("resource", e.Resource),
		slog.String("verb", e.Verb),
		slog.String("resourceVersion", e.ResourceVersion),
		slog.Duration("retryIn", e.RetryIn),
		slog.Any("error", e.Err),
	}
	if hint := e.hint(); hint != "" {
		attrs = append(attrs, slog.String("hint", hint))
	}
	return slog.GroupValue(attrs...)
}

// Lasting reports whether the same request will fail in the same way until somebody changes
// something: permissions, certificates, the URL, the resources served. The reflector retries
// nevertheless. These are lasting:
//
//   - Refusals of the client or the request: 4xx other than 408, 409, 410, 425 and 429,
//     redirections, and 501. 400 and 422 are lasting only at resourceVersion "" and "0",
//     because elsewhere they may be about the version.
//   - Answers that are not the collection ([ErrUnusable], or a list without a version).
//   - Failed TLS: a certificate that the client does not trust, one that the server refuses,
//     and servers without TLS.
//
// These are not lasting: connections that are refused or break, names that do not resolve,
// timeouts, 429 and 5xx, and a streaming list that LIST follows at once, because LIST may
// succeed.
func (e *RequestError) Lasting() bool {
	return (e.Verb != "watchlist" || e.RetryIn > 0) && isLasting(e.Err, e.ResourceVersion)
}

// SlowListError warns that a streaming list has stalled before its end. It is not a failure:
// the reflector waits on, for up to a minute in all or for Tuning.IdleTimeout if that is
// less, and then asks for the list in pages. If that was the server's first streaming list, or the
// second such in a row, it asks for all later ones in pages, too.
type SlowListError struct {
	// Resource is the collection's name, as [Source.Resource] returns it.
	Resource string
	// ResourceVersion is the version that the list asked for.
	ResourceVersion string
	// Quiet is how long nothing has come, as a lower bound.
	Quiet time.Duration
}

func (e *SlowListError) Error() string {
	return fmt.Sprintf("%s: streaming list at resourceVersion %q: nothing for %v, still waiting for the bookmark at its end",
		e.Resource, e.ResourceVersion, e.Quiet.Round(time.Millisecond))
}

// LogValue implements slog.LogValuer. The group holds message, resource, verb, resourceVersion,
// quiet and error.
func (e *SlowListError) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String(logs.Message, "watchlist is slow"),
		slog.String("resource", e.Resource),
		slog.String("verb", "watchlist"),
		slog.String("resourceVersion", e.ResourceVersion),
		slog.Duration("quiet", e.Quiet),
		slog.String("error", "nothing comes"),
	)
}
