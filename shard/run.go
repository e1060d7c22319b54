package shard

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/internal/lot"
	"github.com/kinform/kinform/internal/usercode"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/shard/internal/replica"
	"github.com/kinform/kinform/shard/leader"
)

// run is the call of Run. Its goroutine owns all of it.
type run struct {
	*Replica
	core  *replica.Core
	begun time.Time
	watch *watcher

	ctx     context.Context // ends with everything
	end     context.CancelFunc
	tasks   sync.WaitGroup
	answers chan replica.Event // two elements: an answer of each kind
	prepare context.CancelFunc // ends the goroutine that makes ranges ready, nil if there is none
	ready   chan struct{}      // closed when that has ended

	less chan struct{} // one element: Hashes may become less

	reports chan error
}

// maxReports is the number of errors that may wait for OnError.
const maxReports = 16

// Run takes part in the work until ctx is done. Call it when the caches that reconcile reads are
// filled: ranges may come at once. When ctx is done, Run waits for the running calls of reconcile,
// gives up its ranges, and returns nil. If a call does not return, neither does Run. The queue's
// workers may end before Run or after it. If they end at the same time, as in package
// controller/manager, give them a queue.RunOptions.Grace that is longer than a call: a write that
// is cut off holds its range, see [Replica.Gate].
//
// Failures are reported and tried again. Run returns [ErrStarted] when called twice. Every
// goroutine that it started has ended when it returns.
func (r *Replica) Run(ctx context.Context) error {
	r.mu.Lock()
	started := r.started
	r.started = true
	r.mu.Unlock()
	if started {
		return fmt.Errorf("shard: %s: %w", r.key(r.opts.Name), ErrStarted)
	}
	x := &run{
		Replica: r, begun: time.Now(), watch: newWatcher(r.opts.Name), answers: make(chan replica.Event, 2), less: make(chan struct{}, 1),
		reports: make(chan error, maxReports),
		core:    replica.New(r.opts.config(), func() string { return fmt.Sprintf("%016x", rand.Uint64()) }),
	}
	r.mu.Lock()
	r.watch = x.watch
	r.mu.Unlock()
	x.ctx, x.end = context.WithCancel(context.WithoutCancel(ctx))
	defer x.end()
	source, err := reflector.New[*leader.Lease](r.client, reflector.Sink[*leader.Lease](x.watch), reflector.Options{
		OnError: x.watchError, Logger: r.opts.Logger,
		Tuning: reflector.Tuning{
			Backoff:     reflector.Backoff{Max: r.opts.RetryPeriod},
			IdleTimeout: r.opts.RenewDeadline / 2, // own renewals come more often
		},
	})
	if err != nil {
		return fmt.Errorf("shard: %w", err)
	}
	var told sync.WaitGroup
	told.Go(func() {
		for err := range x.reports {
			usercode.Report(r.log, r.opts.OnError, err)
		}
	})
	x.tasks.Go(func() { _ = source.Run(x.ctx) }) // the sink has no errors, so it ends with ctx
	x.tasks.Go(x.shrink)
	x.loop(ctx)
	x.end()
	x.tasks.Wait()
	close(x.reports)
	told.Wait()
	return nil
}

// watchError reports a failure of the watch.
func (x *run) watchError(err error) {
	if failed := new(reflector.RequestError); errors.As(err, &failed) {
		err = &RequestError{Lease: x.key(x.opts.Name), Verb: "watch", Err: failed.Err}
	}
	x.report(err)
}

// report gives an error to OnError, or to the log if too many wait.
func (x *run) report(err error) {
	select {
	case x.reports <- err:
	default:
		x.log.Error(err)
	}
}

// loop feeds the core until nothing is left to do.
func (x *run) loop(ctx context.Context) {
	done := ctx.Done()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		var ev replica.Event
		select {
		case ev = <-x.answers:
		case <-x.watch.ready:
			v := x.watch.take()
			if v == nil {
				continue
			}
			ev = replica.Event{What: replica.Seen, View: v}
		case <-done:
			done, ev = nil, replica.Event{What: replica.Cancel}
		case <-x.wake:
			signal(x.less)
		case <-timer.C:
		}
		ev.Busy = x.busy
		now := time.Now()
		do := x.core.Step(replica.Moment{Mono: now.Sub(x.begun), Wall: now, Rand: lot.Fraction(0)}, ev)
		x.apply(do)
		if do.Over {
			x.unprepare()
			return
		}
		if x.core.Ended() {
			x.end() // requests that are under way
		}
		if at := x.core.Wake(); at == replica.Never {
			timer.Stop()
		} else {
			timer.Reset(time.Until(x.begun.Add(at)))
		}
	}
}

