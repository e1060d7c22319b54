package shard

import (
	"cmp"
	"fmt"
	"log/slog"
	"time"

	"github.com/kinform/kinform/shard/internal/assign"
	"github.com/kinform/kinform/shard/internal/leases"
	"github.com/kinform/kinform/shard/internal/replica"
)

// The values of Options that are zero: 15, 10 and 2 seconds, as in client-go.
const (
	DefaultLeaseDuration = leases.DefaultLeaseDuration
	DefaultRenewDeadline = leases.DefaultRenewDeadline
	DefaultRetryPeriod   = leases.DefaultRetryPeriod
)

const (
	// MaxName limits Options.Name: it is the value of a label, and the beginning of the names of
	// Leases.
	MaxName = 63
	// MaxIdentity limits Options.Identity.
	MaxIdentity = leases.MaxIdentity
	// MaxWeight limits Options.Weight.
	MaxWeight = assign.MaxWeight
)

// Options configures a [Replica]. Namespace and Name must be set. All replicas must have the same
// Namespace, Name and Scheme, and each its own Identity.
type Options struct {
	// Namespace is the Leases' namespace. Name is the name of the controller and of the Lease with
	// the assignment: a DNS subdomain of at most [MaxName] bytes. Two controllers need two names,
	// and so do a controller and a leader election.
	Namespace, Name string

	// Scheme names the text that is hashed and the hash, such as "key". A replica whose Scheme
	// differs from the assignment's does not take part, and reports [ErrScheme]: with another hash,
	// two replicas would own one key. To change the Scheme, end all replicas first, or change Name
	// and end them. Empty means "key".
	Scheme string

	// Identity names this process, such as a pod's name. A process that starts again under the name
	// of an ended one gets the ranges of that, unless others have them by now. A second process
	// with the name of a running one gets nothing, and reports [ErrIdentity]. It is valid UTF-8 of
	// at most [MaxIdentity] bytes. Empty means the name of the host with a random suffix.
	Identity string

	// Weight is the share of this replica in proportion to the others' weights. Zero means 1. It
	// must not be negative or more than [MaxWeight].
	Weight int

	// LeaseDuration is how long others wait after the last renewal that they saw. If replicas have
	// different values, the longest that a replica has seen counts until its process ends. This does
	// not protect a replica if somebody deletes all Leases and then only processes with shorter
	// durations start. Zero means [DefaultLeaseDuration].
	LeaseDuration time.Duration

	// RenewDeadline is how long this replica works after it has sent the last renewal that
	// succeeded. It must be less than LeaseDuration. Each request has half of it to be answered.
	// Zero means [DefaultRenewDeadline].
	RenewDeadline time.Duration

	// RetryPeriod is the time between two renewals. Twice as much must be less than RenewDeadline.
	// Zero means [DefaultRetryPeriod].
	RetryPeriod time.Duration

	// Grace is how long ranges wait for a process of the same Identity, after the last sign of life
	// of their owner. Nobody works on their keys meanwhile. It helps a StatefulSet, whose pods keep
	// their names, to keep ranges through a restart. Zero means that they go to others at once, if
	// no such process is there.
	Grace time.Duration

	// OnError gets each failed request as a [*RequestError], the reason when this replica loses its
	// Lease as a [*LostError], and errors of Keys.CatchUp. It is called in its own goroutine, one
	// call at a time. While a call runs, up to 16 errors wait, and further ones are logged. Nil
	// logs the errors to Logger at level Warn.
	OnError func(error)

	// Logger gets the errors if OnError is nil, and the records of the watch of Leases. Nil means
	// slog.Default().
	Logger *slog.Logger
}

// complete returns the options with defaults, or an error that names all that is wrong.
func (o Options) complete() (Options, error) {
	s := leases.Settings{
		Namespace: o.Namespace, Name: o.Name, Identity: o.Identity,
		LeaseDuration: o.LeaseDuration, RenewDeadline: o.RenewDeadline, RetryPeriod: o.RetryPeriod,
	}.Complete()
	o.Identity, o.LeaseDuration, o.RenewDeadline, o.RetryPeriod = s.Identity, s.LeaseDuration, s.RenewDeadline, s.RetryPeriod
	o.Scheme = cmp.Or(o.Scheme, "key")
	o.Weight = cmp.Or(o.Weight, 1)
	var faults leases.Faults
	faults.CheckSettings(s)
	faults.Check(len(o.Name) <= MaxName, "Options.Name has %d bytes, and at most %d are allowed", len(o.Name), MaxName)
	faults.CheckText("Scheme", o.Scheme)
	faults.Check(o.Weight >= 0 && o.Weight <= MaxWeight, "Options.Weight (%d) must be from 1 to %d", o.Weight, MaxWeight)
	faults.Check(o.RenewDeadline > 2*o.RetryPeriod, "Options.RenewDeadline (%v) must be more than twice RetryPeriod (%v)", o.RenewDeadline, o.RetryPeriod)
	faults.Check(o.Grace >= 0, "Options.Grace must not be negative")
	if err := faults.Err(ErrInvalid); err != nil {
		return o, fmt.Errorf("shard: %w", err)
	}
	return o, nil
}

func (o Options) config() replica.Config {
	return replica.Config{
		Name: o.Name, Identity: o.Identity, Scheme: o.Scheme, Weight: o.Weight,
		LeaseDuration: o.LeaseDuration, RenewDeadline: o.RenewDeadline, RetryPeriod: o.RetryPeriod, Grace: o.Grace,
	}
}
