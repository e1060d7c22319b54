package fake

import (
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Verb is a kind of request, as API audit logs name it.
type Verb string

// The verbs that the server answers.
const (
	VerbGet    Verb = "get"
	VerbList   Verb = "list"
	VerbWatch  Verb = "watch"
	VerbCreate Verb = "create"
	VerbUpdate Verb = "update"
	VerbPatch  Verb = "patch"
	VerbDelete Verb = "delete"
)

// Fault makes calls fail. It strikes requests that come by HTTP or from a [Source], not
// the typed functions by which a test writes. Which calls it strikes depends on their
// order alone. Exactly one action must be set: Status, Silent, CutEvents or CutBytes.
type Fault struct {
	// Verb restricts to one verb; empty means any that the action can strike.
	Verb Verb
	// Resource restricts to one resource, such as {Group: "apps", Resource:
	// "deployments"}; empty means any.
	Resource schema.GroupResource
	// Skip lets that many matching calls pass first.
	Skip int
	// Times is how many calls to strike after that. Zero means one, negative all.
	Times int

	// Status refuses the call: see [Refusal]. A RetryAfterSeconds in it is also sent as
	// the Retry-After header.
	Status *apierrors.StatusError
	// Silent opens a watch that sends nothing, not even an error, until it times out.
	Silent bool
	// CutEvents breaks a watch's connection after that many events, or a list's after
	// that many objects.
	CutEvents int
	// CutBytes breaks the connection after that many bytes of an HTTP response body. A
	// Source, which has no bytes, is not struck.
	CutBytes int
}

// fault is a Fault with its counts; guarded by Server.mu.
type fault struct {
	Fault
	skip, left int
}

// Refusal makes the Status of a refusing [Fault], such as
// Refusal(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, 1).
// retryAfterSeconds is left out when it is zero.
func Refusal(code int, reason metav1.StatusReason, retryAfterSeconds int) *apierrors.StatusError {
	err := statusError(int32(code), reason, "refused by a fault: "+http.StatusText(code))
	err.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: int32(retryAfterSeconds)}
	return err
}

// Inject adds a fault behind those already there. A call is struck by the first fault that
// matches it; faults behind that one do not count the call. Error: [ErrFault].
func (s *Server) Inject(f Fault) error {
	if err := f.check(); err != nil {
		return err
	}
	left := f.Times
	if left == 0 {
		left = 1
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &fault{Fault: f, skip: f.Skip, left: left})
	return nil
}

// ClearFaults takes all faults away. Watches that one has already struck stay struck.
func (s *Server) ClearFaults() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

// DropWatches breaks the connection of every watch that is open, silent ones included.
// Events that a watch had not yet sent are lost to it; its client resumes.
func (s *Server) DropWatches() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.drops)
	s.drops = make(chan struct{})
}

func (f Fault) check() error {
	actions := 0
	for _, set := range []bool{f.Status != nil, f.Silent, f.CutEvents != 0, f.CutBytes != 0} {
		if set {
			actions++
		}
	}
	switch {
	case actions != 1:
		return fmt.Errorf("fake: %w: %d actions set, want one", ErrFault, actions)
	case f.Skip < 0 || f.CutEvents < 0 || f.CutBytes < 0:
		return fmt.Errorf("fake: %w: negative count", ErrFault)
	case f.Verb != "" && !f.strikes(f.Verb):
		return fmt.Errorf("fake: %w: the action cannot strike verb %q", ErrFault, f.Verb)
	case f.Status != nil && f.Status.ErrStatus.Code < 400:
		return fmt.Errorf("fake: %w: status code %d refuses nothing", ErrFault, f.Status.ErrStatus.Code)
	}
	return nil
}

// strikes reports whether the action means something for verb.
func (f Fault) strikes(verb Verb) bool {
	switch verb {
	case VerbWatch:
		return true
	case VerbList:
		return !f.Silent
	case VerbGet, VerbCreate, VerbUpdate, VerbPatch, VerbDelete:
		return !f.Silent && f.CutEvents == 0
	}
	return false
}

// strike returns the fault that hits this call, nil for none. bytes says that the answer
// is sent as bytes, by HTTP.
func (s *Server) strike(verb Verb, gr schema.GroupResource, bytes bool) *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.faults {
		if f.Verb != "" && f.Verb != verb || !f.Resource.Empty() && f.Resource != gr {
			continue
		}
		if f.left == 0 || !f.strikes(verb) || f.CutBytes > 0 && !bytes {
			continue
		}
		if f.skip > 0 {
			f.skip--
			return nil
		}
		if f.left > 0 {
			f.left--
		}
		hit := f.Fault
		return &hit
	}
	return nil
}
