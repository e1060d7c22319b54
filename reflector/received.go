package reflector

import (
	"context"
	"time"
)

// receives follows the arrival of one pair of a watch, which has an error or none. It reports whether the
// watch continues. bad is the error of a single object.
func (p *protocol) receives(w *watch, err error) (bad *ObjectError, more bool) {
	w.attempt.received()
	if err != nil {
		if bad = p.badObject(err); bad == nil {
			w.end.err = err
			return nil, false
		}
	}
	if !w.end.heard {
		w.end.heard = true
		p.breaker.answered()
	}
	if bad == nil && !w.end.useful {
		w.end.useful = true
		if p.state.phase == watching && p.silence.byLists(&p.state) {
			p.stats.polls(Polling{})
		}
	}
	return bad, true
}

// mayApply reports whether an event is new to the sink. If it is not, more reports whether the watch
// continues.
func (p *protocol) mayApply(w *watch, e *notice) (fresh, more bool) {
	var err error
	if w.replay.active {
		if isNew, err := p.replayed(w, e); !isNew {
			w.end.err = err
			return false, err == nil
		}
	}
	if fresh, err = p.recent.inOrder(e, w.end.rv); err != nil {
		w.end.err = err
		return false, false
	}
	return fresh, true
}

// replayed handles an event of a watch that has not yet repeated all known events. It reports
// whether the event is new.
func (p *protocol) replayed(w *watch, e *notice) (isNew bool, err error) {
	awaited := w.replay.pending()
	strict := w.replay.strict
	w.replay, isNew, err = p.recent.verifyEvent(w.replay, e, w.end.rv)
	switch {
	case err != nil && !strict:
		w.replay = replay{}
		return true, nil // the usual order decides
	case err == nil:
		p.succeeded()
	}
	if strict && awaited && !w.replay.pending() {
		w.dog.stop()
		w.dog = p.guardWatch(w)
		p.state.unverified = 0
		if w.replay.differs && !p.state.relisted {
			return false, errDiffers
		}
	}
	return isNew, err
}

// applied follows an event that the sink has taken.
func (p *protocol) applied(w *watch, e *notice) {
	p.succeeded()
	// The version moves only now: an event that the sink did not take must be asked for again.
	at := time.Since(p.made)
	p.recent.addRecent(at, w.end.rv, e)
	w.end.rv = advance(w.end.rv, e.typ, e.rv)
	p.stats.applied(e.typ, w.end.rv, at)
}

// tookListed follows an event that lists has let pass.
func (p *protocol) tookListed(w *watch) {
	if p.listed.fell {
		p.listed.fell = false
		w.fell.Store(true)
	}
}

// receivedOther follows what is no object for the sink in a streaming list.
func (p *protocol) receivedOther(ctx context.Context, w *watch, e *notice, bad *ObjectError) (more bool, sinkErr error) {
	switch {
	case bad != nil && bad.Type == Bookmark:
		return true, nil
	case bad != nil && bad.Type == Deleted, e.typ == Deleted && w.skipped:
		// The deletion may be that of the unreadable object, which would otherwise be kept for
		// ever.
		w.end.err = ErrUnreadableDelete
		return false, nil
	case bad != nil:
		w.skipped, p.emptyList = true, false
		p.sink.Skipped(bad)
		return true, nil
	case !e.initialEnds:
		// The first bookmark of a streaming list has the mark.
		w.end.ignored, w.end.err = true, ErrNoInitialEventsEnd
		return false, nil
	}
	return p.streamListed(ctx, w, e.rv)
}

// streamListed follows the bookmark that ends a streaming list. The watch goes on after it.
func (p *protocol) streamListed(ctx context.Context, w *watch, rv string) (more bool, sinkErr error) {
	var st step
	if p.state, st = p.state.streamListed(rv, p.listed.version); !st.replace {
		w.next = &st
		return false, nil
	}
	p.stats.expected.Store(p.stats.listed.Load())
	p.stats.watches.Add(1)
	w.asked, w.end.rv = p.state.rv, p.state.rv
	w.accepted, w.listed, w.end.heard, w.end.useful = true, time.Now(), false, false // a watch from now on
	w.dog.stop()
	w.guard.asked = RequestError{Verb: "watch", ResourceVersion: w.asked}
	w.dog = p.guardWatch(w)
	w.dog.received() // the sink may take its time
	defer w.dog.handled()
	if p.vain == noPause {
		p.breaker.succeeded(p.endFailing()) // of a request for a watch, unlike the success of a LIST
	}
	if sinkErr = p.replace(ctx); p.silence.byLists(&p.state) {
		w.works = p.stats.worksAfter(p.silence.proof(max(lastingAfter, p.proof)))
	}
	return sinkErr == nil, sinkErr
}
