package fake

import (
	"encoding/hex"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// checkStated refuses data of a custom resource that leaves out its kind or its version.
func (r *definedResource) checkStated(got metav1.TypeMeta, body []byte) error {
	switch {
	case got.Kind == "":
		return apierrors.NewBadRequest(fmt.Sprintf("the object provided is unrecognized (must be of type %s): Object 'Kind' is missing in '%s' (%s)",
			r.Kind, body, summary(body)))
	case got.APIVersion == "":
		return apierrors.NewBadRequest(fmt.Sprintf("the API version in the data () does not match the expected API version (%s)", r.groupVersion()))
	}
	return nil
}

// badBody is the 400 of a body that does not fit its kind.
func badBody(r *definedResource, err error) error {
	return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", r.Kind, r.Version, r.Kind, err))
}

// errNoKind is the 400 of a body that is not an object at all.
func errNoKind(kind string, err error, body []byte) error {
	return errUnrecognized(kind, fmt.Errorf("couldn't get version/kind; json parse error: %w", err), body)
}

// errUnrecognized is the 400 of a body that cannot be decoded.
func errUnrecognized(kind string, err error, body []byte) error {
	return apierrors.NewBadRequest(fmt.Sprintf("the object provided is unrecognized (must be of type %s): %v (%s)", kind, err, summary(body)))
}

// maxSummary limits the part of a body that an error repeats.
const maxSummary = 30

func summary(body []byte) string {
	shown, more := body, ""
	if len(shown) > maxSummary {
		shown, more = shown[:maxSummary], " ..."
	}
	switch {
	case len(shown) == 0:
		return "<empty>"
	case shown[0] == '{':
		return string(shown) + more
	}
	return hex.EncodeToString(shown) + more
}
