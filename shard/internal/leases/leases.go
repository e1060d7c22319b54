// Package leases is shared by leader election and sharding. It names processes, and classifies the
// errors of requests for Leases.
package leases

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MaxIdentity limits the identity of a process in bytes. API servers have no limit; this one is
// that of object names.
const MaxIdentity = 253

// NewIdentity returns the name of the host with a random suffix.
func NewIdentity() string {
	host, _ := os.Hostname() // the suffix alone is enough
	return fmt.Sprintf("%s_%016x", host[:min(len(host), MaxIdentity-17)], rand.Uint64())
}

// Advice says what to do about the error of a request for a Lease in a namespace. It is empty if
// that is not known.
func Advice(err error, namespace string) string {
	switch {
	case apierrors.IsUnauthorized(err):
		return "the server does not accept the credentials"
	case unknownPath(err):
		return "the server has no Leases of coordination.k8s.io/v1: is the URL that of a Kubernetes API server?"
	case apierrors.IsNotFound(err):
		return fmt.Sprintf("create the namespace %q", namespace)
	case errors.Is(err, context.DeadlineExceeded):
		return "the server did not answer in time"
	}
	return ""
}

// Missing reports whether an answer says that there is no such Lease.
func Missing(err error) bool { return apierrors.IsNotFound(err) && !unknownPath(err) }

// Raced reports whether the server refused a write because the Lease is in another state than the
// write expects. creation says whether the write creates the Lease.
func Raced(creation bool, err error) bool {
	if creation {
		return apierrors.IsAlreadyExists(err)
	}
	return apierrors.IsConflict(err) || Missing(err)
}

// unknownPath reports whether the server does not know the resource, by an answer that is not about
// an object.
func unknownPath(err error) bool {
	return apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}
