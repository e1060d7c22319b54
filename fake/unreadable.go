package fake

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kinform/kinform/internal/storageerror"
)

// undecodable is the answer to a write of an object that cannot be read in the version of the
// request.
type undecodable struct{ *apierrors.StatusError }

// notDecodable says why v cannot be read.
func notDecodable(v *version, cause error) string {
	return fmt.Sprintf("object not decodable revision=%d: %v", v.rv, cause)
}

// errCorrupt is the answer to a read of such an object.
func (t *table) errCorrupt(key types.NamespacedName, text string) error {
	return apierrors.NewInternalError(errors.New(storageerror.Corrupt(t.storageKey(key), text)))
}

// errUnlistable is the answer to lists and watches while there is such an object: the API server's
// cache cannot begin.
func (t *table) errUnlistable(v *version, cause error) error {
	return apierrors.NewTooManyRequests(fmt.Sprintf("storage is (re)initializing: failed to list <unspecified>: failed to read one or more %s from the storage: %s",
		t.res.groupResource(), storageerror.Corrupt(storageerror.Key(t.storageKey(v.key)), notDecodable(v, cause))), 1)
}

// ignoresReadErrors reports whether a deletion is for an object that cannot be read.
func ignoresReadErrors(opts metav1.DeleteOptions) bool {
	ignore := opts.IgnoreStoreReadErrorWithClusterBreakingPotential
	return ignore != nil && *ignore
}

// errUnreadableCollection refuses such a deletion of a collection.
func errUnreadableCollection() error {
	at := field.NewPath("ignoreStoreReadErrorWithClusterBreakingPotential")
	return invalidOptions("DeleteOptions", field.ErrorList{field.Invalid(at, true, "is not allowed with DELETECOLLECTION, try again after removing the option")})
}

// removeUnreadable deletes an object that cannot be read in t's version, whatever its finalizers,
// and refuses to delete any other.
func (t *table) removeUnreadable(key types.NamespacedName, opts metav1.DeleteOptions) (last *version, final bool, err error) {
	if t.keptByContent() {
		return nil, false, apierrors.NewInternalError(errors.New("no unsafe deleter provided, can not honor ignoreStoreReadErrorWithClusterBreakingPotential"))
	}
	for {
		t.server.mu.Lock()
		err, old := t.checkServed(), t.live(key)
		t.server.mu.Unlock()
		if err == nil && old == nil {
			err = apierrors.NewNotFound(t.res.groupResource(), key.Name)
		}
		if err != nil {
			return nil, false, err
		}
		if _, err := t.view(old); err == nil {
			return nil, false, t.errStorage(key, false, "unsafe deletion is not allowed because the object is decodable from storage")
		}
		if isDryRun(opts.DryRun) {
			return old, true, nil
		}
		if v, ok := t.commit(old, nil); ok {
			return v, true, nil
		}
	}
}
