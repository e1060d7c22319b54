package client

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"

	"github.com/kinform/kinform/internal/logs"
	"github.com/kinform/kinform/internal/mistake"
	"github.com/kinform/kinform/internal/usercode"
	"github.com/kinform/kinform/reflector"
)

var (
	// ErrInvalid is matched by the errors of mistakes in the program: a namespace is given though the kind is
	// cluster-scoped, or none is given though the kind is namespaced; a metav1.PartialObjectMetadata is to be created or
	// updated, which would delete all but the metadata. Nothing was sent. The text says what to change. It is the value
	// of package controller. An answer that is not what was asked for is a reflector.ErrUnusable instead.
	ErrInvalid = mistake.Err

	// ErrNotSent is matched by the errors of all requests that were refused in this process,
	// because of their key, object or options. The server cannot have carried them out. Such an
	// error has its own text and cause; ErrNotSent adds nothing to them.
	ErrNotSent = errors.New("nothing was sent")

	// ErrAccepted is matched by the errors of all requests that the server accepted with a 2xx
	// status, but whose answer cannot be read or used, for example because the object does not fit
	// T. It adds nothing to their text and cause.
	ErrAccepted = errors.New("accepted, but the answer cannot be used")

	// ErrUnclear is matched by the error of a request whose earlier try failed in a way that leaves
	// open whether the server carried it out, such as a 504 with Retry-After. It adds nothing to
	// the text and the cause. Both come from the last try. The cause may be a refusal.
	ErrUnclear = errors.New("an earlier try may have been carried out")

	// ErrNotInCluster is returned by InCluster if the program is not in a pod of a Kubernetes
	// cluster.
	ErrNotInCluster = errors.New("not in a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set")
)

// What the server answers instead of objects. A retry would get the same, so they match reflector.ErrUnusable.
var (
	// errTable is the cause when a server answers with a Table instead of objects. A Table is
	// a rendering for people, requested by an Accept header. It ends a list or watch.
	errTable error = unusableError("the server answered with a Table, which holds no objects; something between client and server changes the Accept header")

	// errNotKubernetes is the cause when a 2xx answer is not from the Kubernetes API: HTML of
	// a login page or a proxy, other JSON, or an empty body. The error gives the content type
	// and the beginning of the body.
	errNotKubernetes error = unusableError("not an answer of the Kubernetes API")

	// errWrongKind is the cause when an object or a list has another kind or apiVersion than
	// its collection.
	errWrongKind error = unusableError("wrong kind")
)

// errMetadataOnly is a mistake, which matches ErrInvalid.
var errMetadataOnly error = mistake.Text("the object has metadata only: patch or apply it")

// errNotAnObject is the cause when a Kubernetes object is expected but the value is null
// or another JSON value that is not an object. An object without metadata.name is a
// reflector.ErrNoName.
var errNotAnObject = errors.New("not a JSON object")

// errStalled is the cause when a call other than a watch waits too long for its answer: 3
// minutes for the header, or for the body 3 minutes longer than it takes at 1 KiB per
// second. (The reader of a watch limits its silence.) A body of 2 GB at that rate or
// faster is read to its end. Time spent waiting for the caller does not count.
var errStalled = errors.New("the server has sent next to nothing for 3 minutes")

// remark is an error that matches mark as well.
type remark struct {
	error
	mark error
}

func (e remark) Unwrap() error { return e.error }

// Is implements the interface that errors.Is looks for.
func (e remark) Is(target error) bool { return errors.Is(e.mark, target) }

// unusableError is the type of the errors above that match reflector.ErrUnusable: a retry
// would get the same answer.
type unusableError string

func (e unusableError) Error() string { return string(e) }

// Is implements the interface that errors.Is looks for.
func (e unusableError) Is(target error) bool { return target == reflector.ErrUnusable }

// CredentialError says that a file of ConnectionOptions cannot be used. Its last good contents
// stay in use. The error shows no contents of the file.
type CredentialError struct {
	// File is its path. If a certificate and a key do not match, it is the path of the
	// certificate.
	File string
	// Err is the cause, never nil: the error of reading the file, or the problem in its
	// contents.
	Err error
}

func (e *CredentialError) Error() string {
	var path *fs.PathError
	if errors.As(e.Err, &path) {
		return "credentials: " + e.Err.Error() // has the path
	}
	return fmt.Sprintf("credentials: %s: %v", e.File, e.Err)
}

// Unwrap returns the cause.
func (e *CredentialError) Unwrap() error { return e.Err }

// LogValue implements slog.LogValuer: a group of message, file and error, where error is the cause.
func (e *CredentialError) LogValue() slog.Value {
	return slog.GroupValue(slog.String(logs.Message, "credentials cannot be used"), slog.String("file", e.File), slog.Any("error", e.Err))
}

// withContext makes an error match ctx.Err() if ctx is done: a transport may only report that
// its connection was closed.
func withContext(ctx context.Context, err error) error {
	if cause := ctx.Err(); cause != nil && !errors.Is(err, cause) {
		return fmt.Errorf("%w (%w)", cause, err)
	}
	return err
}

// contain turns a panic into *err.
func contain(err *error) {
	if v := recover(); v != nil {
		*err = usercode.Panicked("decoding", v)
	}
}
