package client

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"

	"github.com/kinform/kinform/internal/usercode"
	"github.com/kinform/kinform/reflector"
)

var (
	// ErrTable is the cause when a server answers with a Table (a rendering for people,
	// asked for by an Accept header) where objects are expected. It ends a list or watch.
	ErrTable error = unusableError("the server answered with a Table, which holds no objects; something between client and server changes the Accept header")

	// ErrNotKubernetes is the cause when a 2xx answer is not what the Kubernetes API
	// sends there: HTML from a login page or a proxy, other JSON, an empty body. The
	// error says the content type and how the body begins.
	ErrNotKubernetes error = unusableError("not an answer of the Kubernetes API")

	// ErrWrongKind is the cause when an object, or a list, is of another kind or
	// apiVersion than its collection.
	ErrWrongKind error = unusableError("wrong kind")

	// ErrStalled is the cause when a call other than a watch has waited too long for its
	// answer: 3 minutes for the header, or 3 minutes more for the body than it takes at 1 KiB
	// per second (a watch that is silent is the business of its reader). A body of 2 GB that
	// comes at that rate or faster is read to its end. Waiting for the caller does not count.
	ErrStalled = errors.New("the server has sent next to nothing for 3 minutes")

	// ErrNotInCluster is returned by InCluster to a program that is not in a pod of a
	// Kubernetes cluster.
	ErrNotInCluster = errors.New("not in a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set")

	// ErrNotAnObject is the cause when null, or another JSON value that is no JSON
	// object, stands where a Kubernetes object is expected. An object without
	// metadata.name is a reflector.ErrNoName.
	ErrNotAnObject = errors.New("not a JSON object")
)

// unusableError is one of the errors above that match reflector.ErrUnusable: trying again
// brings the same answer.
type unusableError string

func (e unusableError) Error() string { return string(e) }

// Is implements the interface that errors.Is looks for.
func (e unusableError) Is(target error) bool { return target == reflector.ErrUnusable }

// malformedBody is a body that begins as it should and then is not well-formed, though it
// does not end too early.
type malformedBody struct{ error }

func (e malformedBody) Unwrap() error { return e.error }

// Is implements the interface that errors.Is looks for.
func (e malformedBody) Is(target error) bool { return target == reflector.ErrUnusable }

// TooLargeError is the cause when an object is larger than Options.MaxObjectBytes allows, or
// would take more memory than that allows.
type TooLargeError struct {
	// Resource is the collection's name, as Resource.Resource returns it.
	Resource string
	// Limit is the number of bytes that an object may have.
	Limit int64
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("an object of %s has more than %d bytes, the limit of Options.MaxObjectBytes, or needs several times as much memory", e.Resource, e.Limit)
}

// CredentialError says that a file of ConnectionOptions cannot be used. What it held when
// it could be used stays in use. None of its contents are in the error.
type CredentialError struct {
	// File is its path. For a certificate and a key that do not belong together it is that
	// of the certificate.
	File string
	// Err is the cause, never nil: that of reading the file, or what is wrong in it.
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

// LogValue implements slog.LogValuer: a group of file, and error, which is the cause.
func (e *CredentialError) LogValue() slog.Value {
	return slog.GroupValue(slog.String("file", e.File), slog.Any("error", e.Err))
}

// PanicError is a panic in the UnmarshalJSON method of a user's type, or in another of its methods
// that decoding calls. Where is "decoding", Value was given to panic, Stack is the stack at that
// point. It becomes the cause of a reflector.ObjectError. It is the same type as informer.PanicError.
type PanicError = usercode.PanicError

func isObjectError(err error) bool {
	var object *reflector.ObjectError
	return errors.As(err, &object)
}
