package leader

import (
	"errors"
	"fmt"
	"log/slog"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/internal/logs"
	"github.com/kinform/kinform/internal/mistake"
	"github.com/kinform/kinform/internal/usercode"
	"github.com/kinform/kinform/shard/internal/leases"
)

var (
	// ErrInvalid is the cause of an error of [Elector.Err] about Options. It matches the ErrInvalid of package controller.
	ErrInvalid error = mistake.Text("not valid")

	// ErrNoFunc is returned by [Elector.Lead], with the key of the Lease, if the function is nil.
	ErrNoFunc = errors.New("the function is nil")

	// ErrRunning is returned by [Elector.Lead], with the key of the Lease, if another call of it has
	// not returned.
	ErrRunning = errors.New("Lead is running")

	// ErrExpired is the reason of a LostError if the Lease could not be renewed in time. Err of it
	// is the last failure.
	ErrExpired = errors.New("it was not renewed within the renew deadline")

	// ErrTaken is the reason of a LostError if somebody else has the Lease, or has removed the
	// holder.
	ErrTaken = errors.New("somebody has changed its holder")

	// ErrIdentity is the reason of a LostError if somebody else writes the Lease under this
	// candidate's identity.
	ErrIdentity = errors.New("another process stands for it under the same identity: give each its own Options.Identity, or none")

	// ErrOutlived is the reason of a LostError if the lease is over and work has not returned:
	// another process may lead by now.
	ErrOutlived = errors.New("work goes on although the lease is over: return when its context is done")

	// ErrChanged is the cause of a RequestError if the server has stored another holder than it was
	// sent, as a mutating webhook can do.
	ErrChanged = errors.New("the server has changed the holder: is there a webhook for Leases?")

	// ErrNoResourceVersion is the cause of a RequestError if the answer has no resourceVersion, such
	// as the answer of a proxy: a write could not be bound to it.
	ErrNoResourceVersion = errors.New("the answer has no resourceVersion: is the URL that of a Kubernetes API server?")

	// ErrNoAnswer is the cause of a RequestError if the request had no answer when the leadership
	// ended.
	ErrNoAnswer = errors.New("no answer yet")
)

// errFenced and errCut are the causes of the errors of writes that [Elector.Gate] has refused and ended.
var (
	errFenced = fmt.Errorf("leader: this process does not hold the Lease, or work has ended: %w", client.ErrNotSent)
	errCut    = errors.New("leader: the lease is over")
)

// PanicError reports that work or OnLeader panicked, or called runtime.Goexit.
type PanicError = usercode.PanicError

// LostError says that this process does not lead any more, and why. [Elector.Lead] returns it, and
// it is the cause of the end of work's context. Options.OnError gets the errors that Lead does not
// return: an ErrIdentity before this process has led, an ErrOutlived, and those after the end of
// Lead's context.
type LostError struct {
	// Lease is the namespace and name.
	Lease types.NamespacedName
	// Reason is ErrExpired, ErrTaken, ErrIdentity or ErrOutlived.
	Reason error
	// Holder is the identity in the Lease, as far as known.
	Holder string
	// Err is the last failure to renew the Lease, nil if there is none.
	Err error
}

func (e *LostError) Error() string {
	text := fmt.Sprintf("leader: Lease %s (holder %q): %v", e.Lease, e.Holder, e.Reason)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns Reason and Err.
func (e *LostError) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Reason}
	}
	return []error{e.Reason, e.Err}
}

// LogValue implements slog.LogValuer: a group of message, lease, holder, reason and error.
func (e *LostError) LogValue() slog.Value {
	attrs := []slog.Attr{
		slog.String(logs.Message, "leadership is in doubt"), slog.String("lease", e.Lease.String()),
		slog.String("holder", e.Holder), slog.String("reason", e.Reason.Error()),
	}
	if e.Err != nil {
		attrs = append(attrs, slog.Any("error", e.Err))
	}
	return slog.GroupValue(attrs...)
}

// RequestError says that a request about the Lease failed. It is tried again.
type RequestError struct {
	// Lease is the namespace and name.
	Lease types.NamespacedName
	// Verb is "get", "create" or "patch".
	Verb string
	// Err is the cause: that of the client, or one of this package.
	Err error
}

func (e *RequestError) Error() string {
	text := fmt.Sprintf("leader: %s of Lease %s failed: %v", e.Verb, e.Lease, e.Err)
	if advice := e.advice(); advice != "" {
		text += ": " + advice
	}
	return text
}

// Unwrap returns Err.
func (e *RequestError) Unwrap() error { return e.Err }

// LogValue implements slog.LogValuer: a group of message, lease, verb, error and advice.
func (e *RequestError) LogValue() slog.Value {
	attrs := []slog.Attr{
		slog.String(logs.Message, "request failed"), slog.String("lease", e.Lease.String()),
		slog.String("verb", e.Verb), slog.Any("error", e.Err),
	}
	if advice := e.advice(); advice != "" {
		attrs = append(attrs, slog.String("advice", advice))
	}
	return slog.GroupValue(attrs...)
}

// advice says what to do, if that is known.
func (e *RequestError) advice() string {
	switch {
	case apierrors.HasStatusCause(e.Err, namespaceTerminating):
		return fmt.Sprintf("the namespace %q is being deleted", e.Lease.Namespace)
	case apierrors.IsForbidden(e.Err):
		return fmt.Sprintf("grant the verbs get, create and patch on leases of coordination.k8s.io in the namespace %q (%q is missing)", e.Lease.Namespace, e.Verb)
	}
	return leases.Advice(e.Err, e.Lease.Namespace)
}

// namespaceTerminating is a cause in the refusal of a create, as in k8s.io/api/core/v1.
const namespaceTerminating metav1.CauseType = "NamespaceTerminating"

// unfit returns an error if l cannot be the answer to a request.
func unfit(sent request, l *Lease) error {
	switch {
	case l == nil || l.ResourceVersion == "":
		return ErrNoResourceVersion
	case sent.verb != verbGet && value(l.Spec.HolderIdentity) != sent.write.holder:
		return ErrChanged
	}
	return nil
}

// raced reports whether the server refused a write because the Lease is in another state than the
// write expects.
func raced(v verb, err error) bool {
	return v != verbGet && leases.Raced(v == verbCreate, err)
}
