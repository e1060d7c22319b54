package fake

import (
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/fake/internal/refusal"
	"github.com/kinform/kinform/internal/storageerror"
)

// undecodable is the answer to a write of an object that cannot be read in the version of the
// request.
type undecodable struct{ *apierrors.StatusError }

// notDecodable says why v cannot be read.
func notDecodable(v *revision, cause error) string {
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
	*revision
	cause error
}

// views makes views of a list, in place. bad are those that cannot be read, which stay as they are.
func (t *table) views(list []*revision) (bad []unreadable) {
	if !t.mixed.Load() {
		return nil // without a look at each
	}
	for i, v := range list {
		out, err := t.decoded(v)
		if err == nil {
			list[i] = out
		} else if bad = append(bad, unreadable{v, err}); len(bad) == maxUnreadable {
			break
		}
	}
	return bad
}

// cacheable makes views of the objects that a list or a watch reads from the cache, in place. With one
// that cannot be read, the API server's cache cannot begin.
func (t *table) cacheable(found []*revision) error {
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
		causes = append(causes, metav1.StatusCause{Type: metav1.CauseTypeUnexpectedServerResponse, Field: key, Message: storageerror.Corrupt(key, notDecodable(v.revision, v.cause))})
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
