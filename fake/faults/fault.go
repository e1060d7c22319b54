package faults

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/fake/internal/refusal"
)

// ErrFault says that a [Fault] has no action or several, or a value that makes no sense.
var ErrFault = errors.New("invalid fault")

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

	VerbDeleteCollection Verb = "deletecollection"
)

// Fault makes calls fail. It strikes requests by HTTP or by a fake.Source, but not the typed functions by which
// a test writes. The order of the calls alone decides which calls it strikes: by number, or by a seeded Chance.
// Exactly one action must be set: Status, Silent, CutEvents, CutBytes, Duplicate, Reorder, Delay, Expire,
// JumpRV or Restart. A Fault has a textual form: see [Parse].
type Fault struct {
	// Verb restricts to one verb; empty means any that the action can strike.
	Verb Verb
	// Resource restricts to one resource, such as {Group: "apps", Resource:
	// "deployments"}; empty means any.
	Resource schema.GroupResource
	// Skip is the number of matching calls that pass first.
	Skip int
	// Times is the number of calls to strike after that. Negative means all. Zero means one,
	// or all if there is a Chance.
	Times int
	// Chance is the probability, below 1, of striking a call that is due. Zero means
	// certainty.
	Chance float64
	// Seed makes a Chance repeatable: the same seed strikes the same calls.
	Seed uint64

	// Status refuses the call: see [Refusal]. A RetryAfterSeconds in it is also sent as
	// the Retry-After header.
	Status *apierrors.StatusError
	// Silent opens a watch that sends nothing, not even an error, until it times out.
	Silent bool
	// CutEvents breaks the connection after a number of events of a watch, or of objects of
	// a list.
	CutEvents int
	// CutBytes breaks the connection after a number of bytes of an HTTP response body. It
	// neither strikes nor counts the calls of a Source, which has no bytes.
	CutBytes int
	// Duplicate is the number, counted from one, of the event that a watch sends twice.
	Duplicate int
	// Reorder is the number, counted from one, of the event that a watch holds back until it
	// has sent an event of another object. A bookmark and the end of the watch also release
	// it.
	Reorder int
	// Delay makes the call wait before the server looks at it. With After, a watch waits
	// before its next event instead. In a testing/synctest bubble this is virtual time.
	Delay time.Duration
	// After is the number of events that a watch sends before Silent or Delay.
	After int
	// Expire forgets the history before the call, as Server.Compact does: requests for an
	// older resourceVersion get 410.
	Expire bool
	// JumpRV is added to the server's resourceVersion before the call, as if other resources
	// were written.
	JumpRV int
	// Restart restarts the server at the call, as Server.Restart does. The connections of the
	// call and of all watches break.
	Restart Restart
}

// Restart says what a server remembers after a restart.
type Restart int

// The zero Restart is none.
const (
	// RestartKeep keeps the history: watches can resume.
	RestartKeep Restart = iota + 1
	// RestartLose forgets the history: watches and pages from before get 410.
	RestartLose
)

// Refusal makes the Status of a refusing [Fault], such as
// Refusal(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, 1). A
// retryAfterSeconds of zero means none.
func Refusal(code int, reason metav1.StatusReason, retryAfterSeconds int) *apierrors.StatusError {
	err := refusal.New(int32(code), reason, "refused by a fault: "+http.StatusText(code))
	err.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: int32(retryAfterSeconds)}
	return err
}

// actions returns the number of actions that are set.
func (f Fault) actions() int {
	n := 0
	for _, set := range []bool{
		f.Status != nil, f.Silent, f.CutEvents != 0, f.CutBytes != 0, f.Duplicate != 0,
		f.Reorder != 0, f.Delay != 0, f.Expire, f.JumpRV != 0, f.Restart != 0,
	} {
		if set {
			n++
		}
	}
	return n
}

func (f Fault) check() error {
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", ErrFault, fmt.Sprintf(format, args...))
	}
	switch n := f.actions(); {
	case n != 1:
		return wrong("%d actions set, want one", n)
	case f.Skip < 0 || f.CutEvents < 0 || f.CutBytes < 0 || f.Duplicate < 0 || f.Reorder < 0 || f.After < 0 || f.JumpRV < 0 || f.Delay < 0:
		return wrong("negative count")
	case f.After > 0 && !f.Silent && f.Delay == 0:
		return wrong("After is for Silent and Delay")
	case !(f.Chance >= 0 && f.Chance < 1):
		return wrong("chance %v, want 0 to below 1", f.Chance)
	case f.Restart < 0 || f.Restart > RestartLose:
		return wrong("unknown restart %d", f.Restart)
	case f.Verb != "" && !f.strikes(f.Verb):
		return wrong("the action cannot strike verb %q", f.Verb)
	case f.Status != nil && (f.Status.ErrStatus.Code < 400 || f.Status.ErrStatus.Code > 599):
		return wrong("status code %d refuses nothing", f.Status.ErrStatus.Code)
	}
	return nil
}

// strikes reports whether the action can strike calls of verb.
func (f Fault) strikes(verb Verb) bool {
	switch verb {
	case VerbWatch:
		return true
	case VerbList:
		return !f.watchOnly()
	case VerbGet, VerbCreate, VerbUpdate, VerbPatch, VerbDelete, VerbDeleteCollection:
		return !f.watchOnly() && f.CutEvents == 0
	}
	return false
}

func (f Fault) watchOnly() bool {
	return f.Silent || f.Duplicate > 0 || f.Reorder > 0 || f.After > 0
}
