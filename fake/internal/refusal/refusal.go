// Package refusal makes the Status errors of an API server, in the API server's own words:
// clients of all languages match them.
package refusal

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// New returns a Status error without details.
func New(code int32, reason metav1.StatusReason, message string) *apierrors.StatusError {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message,
	}}
}

// detailed is New with details that say nothing, as the API server sends them.
func detailed(code int32, reason metav1.StatusReason, message string) error {
	err := New(code, reason, message)
	err.ErrStatus.Details = &metav1.StatusDetails{}
	return err
}

// StatusOf returns the Status that reports err to a client. An err that is no Status error is
// an internal error.
func StatusOf(err error) metav1.Status {
	var api apierrors.APIStatus
	if !errors.As(err, &api) {
		api = apierrors.NewInternalError(err)
	}
	st := api.Status()
	st.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	if st.Code < 200 || st.Code > 999 { // no answer in HTTP can have it; a webhook may say anything
		st.Code = http.StatusInternalServerError
	}
	return st
}

// UnsupportedMedia is the 415 of a body in a format that is not in want.
func UnsupportedMedia(want ...string) error {
	return New(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType,
		"the body of the request was in an unknown format - accepted media types include: "+strings.Join(want, ", "))
}

// NotAcceptable is the 406 of a request that accepts none of the formats of offered.
func NotAcceptable(offered ...string) error {
	return detailed(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable,
		"406: Not Acceptable\n\nAvailable representations: "+strings.Join(offered, ", "))
}

// NotAccepted is NotAcceptable in the words of a later check, which knows the parameters of media
// types.
func NotAccepted(offered ...string) error {
	return New(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable, "only the following media types are accepted: "+strings.Join(offered, ", "))
}

// UnsupportedPatch is the 415 of a patch of a type that no patch of Kubernetes' own kinds has.
func UnsupportedPatch() error {
	return detailed(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType, "415: Unsupported Media Type")
}

// NoResource is the 404 of a resource that its group does not have.
func NoResource() error {
	return detailed(http.StatusNotFound, metav1.StatusReasonNotFound, "the server could not find the requested resource")
}

// Method is the 405 of a method that the path does not take.
func Method() error {
	return detailed(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed,
		"the server does not allow this method on the requested resource")
}

// OtherNamespace is the 400 of an object of another namespace than the request's.
func OtherNamespace() error {
	return apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
}

// Renamed is the 500 of an update or an apply that would create an object whose name admission has changed.
func Renamed(resource, from, to string) error {
	return apierrors.NewInternalError(fmt.Errorf("admission renamed %s %q to %q, and the request was for the first name: only a create can be renamed", resource, from, to))
}

// TableInclude is the 400 of a Table with an unknown includeObject.
func TableInclude(policy metav1.IncludeObjectPolicy) error {
	return apierrors.NewBadRequest(fmt.Sprintf("unrecognized includeObject value: %q", policy))
}

// Unprocessable is the 422 of a patch that does not apply.
func Unprocessable(err error) error {
	return apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false)
}

// Recover turns a panic of user code into an error. It must be deferred.
func Recover(err *error) {
	if v := recover(); v != nil {
		*err = Panic(v)
	}
}

// Panic is the error for a panic of user code with value v.
func Panic(v any) error { return fmt.Errorf("panic: %v", v) }
