// Package answer carries out what an admission webhook has answered. It imports little, so that it
// can be fuzzed.
package answer

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	webhookerrors "k8s.io/apiserver/pkg/admission/plugin/webhook/errors"

	"github.com/kinform/kinform/fake"
)

// Answer is an answer whose uid, kind and patchType are as they should be. A validating webhook has
// no Patch.
type Answer struct {
	Allowed bool
	Result  *metav1.Status
	Patch   []byte
}

// Take changes the object of a, a write in the version that the webhook has seen, as the webhook
// called hook says, and reports whether it did. An error is a Status, and refuses the write.
func Take(hook string, a *fake.Admission, says Answer) (changed bool, err error) {
	switch {
	case !says.Allowed:
		return false, webhookerrors.ToStatusErr(hook, says.Result)
	case len(says.Patch) == 0:
		return false, nil
	case a.Object == nil:
		return false, apierrors.NewInternalError(fmt.Errorf("admission webhook %q attempted to modify the object, which is not supported for this operation", hook))
	}
	if changed, err = a.Patch(says.Patch); err != nil {
		return false, apierrors.NewInternalError(err)
	}
	return changed, nil
}
