package reflector

import (
	"context"
	"iter"
)

// transfer is the part of a reflector that depends on the type of the objects, so it is compiled for each type
// of its own: it hands them from the source to the sink, as the protocol says. The goroutine of Run owns it.
type transfer[T any] struct {
	protocol *protocol
	source   Source[T]
	sink     Sink[T]
	recall   recall[T]
	kept     keptObjects[T]
	listed   recentlyListed[T]
}

// list implements requests.
func (t *transfer[T]) list(c *call) {
	p := t.protocol
	defer endRecall(&t.recall)
	defer settle(&t.listed, p.listed)
	source := beginRecall(&t.recall, t.source)
	c.page, c.err = source.List(c.request, p.listOptions(), func(ev Event[T], err error) bool {
		c.dog.received()
		defer c.dog.handled()
		p.emptyPage = false
		if err != nil {
			p.skipListed(err)
			return true
		}
		c.sinkErr = takeListed(t, c.request, ev)
		return c.sinkErr == nil
	})
}

// takeListed hands an event of a list to the sink.
func takeListed[T any](t *transfer[T], ctx context.Context, ev Event[T]) error {
	t.protocol.countListed(ev.Type, ev.Recalled)
	if ev.Recalled {
		completeRecalled(&t.recall, &ev)
	}
	addListed(&t.listed, t.protocol.listed, &ev)
	return t.sink.Listed(ctx, ev)
}

// ask implements requests.
func (t *transfer[T]) ask(c *call, q *question) {
	c.page, c.err = t.source.List(c.request, q.options(), func(ev Event[T], err error) bool {
		if err != nil {
			return true
		}
		e := noticeOf(&ev)
		compareKept(&t.kept, &t.protocol.recent, &e, ev.Object)
		return q.take(&e)
	})
}

// watch implements requests.
func (t *transfer[T]) watch(ctx context.Context, w *watch) {
	defer endRecall(&t.recall)
	for ev, err := range openWatch(t, ctx, w) {
		if w.limited.Err() != nil {
			break // the source goes on regardless
		}
		var more bool
		if more, w.sinkErr = received(t, ctx, w, ev, err); !more {
			break
		}
	}
}

// openWatch makes the request. It is a function of its own so that only a small part of the stack is in use
// during the watch.
func openWatch[T any](t *transfer[T], ctx context.Context, w *watch) iter.Seq2[Event[T], error] {
	source := t.source
	if t.protocol.state.phase == streaming {
		source = beginRecall(&t.recall, source)
	}
	opts := t.protocol.beginWatch(ctx, w)
	return source.Watch(w.request, opts)
}

// received handles one pair of a watch. It reports whether the watch continues. The error is
// the sink's.
func received[T any](t *transfer[T], ctx context.Context, w *watch, ev Event[T], err error) (more bool, sinkErr error) {
	p := t.protocol
	dog := w.dog // the handling may replace it
	dog.received()
	defer dog.handled()
	bad, more := p.receives(w, err)
	switch {
	case !more:
		return false, nil
	case p.state.phase == streaming:
		return receivedListed(t, ctx, w, ev, bad)
	case bad != nil:
		return w.badEvent(bad), nil
	}
	e := noticeOf(&ev)
	if w.mayRepeat(&e) {
		compareKept(&t.kept, &p.recent, &e, ev.Object)
	}
	if fresh, more := p.mayApply(w, &e); !fresh {
		return more, nil
	}
	if err := t.sink.Apply(ctx, ev); err != nil {
		return false, err
	}
	if ev.Type != Bookmark {
		e.object = knownFrom(e.rv, ev.Object)
	}
	if p.applied(w, &e); ev.Type != Bookmark {
		keepNewest(&t.kept, &p.recent, ev.Object)
	}
	return true, nil
}

// receivedListed is received for the initial events of a streaming list: the existing objects
// as Added, and then their changes in the meantime.
func receivedListed[T any](t *transfer[T], ctx context.Context, w *watch, ev Event[T], bad *ObjectError) (more bool, sinkErr error) {
	p := t.protocol
	if bad == nil && w.lists(ev.Type) {
		sinkErr = takeListed(t, ctx, ev)
		p.tookListed(w)
		return sinkErr == nil, sinkErr
	}
	if bad == nil && ev.InitialEventsEnd {
		settle(&t.listed, p.listed)
		endRecall(&t.recall)
	}
	e := noticeOf(&ev)
	return p.receivedOther(ctx, w, &e, bad)
}

// endList implements requests.
func (t *transfer[T]) endList(whole bool) {
	if whole {
		t.kept = keptObjects[T]{listedSlot: t.listed.newest}
	}
	t.listed = recentlyListed[T]{}
}
