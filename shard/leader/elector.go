package leader

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/internal/logs"
	"github.com/kinform/kinform/shard/internal/gate"
)

// Elector is one candidate. Make one with [New]. It implements manager.Elector of
// controller/manager. Its methods may be called from any goroutine.
type Elector struct {
	// Set by New and never changed.
	opts    Options
	invalid error // what New found wrong
	client  leaseClient
	log     logs.Log
	gate    *gate.Gate // open while this process holds the Lease

	mu      sync.Mutex
	running bool
	status  status
	past    past
}

// past is what a leadership leaves behind for the next call of Lead.
type past struct {
	record     record    // the newest one that this candidate has certainly written, zero if there is none
	unanswered []int64   // the renew times of later renewals that may be carried out or not
	over       time.Time // when the writes of work have arrived
}

// has reports whether r is a record of that leadership. Nobody takes a Lease and leaves such a record behind.
func (p past) has(r record) bool {
	renewal := p.record
	renewal.version, renewal.renewed = r.version, r.renewed
	return r == p.record || r == renewal && slices.Contains(p.unanswered, r.renewed)
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
	return &Elector{opts: opts, invalid: errors.Join(invalid, err), client: c, log: logs.New(opts.Logger, "leader", ""), gate: gate.New(errFenced, errCut)}
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

// Gate returns a connection like server that refuses writes when this process does not hold the Lease: the error matches
// client.ErrNotSent. Reads always pass. The end of the lease also ends the writes that are under way. Open the handles
// with which work writes with it, and what all processes write, such as events, with another one.
//
// A write with the context of work, or one derived from it, is also refused when work has returned, and when the
// leadership was lost since, even if this process leads again. So pass that context on.
//
// If a write of work gets no answer, as after a timeout, it may still arrive. So an orderly end keeps the Lease for
// LeaseDuration - RenewDeadline after it. Give a controller a queue.RunOptions.Grace that is longer than a call, so that
// a stop does not cut its writes off. It does not count when the leadership is lost.
func (e *Elector) Gate(server client.Connection) client.Connection { return e.gate.Guard(server) }

func (e *Elector) key() types.NamespacedName {
	return types.NamespacedName{Namespace: e.opts.Namespace, Name: e.opts.Name}
}

// begin reports whether no other call of Lead runs, and returns what the last one has left.
func (e *Elector) begin() (past, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.running {
		return past{}, false
	}
	e.running, e.status = true, status{}
	return e.past, true
}

// end ends a call of Lead.
func (e *Elector) end(left past) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.running, e.past = false, left
}

func (e *Elector) publish(s status) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.status = s
}
