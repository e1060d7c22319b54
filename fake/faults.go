package fake

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/fake/internal/refusal"
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

	VerbDeleteCollection Verb = "deletecollection"
)

// Fault makes calls fail. It strikes requests that come by HTTP, from a [Source] or a
// [Client], not the typed functions by which a test writes. Which calls it strikes
// depends on their order alone, by number or by a seeded Chance. Exactly one action must
// be set: Status, Silent, CutEvents, CutBytes, Duplicate, Reorder, Delay, Expire, JumpRV
// or Restart. A Fault has a textual form: see [ParseScript].
type Fault struct {
	// Verb restricts to one verb; empty means any that the action can strike.
	Verb Verb
	// Resource restricts to one resource, such as {Group: "apps", Resource:
	// "deployments"}; empty means any.
	Resource schema.GroupResource
	// Skip lets that many matching calls pass first.
	Skip int
	// Times is how many calls to strike after that. Negative means all. Zero means one,
	// or all where there is a Chance.
	Times int
	// Chance is the probability, below 1, with which a call that is due is struck. Zero
	// means certainty.
	Chance float64
	// Seed makes a Chance repeatable: the same seed strikes the same calls.
	Seed uint64

	// Status refuses the call: see [Refusal]. A RetryAfterSeconds in it is also sent as
	// the Retry-After header.
	Status *apierrors.StatusError
	// Silent opens a watch that sends nothing, not even an error, until it times out.
	Silent bool
	// CutEvents breaks a watch's connection after that many events, or a list's after
	// that many objects.
	CutEvents int
	// CutBytes breaks the connection after that many bytes of an HTTP response body. A
	// Source, which has no bytes, is not struck and not counted.
	CutBytes int
	// Duplicate sends that event of a watch, counted from one, twice.
	Duplicate int
	// Reorder holds that event of a watch, counted from one, back until an event of
	// another object was sent. A bookmark, or the end of the watch, also ends the wait.
	Reorder int
	// Delay lets the call wait before the server looks at it, or, with After, a watch
	// before its next event. It is virtual time in a testing/synctest bubble.
	Delay time.Duration
	// After lets that many events of a watch pass before Silent or Delay.
	After int
	// Expire forgets the history before the call, as [Server.Compact] does: what asks
	// for an older resourceVersion gets 410.
	Expire bool
	// JumpRV raises the server's resourceVersion by that much before the call, as writes
	// to other resources do.
	JumpRV int
	// Restart restarts the server at the call, whose connection breaks as those of all
	// watches do: see [Server.Restart].
	Restart Restart
}

// Restart says what a server that restarts still knows.
type Restart int

// The zero Restart is none.
const (
	// RestartKeep keeps the history: watches can resume.
	RestartKeep Restart = iota + 1
	// RestartLose forgets the history: watches and pages from before get 410.
	RestartLose
)

// fault is a Fault with its counts; guarded by Server.mu.
type fault struct {
	Fault
	skip, left int
	dice       *rand.Rand // nil without a Chance
}

// Refusal makes the Status of a refusing [Fault], such as
// Refusal(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, 1).
// retryAfterSeconds is left out when it is zero.
func Refusal(code int, reason metav1.StatusReason, retryAfterSeconds int) *apierrors.StatusError {
	err := refusal.New(int32(code), reason, "refused by a fault: "+http.StatusText(code))
	err.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: int32(retryAfterSeconds)}
	return err
}

// Inject adds faults behind those already there; when one of them is wrong it adds none.
// Every fault counts the calls that match it by itself, from now on; a call for which
// several are due is struck by the first of them alone, and uses up the others as well.
// Error: [ErrFault].
func (s *Server) Inject(faults ...Fault) error {
	added := make([]*fault, len(faults))
	for i, f := range faults {
		if err := f.check(); err != nil {
			return fmt.Errorf("fake: %w", err)
		}
		added[i] = &fault{Fault: f, skip: f.Skip, left: f.Times}
		if f.Chance > 0 {
			added[i].dice = rand.New(rand.NewPCG(f.Seed, 0))
		}
		if f.Times == 0 && f.Chance == 0 {
			added[i].left = 1
		}
		if f.Times == 0 && f.Chance > 0 {
			added[i].left = -1
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, added...)
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
	s.dropWatches()
}

func (s *Server) dropWatches() {
	close(s.drops)
	s.drops = make(chan struct{})
}

// Restart breaks the connections of all watches, as [Server.DropWatches] does, and with
// [RestartLose] forgets the history. Objects stay.
func (s *Server) Restart(how Restart) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.restart(how)
}

func (s *Server) restart(how Restart) {
	if how == RestartLose {
		s.forget()
	}
	s.dropWatches()
}

// forget compacts everything. Called under mu.
func (s *Server) forget() {
	s.compacted = s.rv
	for _, c := range s.order {
		c.compact()
	}
}

// JumpResourceVersion raises the resourceVersion by n, as n writes of resources that
// nobody watches do. A negative n counts as zero.
func (s *Server) JumpResourceVersion(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.jump(n)
}

func (s *Server) jump(n int) {
	s.rv += uint64(max(n, 0))
	if s.history > 0 && s.rv > s.history {
		s.compacted = max(s.compacted, s.rv-s.history)
	}
}

// actions returns how many of the actions are set.
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

// strikes reports whether the action means something for verb.
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
