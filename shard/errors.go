package shard

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/internal/usercode"
	"github.com/kinform/kinform/shard/internal/leases"
	"github.com/kinform/kinform/shard/internal/replica"
	"github.com/kinform/kinform/shard/leader"
)

var (
	// ErrInvalid is the cause of an error of [New] about its Options, and of [Divide] about its
	// Keys. It is the same value as leader.ErrInvalid.
	ErrInvalid = leader.ErrInvalid

	// ErrStarted is returned, with Options.Namespace and Name, by [Replica.Run] if it was called
	// before, and by [Divide] after that.
	ErrStarted = errors.New("Run was called before")

	// ErrHashes is the cause when ranges of hashes, or a [Part], cannot be used.
	ErrHashes = errors.New("not a part by hashes")

	// ErrFenced is the cause of the error of a write that a [Replica.Gate] has refused. Nothing was
	// sent, so client.ErrNotSent matches, too.
	ErrFenced = fmt.Errorf("shard: this replica has no valid lease for the write: %w", client.ErrNotSent)

	// ErrMoved is the cause of the end of a reconcile's context if its key may belong to another
	// replica, because the lease is over. The error says why. It is also the cause of the error of
	// a write that a [Replica.Gate] has ended: the server may have carried that out.
	ErrMoved = errors.New("shard: the lease is over")

	// The reasons of a LostError, and errors that OnError gets alone.

	// ErrExpired says that the Lease could not be renewed within RenewDeadline.
	ErrExpired = replica.ErrExpired
	// ErrBlind says that renewals succeed, but the watch of Leases has brought none for
	// LeaseDuration.
	ErrBlind = replica.ErrBlind
	// ErrDeleted says that somebody has deleted the Lease of this replica.
	ErrDeleted = replica.ErrDeleted
	// ErrEdited says that somebody has changed the Lease of this replica.
	ErrEdited = replica.ErrEdited
	// ErrExcluded says that others have seen no renewal for LeaseDuration.
	ErrExcluded = replica.ErrExcluded
	// ErrRestored says that the server was restored from a backup.
	ErrRestored = replica.ErrRestored
	// ErrScheme says that the assignment is for another Options.Scheme: another controller uses the
	// name, or an older version of this one hashes in another way. Give this one another Name, or
	// end the others.
	ErrScheme = replica.ErrScheme
	// ErrIdentity says that another process has the same Identity. This one gets nothing until the
	// other has ended.
	ErrIdentity = replica.ErrIdentity
	// ErrAssignment says that the assignment was edited or set back. Everything is assigned anew.
	ErrAssignment = replica.ErrSheet

	// ErrForeign is the cause of a RequestError if the name of the assignment belongs to a Lease of
	// another use, such as a leader election. Choose another Options.Name, or delete the Lease if
	// nobody needs it.
	ErrForeign = errors.New("a Lease of this name exists for another use: choose another Options.Name, or delete it if nobody uses it")
	// ErrNoResourceVersion is the cause of a RequestError if the answer has no UID or
	// resourceVersion. It is the same value as leader.ErrNoResourceVersion.
	ErrNoResourceVersion = leader.ErrNoResourceVersion
)

// errNotFollowed is the failure of a source of a Part that no reflector follows.
var errNotFollowed = fmt.Errorf("%w: the source of a Part must not be wrapped, or used without a reflector", ErrHashes)

// PanicError reports that a function of the user panicked, or called runtime.Goexit.
type PanicError = usercode.PanicError

// LostError says that this replica has lost its Lease. It drops everything, and begins again.
type LostError struct {
	// Lease is the namespace and name.
	Lease types.NamespacedName
	// Err is the reason: one of the errors of this package.
	Err error
}

func (e *LostError) Error() string { return fmt.Sprintf("shard: Lease %s: %v", e.Lease, e.Err) }

// Unwrap returns Err.
func (e *LostError) Unwrap() error { return e.Err }

// byTime reports whether nobody but the clock has ended the Lease.
func (e *LostError) byTime() bool {
	return e.Err == ErrExpired || e.Err == ErrBlind || e.Err == ErrExcluded
}

// RequestError says that a request about a Lease failed. It is tried again.
type RequestError struct {
	// Lease is the namespace and name.
	Lease types.NamespacedName
	// Verb is "get", "list", "watch", "create", "patch" or "delete".
	Verb string
	// Err is the cause: that of the client, or one of this package.
	Err error

	read bool // of Read, which needs one verb
}

func (e *RequestError) Error() string {
	text := fmt.Sprintf("shard: %s of Lease %s failed: %v", e.Verb, e.Lease, e.Err)
	if advice := e.advice(); advice != "" {
		text += ": " + advice
	}
	return text
}

// Unwrap returns Err.
func (e *RequestError) Unwrap() error { return e.Err }

// advice says what to do, if that is known.
func (e *RequestError) advice() string {
	switch {
	case apierrors.IsForbidden(e.Err) && e.read:
		return fmt.Sprintf("grant the verb list on leases of coordination.k8s.io in the namespace %q", e.Lease.Namespace)
	case apierrors.IsForbidden(e.Err):
		return fmt.Sprintf("grant the verbs get, list, watch, create, patch and delete on leases of coordination.k8s.io in the namespace %q", e.Lease.Namespace)
	}
	return leases.Advice(e.Err, e.Lease.Namespace)
}

// raced reports whether an object has another state than a write expected, so that nothing was
// written.
func raced(v replica.Verb, err error) bool {
	return leases.Raced(v == replica.CreateLease || v == replica.CreateSheet, err)
}
