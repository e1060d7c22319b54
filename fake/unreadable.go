package fake

import (
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kinform/kinform/fake/internal/refusal"
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

// maxUnreadable is the number of unreadable objects after which a list ends.
const maxUnreadable = 100

// unreadable is such an object, and why it cannot be read.
type unreadable struct {
	*version
	cause error
}

// readable makes views of the objects that a list reads, in place. As in the API server, a list with
// a limit and without selectors reads the storage if the cache cannot begin.
func (t *table) readable(found []*version, m *matcher, q listRequest) error {
	if !m.all() || q.asked == 0 {
		return t.cacheable(found)
	}
	if q.limit > 0 {
		found = found[:min(int64(len(found)), q.limit)]
	}
	if bad := t.views(found); len(bad) > 0 {
		return t.errUnreadable(bad)
	}
	return nil
}

// cacheable makes views of the objects that a list or a watch reads from the cache, in place. With one
// that cannot be read, the API server's cache cannot begin.
func (t *table) cacheable(found []*version) error {
	if len(t.views(found)) == 0 {
		return nil
	}
	t.server.mu.Lock()
	all := t.gather("", types.NamespacedName{})
	t.server.mu.Unlock()
	bad := t.views(all)
	if len(bad) == 0 { // they are gone
		return apierrors.NewTooManyRequests("storage is (re)initializing", 1)
	}
	return apierrors.NewTooManyRequests("storage is (re)initializing: failed to list <unspecified>: "+t.errUnreadable(bad).ErrStatus.Message, 1)
}

// errUnreadable is the answer of the API server's storage to a list with objects that it cannot read.
func (t *table) errUnreadable(bad []unreadable) *apierrors.StatusError {
	var causes []metav1.StatusCause
	for _, v := range bad {
		key := storageerror.Key(t.storageKey(v.key))
		causes = append(causes, metav1.StatusCause{Type: metav1.CauseTypeUnexpectedServerResponse, Field: key, Message: storageerror.Corrupt(key, notDecodable(v.version, v.cause))})
	}
	text := fmt.Sprintf("failed to read one or more %s from the storage: %s", t.res.groupResource(), causes[0].Message)
	if more := len(bad) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	if len(bad) == maxUnreadable {
		causes = append(causes, metav1.StatusCause{Type: metav1.CauseTypeTooMany, Message: "too many errors, the list is truncated"})
	}
	err := refusal.New(http.StatusInternalServerError, metav1.StatusReasonStoreReadError, text)
	err.ErrStatus.Details = &metav1.StatusDetails{Group: t.res.Group, Kind: t.res.Name, Name: "list", Causes: causes}
	return err
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
