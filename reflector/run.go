package reflector

import (
	"context"
	"errors"
	"log/slog"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/internal/logs"
)

// run is Reflector.Run.
func (p *protocol) run(ctx context.Context) error {
	if !p.running.CompareAndSwap(false, true) {
		return ErrStarted
	}
	defer p.endFailing()
	stop, err := p.follows.follow(ctx)
	if err != nil {
		return err
	}
	defer stop()
	for ctx.Err() == nil {
		of, ready, err := p.follows.turn(ctx, &p.state, &p.stats, p.log, p.sink)
		if ready {
			ready, err = p.listOrCheck(of)
		}
		if ready {
			// Called here, and not there, so that little of the stack is in use during a watch.
			err = p.watchOnce(of)
		}
		if err != nil && ctx.Err() == nil && !(interrupted(of) && isCanceled(err)) {
			return err
		}
	}
	if p.state.token != "" {
		p.sink.Discard() // between two pages
	}
	return nil
}

// listOrCheck waits until the breaker admits a request, and sends the next one unless that is a
// watch. The error is the sink's, and nil if ctx is done.
func (p *protocol) listOrCheck(ctx context.Context) (watches bool, err error) {
	isBack := p.breaker.admit(ctx, &p.opts.Backoff)
	if ctx.Err() != nil {
		return false, nil
	}
	if isBack {
		p.spareList()
	}
	switch p.state.phase {
	case listing:
		if err = p.listOnce(ctx); ctx.Err() != nil {
			err = nil
		}
	case checking:
		p.checkServer(ctx)
	case polling:
		p.poll(ctx)
	default:
		watches = true
	}
	return watches, err
}

// listOnce asks for one page and carries out the step that follows. The error is the sink's.
func (p *protocol) listOnce(ctx context.Context) error {
	began := time.Now()
	c := p.beginCall(ctx, true, p.state.version())
	defer c.stop()
	trial := !p.state.trial.IsZero()
	if trial {
		c.attempt.answerWithin(trialLimit)
	}
	if p.state.renews {
		c.attempt.keepTo(p.renewal)
	}
	p.listPage(c)
	p.endCall(c)
	page, err := c.page, c.err
	if p.state.renews && page.Continue == "" && !errors.Is(err, errOtherConnection) {
		p.waits.renewal.take(time.Now(), renewEvery) // a list that was given up is none
	}
	if c.sinkErr != nil || ctx.Err() != nil {
		p.state.token = ""
		p.sink.Discard()
		return c.sinkErr
	}
	var st step
	inPlace := p.state.renews || trial
	if err != nil {
		p.state, st = p.state.listFailed(err)
	} else {
		p.breaker.answered()
		p.countExpected(page)
		p.state, st = p.state.pageListed(page, p.emptyPage, p.listed.version)
	}
	if inPlace && st.discard {
		p.verifyHistory(st.pause) // unless the next request is another list
	}
	if st.replace {
		p.silence.instead = p.silence.instead || trial
		return p.replace(ctx)
	}
	p.carryOut(ctx, st, c.asked, began)
	return nil
}

// call is a call of the source's List.
type call struct {
	guard
	attempt *Attempt // nil if the source is not a Server
	dog     *watchdog

	page    metav1.ListMeta
	err     error
	sinkErr error // why the sink refused an object
}

// beginCall begins a call for a page, or for the list of one object, at the version asked. The list of one
// object is answered as fast as a watch.
func (p *protocol) beginCall(ctx context.Context, page bool, asked string) *call {
	request, attempt := p.beginRequest(ctx, page, nil)
	c := &call{guard: guard{request: request, asked: RequestError{Verb: "list", ResourceVersion: asked}}, attempt: attempt}
	c.dog = p.guardCall(&c.guard)
	return c
}

// endCall follows the end of a call, and finds out why it failed.
func (p *protocol) endCall(c *call) {
	p.returned(&c.guard, c.dog)
	c.err = causeOf(c.request, c.err)
	c.attempt.end()
}

// stop ends a call also when the source or the sink panics.
func (c *call) stop() {
	c.dog.stop()
	c.attempt.end()
}

// beginRequest begins a request. If the answer is not a refusal, accepted is called, which may be nil. The
// attempt is nil if the source is not a Server.
func (p *protocol) beginRequest(ctx context.Context, list bool, accepted func()) (context.Context, *Attempt) {
	if !p.server {
		return ctx, nil
	}
	return p.breaker.begin(ctx, list, accepted)
}

// causeOf returns the reason why a request failed that returned err. The breaker's reason for
// giving the request up goes before the source's error.
func causeOf(ctx context.Context, err error) error {
	for _, reason := range []error{ErrUnanswered, errOtherConnection} {
		if err != nil && errors.Is(context.Cause(ctx), reason) {
			return reason
		}
	}
	return err
}

