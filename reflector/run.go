package reflector

import (
	"context"
	"errors"
	"log/slog"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/internal/logs"
)

// Run lists and watches until ctx is done, and then returns nil. It returns the sink's error
// if the sink failed, and [ErrStarted] if Run was called before. Run works in its caller's
// goroutine, which owns the protocol state. A timer watches over each watch. It also returns the error of
// [Selection.Follow].
func (r *Reflector[T]) Run(ctx context.Context) error {
	if !r.running.CompareAndSwap(false, true) {
		return ErrStarted
	}
	defer endFailing(r)
	stop, err := r.follows.follow(ctx)
	if err != nil {
		return err
	}
	defer stop()
	for ctx.Err() == nil {
		of, ready, err := r.follows.turn(ctx, &r.state, &r.stats, r.log, r.sink)
		if ready {
			ready, err = listOrCheck(r, of)
		}
		if ready {
			// Called here, and not there, so that little of the stack is in use during a watch.
			err = watchOnce(r, of)
		}
		if err != nil && ctx.Err() == nil && !(interrupted(of) && isCanceled(err)) {
			return err
		}
	}
	if r.state.token != "" {
		r.sink.Discard() // between two pages
	}
	return nil
}

// listOrCheck waits until the breaker admits a request, and sends the next one unless that is a
// watch. The error is the sink's, and nil if ctx is done.
func listOrCheck[T any](r *Reflector[T], ctx context.Context) (watches bool, err error) {
	isBack := r.breaker.admit(ctx, &r.opts.Backoff)
	if ctx.Err() != nil {
		return false, nil
	}
	if isBack {
		spareList(r)
	}
	switch r.state.phase {
	case listing:
		if err = listOnce(r, ctx); ctx.Err() != nil {
			err = nil
		}
	case checking:
		checkServer(r, ctx)
	case polling:
		poll(r, ctx)
	default:
		watches = true
	}
	return watches, err
}

// listOnce asks for one page and carries out the step that follows. The error is the sink's.
func listOnce[T any](r *Reflector[T], ctx context.Context) error {
	began := time.Now()
	c := beginCall(r, ctx, true, r.state.version())
	defer c.stop()
	trial := !r.state.trial.IsZero()
	if trial {
		c.attempt.answerWithin(trialLimit)
	}
	if r.state.renews {
		c.attempt.keepTo(r.renewal)
	}
	page, sinkErr, err := listPage(r, c.request, c.dog)
	err = endCall(r, c, err)
	if r.state.renews && page.Continue == "" && !errors.Is(err, errOtherConnection) {
		r.waits.renewal.take(time.Now(), renewEvery) // a list that was given up is none
	}
	if sinkErr != nil || ctx.Err() != nil {
		r.state.token = ""
		r.sink.Discard()
		return sinkErr
	}
	var st step
	inPlace := r.state.renews || trial
	if err != nil {
		r.state, st = r.state.listFailed(err)
	} else {
		r.breaker.answered()
		countExpected(r, page)
		r.state, st = r.state.pageListed(page, r.emptyPage, r.listed.version)
	}
	if inPlace && st.discard {
		verifyHistory(r, st.pause) // unless the next request is another list
	}
	if st.replace {
		r.silence.instead = r.silence.instead || trial
		return replace(r, ctx)
	}
	carryOut(r, ctx, st, c.asked, began)
	return nil
}

// call is a call of the source's List.
type call struct {
	guard
	attempt *Attempt // nil if the source is not a Server
	dog     *watchdog
}

// beginCall begins a call for a page, or for the list of one object, at the version asked. The list of one
// object is answered as fast as a watch.
func beginCall[T any](r *Reflector[T], ctx context.Context, page bool, asked string) *call {
	request, attempt := beginRequest(r, ctx, page, nil)
	c := &call{guard: guard{request: request, asked: RequestError{Verb: "list", ResourceVersion: asked}}, attempt: attempt}
	c.dog = guardCall(r, &c.guard)
	return c
}

// endCall follows the end of a call, and returns why it failed.
func endCall[T any](r *Reflector[T], c *call, err error) error {
	returned(r, &c.guard, c.dog)
	err = causeOf(c.request, err)
	c.attempt.end()
	return err
}

// stop ends a call also when the source or the sink panics.
func (c *call) stop() {
	c.dog.stop()
	c.attempt.end()
}

