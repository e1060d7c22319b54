package fake

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Strategy prepares and checks the writes of one resource, as the code of an API server does for
// each of its own kinds; see [Options].Strategy. With Prepare, it takes the place of the server's
// own rules for statuses, generations and names of objects. Its functions run as [Hooks] do, and
// before them. Each may be nil.
type Strategy struct {
	// Default completes an object when it comes in, before admission.
	Default func(obj metav1.Object)
	// Prepare completes a.Object, the new state, by a.Old, and checks it, for requests: a test's own functions
	// store what they get. An error refuses the write, with 500 unless it is a Status. A new object has its uid
	// and its creationTimestamp. ctx is the request's. stored is a sum of the object as it is stored, without
	// its managedFields: other sums make a write even if the object reads as before. An object that gets
	// defaults when it is read, and so reads differently from what is stored, has a sum like no other: as in
	// the API server, the next write stores it anew. Zero stands for no sum.
	Prepare func(ctx context.Context, a *Admission) (stored uint64, err error)
	// Admitted is asked last, after [Options].Validate has allowed what Prepare has prepared;
	// without Prepare it is not asked. a.Object is read-only. Errors are as for Prepare.
	Admitted func(ctx context.Context, a *Admission) error
	// Zero returns the object that an API server answers with if it has read none. Nil means the zero
	// value of the Go type.
	Zero func() (metav1.Object, error)
	// Printer makes the tables of the resource, unless its [Hooks] have one.
	Printer Printer
}
