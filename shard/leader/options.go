package leader

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/kinform/kinform/shard/internal/leases"
)

// The values of Options that are zero: 15, 10 and 2 seconds, as in client-go.
const (
	DefaultLeaseDuration = leases.DefaultLeaseDuration
	DefaultRenewDeadline = leases.DefaultRenewDeadline
	DefaultRetryPeriod   = leases.DefaultRetryPeriod
)

// jitter is the factor by which a pause between requests can be longer, client-go's.
const jitter = 1.2

// Options configures an [Elector]. Namespace and Name must be set. All candidates should have the
// same values, except for the identity.
type Options struct {
	// Namespace and Name identify the Lease. It is created when it is missing.
	Namespace, Name string

	// Identity names this process in the Lease, such as a pod's name. Each process needs another
	// one. It is valid UTF-8 of at most 253 bytes. Empty means the name of the host with a random
	// suffix.
	//
	// A process does not trust its identity: if the Lease has it at the start, it waits like
	// everybody else, since the holder may still run.
	Identity string

	// LeaseDuration is how long other candidates wait after the last renewal that they saw, by
	// their own clocks. The Lease has it in whole seconds, rounded up. A candidate waits for its
	// own LeaseDuration or for that in the Lease, whichever is longer. Zero means
	// [DefaultLeaseDuration].
	LeaseDuration time.Duration

	// RenewDeadline is how long this process leads after it has sent the last renewal that
	// succeeded, by its own monotonic clock. It must be less than LeaseDuration: work has the
	// difference to return, and the ratio bounds how much faster than the leader's a candidate's
	// clock may run. Each request has half of RenewDeadline to be answered. Zero means
	// [DefaultRenewDeadline].
	RenewDeadline time.Duration

	// RetryPeriod is the time between two renewals of a leader, and between two looks of a
	// candidate at the Lease: then longer by up to a fifth, at random. 1.2 times it must be less
	// than RenewDeadline. Zero means [DefaultRetryPeriod].
	RetryPeriod time.Duration

	// OnLeader gets the identity of the holder whenever this candidate sees another one: empty if
	// nobody holds the Lease. It is called in its own goroutine, one call at a time, without a
	// lock. While a call runs, further holders replace each other. Lead returns after the last
	// call. A panic in it is reported as a *PanicError. It may be nil.
	OnLeader func(identity string)

	// OnError gets each failed request as a [*RequestError], and a [*LostError] that Lead does not
	// return. It is called like OnLeader; while a call runs, up to 16 errors wait, and further ones
	// are logged. Nil logs the errors to Logger at level Warn.
	OnError func(error)

	// Logger gets records at level Debug when this process begins to stand for the Lease, leads,
	// and does not any more, and the errors if OnError is nil. Nil means slog.Default().
	Logger *slog.Logger
}

// complete returns the options with defaults, or an error that names all that is wrong.
func (o Options) complete() (Options, error) {
	s := leases.Settings{
		Namespace: o.Namespace, Name: o.Name, Identity: o.Identity,
		LeaseDuration: o.LeaseDuration, RenewDeadline: o.RenewDeadline, RetryPeriod: o.RetryPeriod,
	}.Complete()
	o.Identity, o.LeaseDuration, o.RenewDeadline, o.RetryPeriod = s.Identity, s.LeaseDuration, s.RenewDeadline, s.RetryPeriod
	var faults leases.Faults
	faults.CheckSettings(s)
	faults.Check(float64(o.RenewDeadline) > jitter*float64(o.RetryPeriod),
		"Options.RenewDeadline (%v) must be more than %v times RetryPeriod (%v)", o.RenewDeadline, jitter, o.RetryPeriod)
	if err := faults.Err(ErrInvalid); err != nil {
		return o, fmt.Errorf("leader: %w", err)
	}
	return o, nil
}

// timing are the durations of Options.
type timing struct{ leaseDuration, renewDeadline, retryPeriod time.Duration }

// request is how long an answer may take.
func (t timing) request() time.Duration { return t.renewDeadline / 2 }

// seconds is leaseDuration in the Lease. It is never shorter.
func (t timing) seconds() int32 {
	return int32((t.leaseDuration + time.Second - 1) / time.Second)
}
