package reflector

import (
	"context"
	"errors"
	"log/slog"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// listOnce asks for one page and carries out the step that follows. The error is the sink's.
func (r *core) listOnce(ctx context.Context) error {
	began := time.Now()
	c := r.beginCall(ctx, true, r.state.version())
	defer c.stop()
	trial := !r.state.trial.IsZero()
	if trial {
		c.attempt.answerWithin(trialLimit)
	}
	if r.state.renews {
		c.attempt.keepTo(r.renewal)
	}
	r.listPage(c)
	r.endCall(c)
	page, err := c.page, c.err
	if r.state.renews && page.Continue == "" && !errors.Is(err, errOtherConnection) {
		r.waits.renewal.take(time.Now(), renewEvery) // a list that was given up is none
	}
	if c.sinkErr != nil || ctx.Err() != nil {
		r.state.token = ""
		r.sink.Discard()
		return c.sinkErr
	}
	var st step
	inPlace := r.state.renews || trial
	if err != nil {
		r.state, st = r.state.listFailed(err)
	} else {
		r.breaker.answered()
		r.countExpected(page)
		r.state, st = r.state.pageListed(page, r.emptyPage, r.listed.version)
	}
	if inPlace && st.discard {
		r.verifyHistory(st.pause) // unless the next request is another list
	}
	if st.replace {
		r.silence.instead = r.silence.instead || trial
		return r.replace(ctx)
	}
	r.carryOut(ctx, st, c.asked, began)
	return nil
}

// beginCall begins a call for a page, or for the list of one object, at the version asked. The list of one
// object is answered as fast as a watch.
func (r *core) beginCall(ctx context.Context, page bool, asked string) *listCall {
	request, attempt := r.beginRequest(ctx, page, nil)
	c := &listCall{guard: guard{request: request, asked: RequestError{Verb: "list", ResourceVersion: asked}}, attempt: attempt}
	c.dog = r.guardCall(&c.guard)
	return c
}

// endCall follows the end of a call, and finds out why it failed.
func (r *core) endCall(c *listCall) {
	r.returned(&c.guard, c.dog)
	c.err = causeOf(c.request, c.err)
	c.attempt.end()
}

// listPage passes the objects of one page to the sink.
func (r *core) listPage(c *listCall) {
	if r.state.token == "" {
		r.beginList("list")
	}
	r.emptyPage = true
	r.requests.list(c)
}

// beginList records that a list begins, by LIST or as a stream.
func (r *core) beginList(verb string) {
	r.requests.endList(false)
	r.listed, r.emptyList = &newestListed{began: time.Now()}, true
	r.stats.listBegins(r.listed.began.Sub(r.made))
	r.log.Debug("list begins", slog.String("verb", verb), slog.String("resourceVersion", r.state.version()))
}

// countListed counts an object of a list before the sink gets it.
func (r *core) countListed(typ EventType, recalled bool) {
	if typ == Added {
		r.stats.listed.Add(1)
	}
	if recalled {
		r.stats.recalled.Add(1)
	}
	r.emptyList = false
}

// skipListed follows an object of a page that could not be used.
func (r *core) skipListed(err error) {
	bad := r.badObject(err)
	if bad == nil {
		bad = r.badObject(&ObjectError{Resource: r.resource, Err: err})
	}
	r.emptyList = false
	r.sink.Skipped(bad)
}

// countExpected records how many objects the list will have, if page says so.
func (r *core) countExpected(page metav1.ListMeta) {
	if page.RemainingItemCount != nil {
		r.stats.expected.Store(r.stats.listed.Load() + uint64(max(*page.RemainingItemCount, 0)))
	} else if page.Continue == "" {
		r.stats.expected.Store(r.stats.listed.Load())
	}
}

// replace ends a complete list.
func (r *core) replace(ctx context.Context) error {
	r.succeededList()
	r.silence.listed(time.Now(), scale(silentPatience(r.opts.Backoff.Max), 1+r.opts.Backoff.Random()))
	r.notePolling()
	r.waits.listed()
	r.noteRewind()
	r.renewal = nil
	r.recent = recentEvents{listed: r.listed.object, empty: r.emptyList}
	r.requests.endList(true)
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