// apply carries out the actions of the core.
func (x *run) apply(do replica.Actions) {
	if do.Lost != nil {
		err := &LostError{Lease: x.key(do.Lost.Name), Err: do.Lost.Err}
		x.lose(err)
		x.report(err)
	}
	x.limit(x.begun.Add(x.core.Until()), x.core.ID())
	if do.Changed {
		missing, version := x.hold(do.Holds)
		x.unprepare()
		signal(x.less)
		if len(missing) > 0 {
			x.catchUp(missing, version)
		}
	}
	for _, q := range []*replica.Request{do.Lease, do.Table} {
		if q != nil {
			x.send(*q, q == do.Table)
		}
	}
	for _, err := range do.Reports {
		if failed, ok := err.(*replica.RequestError); ok {
			err = &RequestError{Lease: x.key(failed.Name), Verb: verbs[failed.Verb], Err: failed.Err}
		} else {
			err = fmt.Errorf("shard: assignment %s: %w", x.key(x.opts.Name), err)
		}
		x.report(err)
	}
}

// unprepare ends the goroutine that makes ranges ready. It does not wait for the user's function.
func (x *run) unprepare() {
	if x.prepare != nil {
		x.prepare()
		x.prepare = nil
	}
}

// shrink takes ranges that have moved out of Hashes, in a separate goroutine, because that may wait
// for handlers.
func (x *run) shrink() {
	for {
		select {
		case <-x.ctx.Done():
			return
		case <-x.less:
			if err := x.keep(); err != nil {
				x.report(fmt.Errorf("shard: the caches lack new ranges: %w", err))
			}
		}
	}
}

// catchUp makes ranges ready, in a goroutine that begins when the last one has ended.
func (x *run) catchUp(ranges []replica.Hold, version int) {
	ctx, cancel := context.WithCancel(x.ctx)
	before, ready := x.ready, make(chan struct{})
	x.prepare, x.ready = cancel, ready
	x.tasks.Go(func() {
		defer close(ready)
		if before != nil {
			<-before
		}
		if err := x.keep(); err != nil {
			x.report(fmt.Errorf("shard: the caches lack new ranges: %w", err))
		}
		if x.hashes.WaitForLists(ctx) != nil {
			return
		}
		for _, w := range x.works {
			for {
				err := w.catchUp(ctx)
				if ctx.Err() != nil {
					return
				}
				if err == nil {
					break
				}
				x.report(fmt.Errorf("shard: new ranges have to wait: %w", err))
				select {
				case <-ctx.Done():
					return
				case <-time.After(x.opts.RetryPeriod):
				}
			}
		}
		if !x.admit(ranges, version) {
			return
		}
		for _, w := range x.works {
			w.enqueue(func(hash uint64) bool { _, in := find(ranges, hash); return in }, func(err *PanicError) { x.report(err) })
		}
	})
}

// send sends a request in a goroutine.
func (x *run) send(q replica.Request, table bool) {
	ctx, cancel := context.WithDeadline(x.ctx, x.begun.Add(q.Limit))
	x.tasks.Go(func() {
		defer cancel()
		ev := replica.Event{What: replica.Answered, Table: table}
		defer func() { x.answers <- ev }()
		var l *leader.Lease
		var err error
		usercode.Contain("client", func() { l, err = x.request(ctx, q) }, func(p *PanicError) { err = p })
		switch {
		case err == nil && l != nil:
			ev.UID, ev.Version = string(l.UID), l.ResourceVersion
		case err == nil:
		case raced(q.Verb, err):
			ev.Outcome = replica.Raced
		default:
			ev.Outcome, ev.Err = replica.Failed, err
		}
	})
}

// verbs are the verbs of the API.
var verbs = map[replica.Verb]string{
	replica.CreateLease: "create", replica.RenewLease: "patch", replica.FenceLease: "patch", replica.DeleteLease: "delete",
	replica.CreateSheet: "create", replica.WriteSheet: "patch", replica.DeleteSheet: "delete",
}

// request returns the Lease that the server has now, nil after a deletion.
func (x *run) request(ctx context.Context, q replica.Request) (l *leader.Lease, err error) {
	switch key := x.key(q.Name); verbs[q.Verb] {
	case "create":
		l, err = x.newLease(q)
		if err == nil {
			l, err = x.client.Create(ctx, l, metav1.CreateOptions{})
		}
		if q.Verb == replica.CreateSheet && raced(q.Verb, err) {
			if there, failed := x.client.Get(ctx, key, metav1.GetOptions{}); failed == nil && there.Labels[LabelName] != x.opts.Name {
				err = ErrForeign
			}
		}
	case "delete":
		uid := types.UID(q.UID)
		just := &metav1.Preconditions{UID: &uid}
		if q.Verb == replica.DeleteSheet {
			just.ResourceVersion = &q.Version
		}
		return nil, x.client.Delete(ctx, key, metav1.DeleteOptions{Preconditions: just})
	default:
		identity := x.opts.Identity
		if q.Verb == replica.FenceLease {
			identity = q.Identity
		}
		var data []byte
		if data, err = x.patch(q, identity); err == nil {
			l, err = x.client.Patch(ctx, key, types.MergePatchType, data, metav1.PatchOptions{})
		}
	}
	if err == nil && (l == nil || l.UID == "" || l.ResourceVersion == "") {
		err = ErrNoResourceVersion
	}
	return l, err
}
