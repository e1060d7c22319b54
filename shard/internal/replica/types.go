package replica

import (
	"errors"
	"fmt"
	"time"

	"github.com/kinform/kinform/shard/internal/assign"
)

// Config holds the settings that a process never changes.
type Config struct {
	Name     string // of the sheet, and the prefix of the names of Leases
	Identity string
	Scheme   string // what is hashed; replicas with another one cannot share the work
	Weight   int

	LeaseDuration, RenewDeadline, RetryPeriod, Grace time.Duration
}

// Moment is a reading of the clocks, and a random number from 0 to 1.
type Moment struct {
	Mono time.Duration // since the process began; it alone decides
	Wall time.Time     // for people
	Rand float64
}

// Never is a time that does not come.
const Never time.Duration = 1<<63 - 1

// Record is the content of a life's Lease.
type Record struct {
	Name, UID, Version string
	Identity           string
	Renewed            int64 // microseconds since 1970, by the owner's clock: another one with each write of the owner
	Valid              bool  // Info fits its seal
	Info               Info
}

// Info is the sealed part of a Lease.
type Info struct {
	Scheme string `json:"scheme"`
	Weight int    `json:"weight"`
	// LeaseMilliseconds is the replica's LeaseDuration. Others wait at least as long, even if their
	// own is shorter.
	LeaseMilliseconds int64 `json:"leaseMilliseconds,omitempty"`
	// Obeys is the UID of the sheet that the replica obeys, and Epoch the newest of it that it has
	// seen.
	Obeys string `json:"obeys,omitempty"`
	Epoch int64  `json:"epoch,omitempty"`
	// Released are the ranges that the replica has stopped to work on, as the sheet asks.
	Released []Release `json:"released,omitempty"`
	// Leaving says that the replica wants no ranges.
	Leaving bool `json:"leaving,omitempty"`
	// Stopped says that nothing runs any more under this UID, and never will.
	Stopped bool `json:"stopped,omitempty"`
}

// Release answers the request for a range.
type Release struct {
	First uint64 `json:"first"`
	Since int64  `json:"since"`
}

// Sheet is the assignment.
type Sheet struct {
	UID, Version string
	Valid        bool // Plan fits its seal
	Plan         Plan
}

// Plan is the sealed part of a sheet.
type Plan struct {
	Scheme string
	// UID is the sheet's, if it is open: a copy of a sheet is none.
	UID string
	// Epoch grows with each write. It is at least the time of the write in seconds since 1970, by
	// the writer's clock.
	Epoch int64
	// Open says that ranges may be given away.
	Open   bool
	Ranges assign.Table
	// Names are the identities of the owners, by ID.
	Names map[string]string
	// LeaseMilliseconds is the longest LeaseDuration of all replicas: a Lease that says so may have
	// been deleted.
	LeaseMilliseconds int64
}

// View is a state of the Leases. Nobody changes it.
type View struct {
	Records []*Record
	Sheet   *Sheet // nil: there is none
	// Rewound says that the server was restored from a backup since the view before.
	Rewound bool
}

// Hold is a range that the replica may work on.
type Hold struct {
	First, Last uint64 // both included
	Number      int64
}

// Ends is for package hashrange.
func (h *Hold) Ends() (first, last *uint64) { return &h.First, &h.Last }

// Verb is a kind of request.
type Verb uint8

const (
	CreateLease Verb = iota
	RenewLease
	FenceLease // write Stopped into the Lease of another life
	DeleteLease
	CreateSheet
	WriteSheet
	DeleteSheet
)

func (v Verb) String() string {
	return [...]string{"create Lease", "renew Lease", "fence Lease", "delete Lease", "create assignment", "write assignment", "delete assignment"}[v]
}

// Request is a request that is to be sent. UID and Version are preconditions, if they are not
// empty.
type Request struct {
	Verb               Verb
	Name, UID, Version string
	Identity           string // of FenceLease: whose Lease it is
	Info               Info   // of CreateLease, RenewLease, FenceLease
	Renewed            int64  // of the same: of FenceLease as it was
	Plan               Plan   // of CreateSheet, WriteSheet
	Limit              time.Duration

	sent time.Duration
}

// Outcome is the answer to a request.
type Outcome uint8

const (
	Done   Outcome = iota // UID and Version of the event are the object's
	Raced                 // the object has another state than was expected, so nothing was written
	Failed                // nobody knows
)

// What is a kind of event.
type What uint8

const (
	Woke     What = iota // time has passed, or work has ended
	Seen                 // View is a new view
	Answered             // the request Lease or Table has ended
	Cancel               // the caller wants an end; once
)

// Event is an input of a replica's state machine.
type Event struct {
	What    What
	View    *View
	Table   bool // Answered: it is Actions.Table that has ended
	Outcome Outcome
	UID     string
	Version string
	Err     error // of Failed
	// Busy reports whether work on hashes from first to last runs. It must not be nil.
	Busy func(first, last uint64) bool
}

// Actions are the tasks that follow a step, in this order.
type Actions struct {
	// Lost is the reason why all contexts of work are to end, nil if they need not.
	Lost *LostError
	// Holds are the ranges to work on from now on, if Changed. In others, no work may begin.
	Holds   []Hold
	Changed bool
	Lease   *Request // to send; at most one is under way
	Table   *Request // the same
	Reports []error
	Over    bool
}

var (
	ErrExpired  = errors.New("its Lease could not be renewed in time")
	ErrBlind    = errors.New("the watch of Leases brings nothing")
	ErrDeleted  = errors.New("somebody has deleted its Lease")
	ErrEdited   = errors.New("somebody has changed its Lease")
	ErrExcluded = errors.New("others saw no renewal of its Lease in time")
	ErrRestored = errors.New("the server was restored from a backup")
	ErrScheme   = errors.New("another controller has this name, or hashes its keys in another way")
	ErrIdentity = errors.New("another process has the same identity")
	ErrSheet    = errors.New("the assignment was edited, or set back: everything is assigned anew")
)

// LostError says that a life is over. It is not among the reports.
type LostError struct {
	Name string
	Err  error
}

func (e *LostError) Error() string { return e.Name + ": " + e.Err.Error() }

// RequestError says that a request failed. It is tried again.
type RequestError struct {
	Verb Verb
	Name string
	Err  error
}

func (e *RequestError) Error() string {
	return fmt.Sprintf("cannot %s %q: %v", e.Verb, e.Name, e.Err)
}

// Unwrap returns Err.
func (e *RequestError) Unwrap() error { return e.Err }
