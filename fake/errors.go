package fake

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/fake/internal/manifest"
	"github.com/kinform/kinform/fake/internal/pagetoken"
	"github.com/kinform/kinform/internal/mistake"
)

// These errors report misuse by the test's author. Refusals in the name of Kubernetes are an
// *errors.StatusError instead.
var (
	// ErrNotRegistered says that no resource of the asked type or name is registered.
	ErrNotRegistered = errors.New("resource not registered: call fake.Register with its kind first")
	// ErrInvalid is matched by the errors of all other misuse: a resource that is registered already or that no
	// server can serve, a type that is unusable or has several resources, a manifest that does not parse, a
	// backup of another server. The text says what to change. It is the value of package controller.
	ErrInvalid = mistake.Err
)

// The mistakes, which match ErrInvalid.
var (
	// errAmbiguous says that the type is registered for several resources and the call
	// does not name one: use [Server.Resource].
	errAmbiguous error = mistake.Text("type registered for several resources")
	// errDuplicate says that the resource is already registered.
	errDuplicate error = mistake.Text("resource already registered")
	// errType says that a Go type cannot hold the objects of a resource.
	errType error = mistake.Text("unusable object type")
	// errResource says that a kind cannot be served: it is incomplete or malformed.
	errResource error = mistake.Text("invalid resource")
	// errScope says that a namespace is given though the resource is cluster-scoped. A
	// client.Resource refuses that, too.
	errScope error = mistake.Text("wrong scope")
	// errManifest says that a manifest does not parse or is of an unknown kind.
	errManifest = manifest.ErrInvalid
	// errBackup says that a [Backup] is nil or of another server.
	errBackup error = mistake.Text("no backup of this server")
)

// errDropped says that a fault broke the connection of a call or of a watch.
var errDropped = errors.New("fake: watch dropped")

// The wording of these refusals is the API server's own: clients of all languages match it.
const (
	msgModified      = "the object has been modified; please apply your changes to the latest version and try again"
	msgContinueStale = "The provided continue parameter is too old to display a consistent list result. " +
		"You can start a new list without the continue parameter, or use the continue token in this response to retrieve " +
		"the remainder of the results. Continuing with the provided token results in an inconsistent list - " +
		"objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list."
	msgListStale = "The resourceVersion for the provided list is too old."
)

// errWatchStale is the 410 of a watch that starts before the kept history.
func errWatchStale(rv, compacted uint64) error {
	return apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", rv, compacted))
}

// errTooLarge is the 504 of a read that asks for a resourceVersion yet to come. The API
// server waits three seconds before it says so; the fake says so at once.
func errTooLarge(rv, current uint64) error {
	err := apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", rv, current), 1)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{
		Type:    metav1.CauseTypeResourceVersionTooLarge,
		Message: "Too large resource version",
	}}
	return err
}

// errEncoding is the 500 of an object that cannot be sent.
func errEncoding(kind string, key types.NamespacedName, err error) error {
	return apierrors.NewInternalError(fmt.Errorf("encoding %s %q: %w", kind, key, err))
}

// errExists is the 409 of a create for which old is in the way.
func errExists(gr schema.GroupResource, name string, old metav1.Object) error {
	err := apierrors.NewAlreadyExists(gr, name)
	if old.GetDeletionTimestamp() != nil {
		err.ErrStatus.Message = "object is being deleted: " + err.ErrStatus.Message
	}
	return err
}

func conflict(gr schema.GroupResource, name, format string, args ...any) error {
	return apierrors.NewConflict(gr, name, fmt.Errorf(format, args...))
}

// errContinueStale is the 410 of a page whose list is no longer kept. The token in it
// continues inconsistently, at the current resourceVersion.
func errContinueStale(after types.NamespacedName) error {
	err := apierrors.NewResourceExpired(msgContinueStale)
	err.ErrStatus.ListMeta.Continue = pagetoken.Token{RV: -1, After: after}.Encode()
	return err
}
