package reflector

import (
	"context"
	"iter"
)

// transfer is the part of a reflector that depends on the type of the objects, so it is compiled separately
// for each type. It hands the objects from the source to the sink, as the core says. The goroutine of Run owns
// it.
type transfer[T any] struct {
	core   *core
	source Source[T]
	sink   Sink[T]
	recall recall[T]
	kept   keptObjects[T]
	listed recentlyListed[T]
}

// list implements requests.
func (t *transfer[T]) list(c *listCall) {
	r := t.core
	defer endRecall(&t.recall)
	defer settleList(&t.listed, r.listed)
	source := beginRecall(&t.recall, t.source)
	c.page, c.err = source.List(c.request, r.listOptions(), func(ev Event[T], err error) bool {
		c.dog.received()
		defer c.dog.handled()
		r.emptyPage = false
		if err != nil {
			r.skipListed(err)
			return true
		}
		c.sinkErr = takeListed(t, c.request, ev)
		return c.sinkErr == nil
	})
}

// takeListed hands an event of a list to the sink.
func takeListed[T any](t *transfer[T], ctx context.Context, ev Event[T]) error {
	t.core.countListed(ev.Type, ev.Recalled)
	if ev.Recalled {
		completeRecalled(&t.recall, &ev)
	}
	addListed(&t.listed, t.core.listed, &ev)
	return t.sink.Listed(ctx, ev)
}

// ask implements requests.
func (t *transfer[T]) ask(c *listCall, q *question) {
	c.page, c.err = t.source.List(c.request, q.options(), func(ev Event[T], err error) bool {
		if err != nil {
			return true
		}
		e := noticeOf(&ev)
		compareKept(&t.kept, &t.core.recent, &e, ev.Object)
		return q.take(&e)
	})
}

// watch implements requests.
func (t *transfer[T]) watch(w *watchRequest) {
	defer endRecall(&t.recall)
	for ev, err := range openWatch(t, w) {
		if w.limited.Err() != nil {
			break // the source goes on regardless
		}
		var more bool
		if more, w.sinkErr = receivePair(t, w, ev, err); !more {
			break
		}
	}
}

// openWatch makes the request. It is a separate function so that only a small part of the stack is in use
// during the watch.
func openWatch[T any](t *transfer[T], w *watchRequest) iter.Seq2[Event[T], error] {
	source := t.source
	if t.core.state.phase == phaseStreaming {
		source = beginRecall(&t.recall, source)
	}
	opts := t.core.beginWatch(w)
	return source.Watch(w.request, opts)
}

// receivePair handles one pair of a watch. It reports whether the watch continues. The error is
// the sink's.
func receivePair[T any](t *transfer[T], w *watchRequest, ev Event[T], err error) (more bool, sinkErr error) {
	r := t.core
	dog := w.dog // the handling may replace it
	dog.received()
	defer dog.handled()
	bad, more := r.receives(w, err)
	switch {
	case !more:
		return false, nil
	case r.state.phase == phaseStreaming:
		return receiveListed(t, w, ev, bad)
	case bad != nil:
		return w.badEvent(bad), nil
	}
	e := noticeOf(&ev)
	if w.mayRepeat(&e) {
		compareKept(&t.kept, &r.recent, &e, ev.Object)
	}
	if fresh, more := r.mayApply(w, &e); !fresh {
		return more, nil
	}
	if err := t.sink.Apply(w.turn, ev); err != nil {
		return false, err
	}
	if ev.Type == Bookmark {
		r.applied(w, &e)
		return true, nil
	}
	e.object = knownFrom(e.rv, ev.Object)
	r.applied(w, &e)
	keepNewest(&t.kept, &r.recent, ev.Object)
	return true, nil
}

// receiveListed is receivePair for the initial events of a streaming list: the existing objects
// as Added, and then their changes in the meantime.
func receiveListed[T any](t *transfer[T], w *watchRequest, ev Event[T], bad *ObjectError) (more bool, sinkErr error) {
	r := t.core
	if bad == nil && w.lists(ev.Type) {
		sinkErr = takeListed(t, w.turn, ev)
		r.tookListed(w)
		return sinkErr == nil, sinkErr
	}
	if bad == nil && ev.InitialEventsEnd {
		settleList(&t.listed, r.listed)
		endRecall(&t.recall)
	}
	e := noticeOf(&ev)
	return r.receivedOther(w, &e, bad)
}

// endList implements requests.
//
//go:noinline
func (t *transfer[T]) endList(whole bool) {
	if whole {
		t.kept = keptObjects[T]{t.listed.newest}
	}
	t.listed = recentlyListed[T]{}
}