// replace ends a complete list.
func (p *protocol) replace(ctx context.Context) error {
	p.succeededList()
	p.silence.listed(time.Now(), scale(silentPatience(p.opts.Backoff.Max), 1+p.opts.Backoff.Random()))
	p.notePolling()
	p.waits.listed()
	p.noteRewind()
	p.renewal = nil
	p.recent = recentEvents{listed: p.listed.object, empty: p.emptyList}
	p.requests.endList(true)
	p.stats.listEnds(time.Since(p.listed.began))
	p.listed = nil
	p.stats.saw(p.state.rv, 0)
	p.log.Debug("list is whole", slog.String("resourceVersion", p.state.rv), slog.Uint64("objects", p.stats.listed.Load()))
	if err := p.sink.Replace(ctx, p.state.rv); err != nil {
		return err
	}
	p.follows.listed()
	return nil
}

// beginList records that a list begins, by LIST or as a stream.
func (p *protocol) beginList(verb string) {
	p.requests.endList(false)
	p.listed, p.emptyList = &newestListed{began: time.Now()}, true
	p.stats.expectList()
	p.log.Debug("list begins", slog.String("verb", verb), slog.String("resourceVersion", p.state.version()))
}

// listPage passes the objects of one page to the sink.
func (p *protocol) listPage(c *call) {
	if p.state.token == "" {
		p.beginList("list")
	}
	p.emptyPage = true
	p.requests.list(c)
}

// countListed counts an object of a list before the sink gets it.
func (p *protocol) countListed(typ EventType, recalled bool) {
	if typ == Added {
		p.stats.listed.Add(1)
	}
	if recalled {
		p.stats.recalled.Add(1)
	}
	p.emptyList = false
}

// skipListed follows an object of a page that could not be used.
func (p *protocol) skipListed(err error) {
	bad := p.badObject(err)
	if bad == nil {
		bad = p.badObject(&ObjectError{Resource: p.resource, Err: err})
	}
	p.emptyList = false
	p.sink.Skipped(bad)
}

// countExpected records how many objects the list will have, if page says so.
func (p *protocol) countExpected(page metav1.ListMeta) {
	if page.RemainingItemCount != nil {
		p.stats.expected.Store(p.stats.listed.Load() + uint64(max(*page.RemainingItemCount, 0)))
	} else if page.Continue == "" {
		p.stats.expected.Store(p.stats.listed.Load())
	}
}

// badObject reports err and returns it if it concerns a single object. Otherwise it returns
// nil.
func (p *protocol) badObject(err error) *ObjectError {
	var bad *ObjectError
	if !errors.As(err, &bad) {
		return nil
	}
	p.stats.badObjects.Add(1)
	p.opts.OnError(err)
	return bad
}

// carryOut carries out st, except for replace: it reports the failure, if there is one, of a
// request that began at the given time, and waits. It does not wait for the breaker's turn;
// admit does.
func (p *protocol) carryOut(ctx context.Context, st step, report RequestError, began time.Time) {
	p.notePolling()
	if st.discard {
		p.stats.listed.Store(0)
		p.listed = nil
		p.requests.endList(false)
		p.sink.Discard()
	}
	var wait, queue time.Duration
	if st.err != nil {
		wait, queue = p.waitAfter(&st, began)
	} else {
		wait = p.waits.after(time.Now(), st.pause, 0)
	}
	p.listInstead(&st, report, wait)
	hold := p.noteRelist(st)
	wait = max(wait, hold)
	if st.err == nil {
		p.breaker.sleep(ctx, noPause, wait, wait)
		return
	}
	p.stats.failures.Add(1)
	report.Resource, report.RetryIn, report.Err = p.resource, wait+queue, st.err
	now := time.Now()
	p.stats.fails(&report, now, now.Add(report.RetryIn))
	p.failing = true
	p.opts.OnError(&report)
	p.follows.holdOff(st.atLeast)
	if p.follows.goOn(&p.state, wait) {
		// Nobody knows what has become of the server since that watch. To have it repeat events costs
		// nothing. A doubt would cost a list, and lists fail.
		if from, _ := p.recent.replayFrom(); from != "" || st.pause.connectionLost() {
			p.state.confirmed = false
			p.verifyHistory(st.pause)
		}
		return
	}
	if p.waits.inTurn(st.pause) {
		p.breaker.takeTurn(ctx, st.pause, p.waits.turnEvery(), wait)
		return
	}
	// The success of other reflectors is no reason to ask before the time that the server named.
	if p.breaker.sleep(ctx, st.pause, max(hold, st.atLeast), wait) {
		p.spareList()
	}
}

