package leader

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kinform/kinform/internal/lot"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/internal/usercode"
	"github.com/kinform/kinform/shard/internal/gate"
)

// run is one call of Lead. Its goroutine owns all of it.
type run struct {
	e    *Elector
	ctx  context.Context
	work func(context.Context)

	core  core
	begun time.Time

	answers chan event // one element: an answer
	returns chan event // one element: the return of work
	timer   *time.Timer

	endWork    context.CancelCauseFunc // nil unless work runs
	pass       *gate.Pass              // for the writes of work
	endRequest context.CancelFunc      // nil unless a request is under way
	reporter   *reporter
}

// Lead waits until this process leads, and then calls work in a new goroutine. The context of work
// is derived from ctx. It also ends when the leadership is lost; its cause is then a [*LostError].
//
// Lead renews the Lease until work has returned, then gives it up, and returns. The result is nil
// if ctx is done or work has returned by itself, a *PanicError if work panicked, and otherwise the
// LostError. If work panicked after the loss, both are joined. Lead calls work at most once. A
// request that fails is reported and tried again, so without a leadership Lead waits as long as ctx
// lasts.
//
// Lead returns [Elector.Err] at once if that is not nil, [ErrRunning] while another call runs, and [ErrNoFunc]. It may
// be called again after it has returned. If nobody else has changed the Lease since this Elector led, it then leads as soon
// as LeaseDuration has passed since its last renewal. Every goroutine that it started has ended when it returns.
func (e *Elector) Lead(ctx context.Context, work func(context.Context)) error {
	if e.invalid != nil {
		return e.invalid
	}
	if work == nil {
		return fmt.Errorf("leader: %s: %w", e.key(), ErrNoFunc)
	}
	left, ok := e.begin()
	if !ok {
		return fmt.Errorf("leader: %s: %w", e.key(), ErrRunning)
	}
	defer func() { e.end(left) }()
	if ctx.Err() != nil {
		return nil
	}
	r := &run{
		e: e, ctx: ctx, work: work, begun: time.Now(),
		core:    core{key: e.key(), identity: e.opts.Identity, timing: timing{e.opts.LeaseDuration, e.opts.RenewDeadline, e.opts.RetryPeriod}},
		answers: make(chan event, 1), returns: make(chan event, 1), timer: time.NewTimer(0), reporter: newReporter(e),
	}
	defer r.reporter.close()
	defer r.timer.Stop()
	r.core.past, r.core.pastOver = left, left.over.Sub(r.begun)
	r.reporter.debug("stands for the Lease")
	r.loop()
	if (r.core.own != record{}) {
		left = past{r.core.own, r.core.unanswered, r.begun.Add(r.core.renewed + e.opts.LeaseDuration)}
	}
	return r.core.result
}

// loop feeds the core until nothing is left to do.
func (r *run) loop() {
	done := r.ctx.Done()
	for {
		var ev event
		select {
		case ev = <-r.answers:
			r.endRequest()
			r.endRequest = nil
		case ev = <-r.returns:
			r.endWork(nil)
			r.endWork = nil
		case <-done:
			done, ev = nil, event{what: cancelled}
		case <-r.timer.C:
		}
		do := r.core.step(r.now(), ev)
		r.apply(do)
		if do.over {
			r.reporter.debug("does not stand for the Lease any more")
			return
		}
		if at := r.core.wake(); at == never {
			r.timer.Stop()
		} else {
			r.timer.Reset(time.Until(r.begun.Add(at)))
		}
	}
}

func (r *run) now() moment {
	now := time.Now()
	return moment{mono: now.Sub(r.begun), wall: now, rand: lot.Fraction(0)}
}

// apply carries out the actions of the core.
func (r *run) apply(do actions) {
	if do.endWork != nil {
		if r.endWork != nil { // work may have returned just now
			r.endWork(do.endWork) // first: its cause is that of the writes
			r.pass.End()
		}
		r.reporter.debug("does not lead any more")
	}
	if do.abort {
		r.endRequest()
	}
	until := time.Time{}
	if r.core.keeps() {
		until = r.begun.Add(r.core.until())
	}
	r.e.gate.Limit(until)
	works := r.endWork != nil || do.startWork
	r.e.publish(status{
		leader: r.core.leader(), leads: r.core.phase == leading, works: works,
		until: r.begun.Add(r.core.until()), renewed: r.begun.Add(r.core.renewed),
	})
	if do.startWork {
		r.startWork()
	}
	if do.send != nil {
		r.send(*do.send)
	}
	for _, err := range do.reports {
		r.reporter.error(err)
	}
	r.reporter.leader(r.core.leader())
}

// startWork calls work in a goroutine, which loop waits for.
func (r *run) startWork() {
	r.reporter.debug("leads")
	ctx, cancel := context.WithCancelCause(r.ctx)
	r.endWork = cancel
	ctx, r.pass = r.e.gate.Grant(ctx)
	pass := r.pass
	go func() {
		ev := event{what: returned}
		defer func() { // even if work ends its goroutine
			pass.End()
			r.outlast(ctx, pass)
			r.returns <- ev
		}()
		usercode.Contain("work", func() { r.work(ctx) }, func(err *usercode.PanicError) { ev.err = err })
	}()
}

// outlast waits until a write of work that has no answer cannot arrive any more. If the Lease is lost, others wait for as
// long anyway.
func (r *run) outlast(ctx context.Context, pass *gate.Pass) {
	if !errors.As(context.Cause(ctx), new(*LostError)) {
		time.Sleep(time.Until(pass.Unclear().Add(r.e.opts.LeaseDuration - r.e.opts.RenewDeadline)))
	}
}

// send sends a request in a goroutine, which loop waits for. The context of the request does not
// end with Lead's, because the Lease is kept while work returns.
func (r *run) send(what request) {
	ctx, cancel := context.WithDeadline(context.WithoutCancel(r.ctx), r.begun.Add(what.limit))
	r.endRequest = cancel
	go func() {
		ev := event{what: answered}
		defer func() { r.answers <- ev }()
		usercode.Contain("client", func() { ev.lease, ev.err = r.request(ctx, what) }, func(err *usercode.PanicError) { ev.err = err })
	}()
}

func (r *run) request(ctx context.Context, what request) (*Lease, error) {
	c, key := r.e.client, r.e.key()
	switch what.verb {
	case verbGet:
		return c.Get(ctx, key, metav1.GetOptions{})
	case verbCreate:
		l := &Lease{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}, Spec: what.write.spec()}
		return c.Create(ctx, l, metav1.CreateOptions{})
	}
	patch, err := what.write.patch(what.base)
	if err != nil {
		return nil, err
	}
	return c.Patch(ctx, key, types.MergePatchType, patch, metav1.PatchOptions{})
}
