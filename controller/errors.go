package controller

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/internal/logs"
	"github.com/kinform/kinform/internal/mistake"
	"github.com/kinform/kinform/queue"
)

var (
	// ErrInvalid is matched by the errors of mistakes in the program: a nil function, informer or handle, [Owns] without
	// [For], an edit of another field than the status. Somebody has to change the program. The text says what, and names
	// the controller and the resource, or the kind and the key of the object. Packages
	// client, controller, fake, index, informer, queue, reflector and store export the same value, and the ErrInvalid of
	// others matches it.
	ErrInvalid = mistake.Err

	// ErrStopped says that For, Owns, Watch or References was called after the end of Run.
	// informer.ErrStopped says that an informer has stopped.
	ErrStopped = errors.New("Run has ended, so nothing can be watched any more")

	// ErrOutside is the cause if a request of a handle over a set of namespaces is for an object in
	// another namespace. Nothing was sent.
	ErrOutside = errors.New("outside of the handle's namespaces")

	// errHandlerUnsynced is the cause in a *SyncError if the cache is filled, and the
	// controller's handler has not seen all of it.
	errHandlerUnsynced = errors.New("the cache is filled, but the handler has not seen all of it")
)

// The mistakes, which match ErrInvalid.
var (
	// The errors from here to errOptions are errors of the setup: [Controller.Err] and Run return them, each with
	// the controller's name and the name of the resource.

	// errNoKeys says that Watch got no function for keys.
	errNoKeys error = mistake.Text("the function for keys is nil: pass a function that appends keys to dst")

	// errNoInformer says that For, Owns, Watch or References got a nil informer or handle, or an index of no
	// informer. It comes with the type of the objects. Unwatch returns it.
	errNoInformer = mistake.NoInformer

	// errNoFilter says that a filter is nil.
	errNoFilter error = mistake.Text("the filter is nil: leave it out, or pass a function")

	// errNoOwners says, with the names of both resources, that Owns or References was called without [For] of the objects
	// whose keys they queue. The cache would never have these objects, or reconcile would get keys of another kind.
	errNoOwners error = mistake.Text("no For or Watch of the controller has this handle of the owners: call For with it, or give Owns, or the index of References, the handle that For has")

	// errOptions says that there are several Options or OpenOptions, or that two fields of OpenOptions contradict
	// each other.
	errOptions error = mistake.Text("the options are not valid")

	// errNil is the error of a nil Controller, which Err, Run and Unwatch return.
	errNil error = mistake.Text("the controller is nil: make it with New")

	// errStarted is returned, with the controller's name, by a second call of Run.
	errStarted error = mistake.Text("Run was called before: a controller runs once, so make another one")

	// errNotWatched is returned by Unwatch, with the name of the resource, for an informer that the
	// controller does not watch.
	errNotWatched error = mistake.Text("the informer is not watched")

	// The errors from here to errOwner come with the key of the object and with its kind, or its
	// type if the object does not state the kind. errNoManager comes with the type alone.

	// errNoStatus is returned by PatchStatus if the object exists but its kind has no status
	// subresource.
	errNoStatus error = mistake.Text("the kind has no status subresource: its CustomResourceDefinition needs subresources.status, and for the fake its Kind WithSubresources")

	// errNoEdit is returned by PatchStatus and CreateOrUpdate if edit is nil.
	errNoEdit error = mistake.Text("the function that edits the object is nil")

	// errNotRead says that an object to change has no resourceVersion: it was not read from the
	// server or a cache.
	errNotRead error = mistake.Text("the object has no resourceVersion: take it from the server or a cache")

	// errRenamed says that edit changed the name, the namespace or the UID of the object.
	errRenamed error = mistake.Text("the edit changed the object's name, namespace or UID")

	// errNotStatus is returned by PatchStatus if edit changes another field than the status, which
	// it names.
	errNotStatus error = mistake.Text("the edit of a status changed another field")

	// errCondition is returned by PatchStatus if edit leaves a condition without a field that API servers require. It
	// comes with the condition and the field.
	errCondition error = mistake.Text("set it, because API servers refuse a condition without it")

	// errNoCleanup is returned by Finalize if cleanup is nil.
	errNoCleanup error = mistake.Text("the function for the cleanup is nil")

	// errNoFinalizer is returned by Finalize for a finalizer without a name.
	errNoFinalizer error = mistake.Text("the finalizer has no name")

	// errNoManager is returned by Apply, with the type of the object, if the field manager has no
	// name.
	errNoManager error = mistake.Text("the field manager has no name")

	// errOwner is returned by SetController for an owner that cannot own the object.
	errOwner error = mistake.Text("not a possible owner")
)

// idle is logged if Run begins with nothing that could call reconcile.
type idle struct{}

const idleText = "nothing is watched and no key is queued: call For or Watch, or add keys to Queue"

func (idle) Error() string { return idleText }

// LogValue implements slog.LogValuer. The text is the message.
func (idle) LogValue() slog.Value { return slog.GroupValue(slog.String(logs.Message, idleText)) }

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
	// *informer.NotSyncingError, an *informer.UnsyncedError, or an error that says that the
	// cache is filled and the handler has not seen all of it. Never empty.
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
