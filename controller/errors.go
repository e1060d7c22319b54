package controller

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/queue"
	"github.com/kinform/kinform/store"
)

var (
	// The errors from here to ErrStopped are errors of the setup: [Controller.Err] and Run return them, each with
	// the controller's name and the name of the resource.

	// ErrNoKeys says that Watch got no function for keys.
	ErrNoKeys = errors.New("the function for keys is nil: pass a function that appends keys to dst")

	// ErrNoInformer says that For, Owns, Watch or References got a nil informer or handle, or an index of no
	// informer. It comes with the type of the objects. Unwatch returns it. It is the same value as
	// informer.ErrNoInformer.
	ErrNoInformer = informer.ErrNoInformer

	// ErrNoFilter says that a filter is nil.
	ErrNoFilter = errors.New("the filter is nil: leave it out, or pass a function")

	// ErrNoOwners says, with the names of both resources, that Owns or References was called without [For] of the objects
	// whose keys they queue. The cache would never have these objects, or reconcile would get keys of another kind.
	ErrNoOwners = errors.New("the controller has no For or Watch of the latter: call For with the same handle or informer, or name the one that For has")

	// ErrStopped says that For, Owns, Watch or References was called after the end of Run.
	// informer.ErrStopped says that an informer has stopped.
	ErrStopped = errors.New("Run has ended, so nothing can be watched any more")

	// ErrInvalid says that there are several Options or OpenOptions, or that two fields of OpenOptions contradict
	// each other.
	ErrInvalid = errors.New("the options are not valid")

	// ErrStarted is returned, with the controller's name, by a second call of Run.
	ErrStarted = errors.New("Run was called before: a controller runs once, so make another one")

	// ErrNotWatched is returned by Unwatch, with the name of the resource, for an informer that the
	// controller does not watch.
	ErrNotWatched = errors.New("the informer is not watched")

	// ErrOutside is the cause if a request of a handle over a set of namespaces is for an object in
	// another namespace. Nothing was sent.
	ErrOutside = errors.New("outside of the handle's namespaces")

	// The errors from here to ErrOwner come with the key of the object and with its kind, or its
	// type if the object does not state the kind. ErrNoObject and ErrNoManager come with the type
	// alone.

	// ErrNoStatus is returned by PatchStatus if the object exists but its kind has no status
	// subresource.
	ErrNoStatus = errors.New("the kind has no status subresource: its CustomResourceDefinition needs subresources.status, and for the fake its Kind WithSubresources")

	// ErrNoObject is returned for a nil object, with its type and the name of the resource or the
	// call. It is the same value as store.ErrNoObject.
	ErrNoObject = store.ErrNoObject

	// ErrNoEdit is returned by PatchStatus and CreateOrUpdate if edit is nil.
	ErrNoEdit = errors.New("the function that edits the object is nil")

	// ErrNoName is returned by CreateOrUpdate for an object without a name. It is the same value as
	// store.ErrNoName and reflector.ErrNoName.
	ErrNoName = store.ErrNoName

	// ErrNoVersion says that an object to change has no resourceVersion: it was not read from the
	// server or a cache.
	ErrNoVersion = errors.New("the object has no resourceVersion: take it from the server or a cache")

	// ErrRenamed says that edit changed the name, the namespace or the UID of the object.
	ErrRenamed = errors.New("the edit changed the object's name, namespace or UID")

	// ErrNotStatus is returned by PatchStatus if edit changes another field than the status, which
	// it names.
	ErrNotStatus = errors.New("the edit of a status changed another field")

	// ErrNoCleanup is returned by Finalize if cleanup is nil.
	ErrNoCleanup = errors.New("the function for the cleanup is nil")

	// ErrNoFinalizer is returned by Finalize for a finalizer without a name.
	ErrNoFinalizer = errors.New("the finalizer has no name")

	// ErrNoManager is returned by Apply, with the type of the object, if the field manager has no
	// name.
	ErrNoManager = errors.New("the field manager has no name")

	// ErrOwner is returned by SetController for an owner that cannot own the object.
	ErrOwner = errors.New("not a possible owner")

	// ErrHandlerUnsynced is the cause in a [*SyncError] if the cache is filled, and the
	// controller's handler has not seen all of it.
	ErrHandlerUnsynced = errors.New("the cache is filled, but the handler has not seen all of it")
)

// errNotAnObject says that JSON of an object is something else.
var errNotAnObject = errors.New("not a JSON object")

// Again returns an error with which reconcile asks for its key again after d. It is not a
// failure: nothing is reported, and the key's failures are forgotten. If d is zero or less, the
// key is called again at once, after all queued keys. It is the same as queue.Again.
func Again(d time.Duration) error { return queue.Again(d) }

// Terminal returns an error with which reconcile says that repeating the call would not help,
// because somebody must change something first. The error is reported like any other. The key is
// called again only if it is queued again. Terminal(nil) is nil. It is the same as queue.Terminal.
func Terminal(err error) error { return queue.Terminal(err) }

// OwnedError is returned by [SetController] for an object that somebody else has made. The name is
// taken: somebody must rename one of the objects, or delete that object or its owner. Return the
// error from reconcile, so that [Owns] queues the key when that object is gone.
type OwnedError struct {
	// Object is the namespace and name of the object.
	Object string
	// Controller is the reference to its controller. If the object has none, it is zero: then
	// [Adopt] can take the object over.
	Controller metav1.OwnerReference

	name string               // of the object, for the message
	key  types.NamespacedName // of the object
}

func (e *OwnedError) Error() string {
	name := cmp.Or(e.name, e.Object)
	if e.Controller.UID == "" {
		return fmt.Sprintf("controller: %s was made by somebody else and has no controller: delete it, or use another name or Adopt", name)
	}
	return fmt.Sprintf("controller: %s belongs to another controller: %s %q with UID %s", name, e.Controller.Kind, e.Controller.Name, e.Controller.UID)
}

// SyncError is returned by Run if the initial lists took longer than Options.SyncTimeout. For a
// watch that was added later, Options.OnError gets it.
type SyncError struct {
	// After is the time that Run waited.
	After time.Duration
	// Errs say for each informer that is not ready which resource it is for and why: an
	// *informer.NotSyncingError, an *informer.UnsyncedError, or [ErrHandlerUnsynced] with the name
	// of the resource. Never empty.
	Errs []error
}

func (e *SyncError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "controller: not ready after %v: ", e.After)
	for n, err := range e.Errs {
		if n > 0 {
			b.WriteString("; ")
		}
		b.WriteString(err.Error())
	}
	return b.String()
}

// Unwrap returns Errs.
func (e *SyncError) Unwrap() []error { return e.Errs }
