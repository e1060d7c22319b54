package leader

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/internal/logs"
)

// Elector is one candidate. Make one with [New]. It implements manager.Elector of
// controller/manager. Its methods may be called from any goroutine.
type Elector struct {
	// Set by New and never changed.
	opts    Options
	invalid error // what New found wrong
	client  leaseClient
	log     logs.Log

	mu      sync.Mutex
	running bool
	status  status
}

// leaseClient has the requests of a client.Resource that a candidate sends. Thanks to the
// interface, packages that import this one are not compiled with the code of a client of Leases.
type leaseClient interface {
	Get(ctx context.Context, key types.NamespacedName, opts metav1.GetOptions) (*Lease, error)
	Create(ctx context.Context, l *Lease, opts metav1.CreateOptions) (*Lease, error)
	Patch(ctx context.Context, key types.NamespacedName, pt types.PatchType, data []byte, opts metav1.PatchOptions) (*Lease, error)
}

// status is the part of the state that other goroutines may read.
type status struct {
	leader  string
	leads   bool // as far as was decided; until says more
	works   bool // work was called and has not returned
	until   time.Time
	renewed time.Time
}

// New returns a candidate. It sends nothing. What is wrong is kept: [Elector.Err] and Lead return it. It wraps
// [ErrInvalid] if Options are not usable, or is an error of client.New.
//
// The candidate does not use the Limiter and the Retries of server: a renewal must not wait behind
// other requests, and repeats itself.
func New(server client.Connection, opts Options) *Elector {
	opts, invalid := opts.complete()
	server.Retries, server.Limiter = -1, nil
	c, err := client.New(server, Kind, client.Options{})
	if err != nil {
		err = fmt.Errorf("leader: %w", err)
	}
	return &Elector{opts: opts, invalid: errors.Join(invalid, err), client: c, log: logs.New(opts.Logger, "leader", "")}
}

// Err returns what is wrong with the setup: the error of [New]. Nil means nothing.
func (e *Elector) Err() error { return e.invalid }

// Identity returns the name of this process in the Lease.
func (e *Elector) Identity() string { return e.opts.Identity }

// Leader returns the identity of the holder of the Lease, as this candidate last saw it: empty if
// there is none, or before the first look.
func (e *Elector) Leader() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.status.leader
}

// Leads reports whether this process leads now. It reads the clock. So it is false at once in a
// process that was stopped for longer than its lease, even before the context of work has ended:
// ask it right before a write that must not come from a former leader.
func (e *Elector) Leads() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.status.leads && time.Now().Before(e.status.until)
}

// Healthy returns a check for a liveness probe. A manager with this Elector has it already, with 20
// seconds. The check fails if work goes on although this process could not renew the Lease for
// LeaseDuration and tolerance: then work ignores its context, or the process is stuck, and should be
// killed. It is client-go's HealthzAdaptor. It passes in a process that does not lead.
func (e *Elector) Healthy(tolerance time.Duration) func(context.Context) error {
	return func(context.Context) error {
		e.mu.Lock()
		defer e.mu.Unlock()
		if since := time.Since(e.status.renewed); e.status.works && since > e.opts.LeaseDuration+tolerance {
			return fmt.Errorf("leader: Lease %s: work goes on, but the Lease was not renewed for %v", e.key(), since)
		}
		return nil
	}
}

func (e *Elector) key() types.NamespacedName {
	return types.NamespacedName{Namespace: e.opts.Namespace, Name: e.opts.Name}
}

// begin reports whether no other call of Lead runs.
func (e *Elector) begin() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.running {
		return false
	}
	e.running, e.status = true, status{}
	return true
}

func (e *Elector) end() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.running = false
}

func (e *Elector) publish(s status) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.status = s
}