// listInstead replaces the watch that follows the one that ended, after a wait, by a list if one is due.
func (p *protocol) listInstead(st *step, ended RequestError, wait time.Duration) {
	next := time.Now().Add(wait)
	if ended.Verb != "watch" || st.relist != noRelist {
		return
	}
	if p.silence.listIsDue(next) {
		p.silence.shown = next // if the list fails, too, the next one has its time
	} else if !p.state.listIsDue(next, st.err) {
		return
	}
	// One who may not watch may be denied everything, until a list has come since.
	verify := !p.opts.TrustVersions && (st.pause != pauseDenied || p.state.byLists)
	p.state, st.relist = p.state.instead(next, verify)
}

// noteRelist records that a list replaces a watch, if one does. It returns how long the list has to
// wait, so that no server can ask for lists without end.
func (p *protocol) noteRelist(st step) time.Duration {
	if st.relist == noRelist {
		return 0
	}
	logRelist(&p.stats, p.log, st.relist, p.state.rv)
	return p.waits.relist.take(time.Now(), repeatEvery)
}

// logRelist counts and logs a list in place of a watch from version rv.
func logRelist(stats *counters, log logs.Log, why relistReason, rv string) {
	stats.relisted(why, time.Now())
	log.Debug("lists again", slog.String("reason", why.String()), slog.String("resourceVersion", rv))
}

// waitAfter tells the breaker about a failure. It returns how long to wait because of it, and how
// long the breaker may hold up the next request after that. If the server is not away, a request
// without an answer is one that broke off.
func (p *protocol) waitAfter(st *step, began time.Time) (wait, queue time.Duration) {
	if st.pause == pauseAway {
		var away bool
		if queue, away = p.breaker.failed(began, p.opts.Backoff); !away {
			st.pause = pauseResume
		}
	}
	switch {
	case isStatus(st.err):
		p.breaker.answered()
	case st.pause == pauseResume || st.pause == pauseRetry:
		p.breaker.broke()
	}
	// Waits that grew in an outage say nothing about the server that is back.
	if n := p.breaker.longOutageCount(); n != p.outages || st.resetBackoff {
		p.outages = n
		p.waits.reset()
	}
	p.setReason(st.pause)
	now := time.Now()
	p.waits.lasted = now.Sub(began)
	wait = p.waits.after(now, st.pause, st.atLeast)
	// The spread is wide: with a narrow one all would wait at once, and nobody would notice a server that is back.
	share := scale(p.breaker.countFailing(st.pause, 0), 0.5+p.opts.Backoff.Random())
	switch {
	case st.pause == pauseDenied:
		wait = max(wait, share)
	case st.pause == pauseBusy && st.atLeast > 0 && (st.relist == noRelist || st.relist == becauseFailing):
		// The server has named a time. All reflectors together bring it few requests then.
		wait = min(wait, max(st.atLeast+p.waits.spread(), share))
	case st.pause == pauseBusy && !st.discard && p.state.byLists && p.state.failedLists == 0:
		wait = min(wait, p.state.untilDue(now)+p.waits.upTo(p.state.patience/spreadShare)) // lists work
	case p.waits.inTurn(st.pause):
		queue = p.breaker.turn(st.pause, p.waits.turnEvery())
	}
	return wait, queue
}

// setReason records why the last request failed.
func (p *protocol) setReason(why pause) {
	if why == noPause || why == p.reason {
		return
	}
	p.forgetReason()
	p.reason = why
	p.breaker.countFailing(why, 1)
}

// succeeded records the success of a watch: it was accepted, or brought something.
func (p *protocol) succeeded() {
	why := p.endFailing()
	if p.vain != noPause {
		why, p.vain = p.vain, noPause
	}
	p.breaker.succeeded(why)
}

// watchLasted is succeeded for a watch that has lasted after one that was in vain for the reason why. It
// runs in another goroutine than Run.
func (p *protocol) watchLasted(why pause) {
	p.stats.fails(nil, time.Time{}, time.Time{})
	p.breaker.succeeded(why)
}

// succeededList is succeeded for a complete list. If watches fail, it says nothing about them: the
// next one will tell.
func (p *protocol) succeededList() {
	if p.reason == pauseRetry || p.state.dry.IsZero() && p.vain == noPause {
		p.breaker.succeeded(p.endFailing())
		return
	}
	p.notFailing()
}

// endFailing records that the reflector does not fail any more, and returns why it did. Nothing
// follows from that for other reflectors.
func (p *protocol) endFailing() pause {
	p.notFailing()
	return p.forgetReason()
}

// notFailing ends Stats.Failing.
func (p *protocol) notFailing() {
	if p.failing {
		p.failing = false
		p.stats.fails(nil, time.Time{}, time.Time{})
	}
}

// forgetReason returns why the last request failed, for the last time.
func (p *protocol) forgetReason() (why pause) {
	why, p.reason = p.reason, noPause
	if why != noPause {
		p.breaker.countFailing(why, -1)
	}
	return why
}