// beginRequest begins a request. If the answer is not a refusal, accepted is called, which may be nil. The
// attempt is nil if the source is not a Server.
func beginRequest[T any](r *Reflector[T], ctx context.Context, list bool, accepted func()) (context.Context, *Attempt) {
	if !r.server {
		return ctx, nil
	}
	return r.breaker.begin(ctx, list, accepted)
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
func replace[T any](r *Reflector[T], ctx context.Context) error {
	succeededList(r)
	r.silence.listed(time.Now(), scale(silentPatience(r.opts.Backoff.Max), 1+r.opts.Backoff.Random()))
	notePolling(r)
	r.waits.listed()
	noteRewind(r)
	r.renewal = nil
	r.recent = recentEvents[T]{listed: r.listed.object, empty: r.emptyList}
	r.stats.listEnds(time.Since(r.listed.began))
	r.listed = nil
	r.stats.saw(r.state.rv, 0)
	r.log.Debug("list is whole", slog.String("resourceVersion", r.state.rv), slog.Uint64("objects", r.stats.listed.Load()))
	if err := r.sink.Replace(ctx, r.state.rv); err != nil {
		return err
	}
	r.follows.listed()
	return nil
}

// beginList records that a list begins, by LIST or as a stream.
func beginList[T any](r *Reflector[T], verb string) {
	r.listed, r.emptyList = &newestListed[T]{began: time.Now()}, true
	r.stats.expectList()
	r.log.Debug("list begins", slog.String("verb", verb), slog.String("resourceVersion", r.state.version()))
}

// listPage passes the objects of one page to the sink.
func listPage[T any](r *Reflector[T], ctx context.Context, dog *watchdog) (page metav1.ListMeta, sinkErr, err error) {
	if r.state.token == "" {
		beginList(r, "list")
	}
	r.emptyPage = true
	defer endRecall(r.recall)
	defer settle(r.listed)
	source := beginRecall(r.recall, r.source)
	page, err = source.List(ctx, listOptions(r), func(ev Event[T], err error) bool {
		dog.received()
		defer dog.handled()
		r.emptyPage = false
		if err != nil {
			bad := badObject(r, err)
			if bad == nil {
				bad = badObject(r, &ObjectError{Resource: r.source.Resource(), Err: err})
			}
			r.emptyList = false
			r.sink.Skipped(bad)
			return true
		}
		sinkErr = takeListed(r, ctx, ev)
		return sinkErr == nil
	})
	return page, sinkErr, err
}

// takeListed hands an event of a list to the sink.
func takeListed[T any](r *Reflector[T], ctx context.Context, ev Event[T]) error {
	if ev.Type == Added {
		r.stats.listed.Add(1)
	}
	if ev.Recalled {
		r.stats.recalled.Add(1)
		ev = completeRecalled(r.recall, ev)
	}
	r.emptyList = false
	addListed(r.listed, ev)
	return r.sink.Listed(ctx, ev)
}

// countExpected records how many objects the list will have, if page says so.
func countExpected[T any](r *Reflector[T], page metav1.ListMeta) {
	if page.RemainingItemCount != nil {
		r.stats.expected.Store(r.stats.listed.Load() + uint64(max(*page.RemainingItemCount, 0)))
	} else if page.Continue == "" {
		r.stats.expected.Store(r.stats.listed.Load())
	}
}

// badObject reports err and returns it if it concerns a single object. Otherwise it returns
// nil.
func badObject[T any](r *Reflector[T], err error) *ObjectError {
	var bad *ObjectError
	if !errors.As(err, &bad) {
		return nil
	}
	r.stats.badObjects.Add(1)
	r.opts.OnError(err)
	return bad
}

// carryOut carries out st, except for replace: it reports the failure, if there is one, of a
// request that began at the given time, and waits. It does not wait for the breaker's turn;
// admit does.
func carryOut[T any](r *Reflector[T], ctx context.Context, st step, report RequestError, began time.Time) {
	notePolling(r)
	if st.discard {
		r.stats.listed.Store(0)
		r.listed = nil
		r.sink.Discard()
	}
	var wait, queue time.Duration
	if st.err != nil {
		wait, queue = waitAfter(r, &st, began)
	} else {
		wait = r.waits.after(time.Now(), st.pause, 0)
	}
	listInstead(r, &st, report, wait)
	hold := noteRelist(r, st)
	wait = max(wait, hold)
	if st.err == nil {
		r.breaker.sleep(ctx, noPause, wait, wait)
		return
	}
	r.stats.failures.Add(1)
	report.Resource, report.RetryIn, report.Err = r.source.Resource(), wait+queue, st.err
	now := time.Now()
	r.stats.fails(&report, now, now.Add(report.RetryIn))
	r.failing = true
	r.opts.OnError(&report)
	r.follows.holdOff(st.atLeast)
	if r.follows.goOn(&r.state, wait) {
		// Nobody knows what has become of the server since that watch. To have it repeat events costs
		// nothing. A doubt would cost a list, and lists fail.
		if from, _ := replayFrom(&r.recent); from != "" || st.pause.connectionLost() {
			r.state.confirmed = false
			verifyHistory(r, st.pause)
		}
		return
	}
	if r.waits.inTurn(st.pause) {
		r.breaker.takeTurn(ctx, st.pause, r.waits.turnEvery(), wait)
		return
	}
	// The success of other reflectors is no reason to ask before the time that the server named.
	if r.breaker.sleep(ctx, st.pause, max(hold, st.atLeast), wait) {
		spareList(r)
	}
}

// listInstead replaces the watch that follows the one that ended, after a wait, by a list if one is due.
func listInstead[T any](r *Reflector[T], st *step, ended RequestError, wait time.Duration) {
	next := time.Now().Add(wait)
	if ended.Verb != "watch" || st.relist != noRelist {
		return
	}
	if r.silence.listIsDue(next) {
		r.silence.shown = next // if the list fails, too, the next one has its time
	} else if !r.state.listIsDue(next, st.err) {
		return
	}
	// One who may not watch may be denied everything, until a list has come since.
	verify := !r.opts.TrustVersions && (st.pause != pauseDenied || r.state.byLists)
	r.state, st.relist = r.state.instead(next, verify)
}

// noteRelist records that a list replaces a watch, if one does. It returns how long the list has to
// wait, so that no server can ask for lists without end.
func noteRelist[T any](r *Reflector[T], st step) time.Duration {
	if st.relist == noRelist {
		return 0
	}
	logRelist(&r.stats, r.log, st.relist, r.state.rv)
	return r.waits.relist.take(time.Now(), repeatEvery)
}

// logRelist counts and logs a list in place of a watch from version rv.
func logRelist(stats *counters, log logs.Log, why relistReason, rv string) {
	stats.relisted(why, time.Now())
	log.Debug("lists again", slog.String("reason", why.String()), slog.String("resourceVersion", rv))
}

// waitAfter tells the breaker about a failure. It returns how long to wait because of it, and how
// long the breaker may hold up the next request after that. If the server is not away, a request
// without an answer is one that broke off.
func waitAfter[T any](r *Reflector[T], st *step, began time.Time) (wait, queue time.Duration) {
	if st.pause == pauseAway {
		var away bool
		if queue, away = r.breaker.failed(began, r.opts.Backoff); !away {
			st.pause = pauseResume
		}
	}
	switch {
	case isStatus(st.err):
		r.breaker.answered()
	case st.pause == pauseResume || st.pause == pauseRetry:
		r.breaker.broke()
	}
	// Waits that grew in an outage say nothing about the server that is back.
	if n := r.breaker.longOutageCount(); n != r.outages || st.resetBackoff {
		r.outages = n
		r.waits.reset()
	}
	setReason(r, st.pause)
	now := time.Now()
	r.waits.lasted = now.Sub(began)
	wait = r.waits.after(now, st.pause, st.atLeast)
	// The spread is wide: with a narrow one all would wait at once, and nobody would notice a server that is back.
	share := scale(r.breaker.countFailing(st.pause, 0), 0.5+r.opts.Backoff.Random())
	switch {
	case st.pause == pauseDenied:
		wait = max(wait, share)
	case st.pause == pauseBusy && st.atLeast > 0 && (st.relist == noRelist || st.relist == becauseFailing):
		// The server has named a time. All reflectors together bring it few requests then.
		wait = min(wait, max(st.atLeast+r.waits.spread(), share))
	case st.pause == pauseBusy && !st.discard && r.state.byLists && r.state.failedLists == 0:
		wait = min(wait, r.state.untilDue(now)+r.waits.upTo(r.state.patience/spreadShare)) // lists work
	case r.waits.inTurn(st.pause):
		queue = r.breaker.turn(st.pause, r.waits.turnEvery())
	}
	return wait, queue
}

// setReason records why the last request failed.
func setReason[T any](r *Reflector[T], why pause) {
	if why == noPause || why == r.reason {
		return
	}
	forgetReason(r)
	r.reason = why
	r.breaker.countFailing(why, 1)
}

// succeeded records the success of a watch: it was accepted, or brought something.
func succeeded[T any](r *Reflector[T]) {
	why := endFailing(r)
	if r.vain != noPause {
		why, r.vain = r.vain, noPause
	}
	r.breaker.succeeded(why)
}

// watchLasted is succeeded for a watch that has lasted after one that was in vain for the reason why. It
// runs in another goroutine than Run.
func watchLasted[T any](r *Reflector[T], why pause) {
	r.stats.fails(nil, time.Time{}, time.Time{})
	r.breaker.succeeded(why)
}

// succeededList is succeeded for a complete list. If watches fail, it says nothing about them: the
// next one will tell.
func succeededList[T any](r *Reflector[T]) {
	if r.reason == pauseRetry || r.state.dry.IsZero() && r.vain == noPause {
		r.breaker.succeeded(endFailing(r))
		return
	}
	notFailing(r)
}

// endFailing records that the reflector does not fail any more, and returns why it did. Nothing
// follows from that for other reflectors.
func endFailing[T any](r *Reflector[T]) pause {
	notFailing(r)
	return forgetReason(r)
}

// notFailing ends Stats.Failing.
func notFailing[T any](r *Reflector[T]) {
	if r.failing {
		r.failing = false
		r.stats.fails(nil, time.Time{}, time.Time{})
	}
}

// forgetReason returns why the last request failed, for the last time.
func forgetReason[T any](r *Reflector[T]) (why pause) {
	why, r.reason = r.reason, noPause
	if why != noPause {
		r.breaker.countFailing(why, -1)
	}
	return why
}
