package reflector

import (
	"context"
	"errors"
	"log/slog"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

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

// listPage passes the objects of one page to the sink.
func (p *protocol) listPage(c *call) {
	if p.state.token == "" {
		p.beginList("list")
	}
	p.emptyPage = true
	p.requests.list(c)
}

// beginList records that a list begins, by LIST or as a stream.
func (p *protocol) beginList(verb string) {
	p.requests.endList(false)
	p.listed, p.emptyList = &newestListed{began: time.Now()}, true
	p.stats.expectList()
	p.log.Debug("list begins", slog.String("verb", verb), slog.String("resourceVersion", p.state.version()))
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
