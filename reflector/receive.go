package reflector

import "time"

// receives follows the arrival of one pair of a watch, which has an error or none. It reports whether the
// watch continues. bad is the error of a single object.
func (r *core) receives(w *watchRequest, err error) (bad *ObjectError, more bool) {
	w.attempt.received()
	if err != nil {
		if bad = r.badObject(err); bad == nil {
			w.end.err = err
			return nil, false
		}
	}
	if !w.end.heard {
		w.end.heard = true
		r.breaker.answered()
	}
	if bad == nil && !w.end.useful {
		w.end.useful = true
		if r.state.phase == phaseWatching && r.silence.byLists(&r.state) {
			r.stats.polls(Polling{})
		}
	}
	return bad, true
}

// mayApply reports whether an event is new to the sink. If it is not, more reports whether the watch
// continues.
func (r *core) mayApply(w *watchRequest, e *notice) (fresh, more bool) {
	var err error
	if w.replay.active {
		if isNew, err := r.replayed(w, e); !isNew {
			w.end.err = err
			return false, err == nil
		}
	}
	if fresh, err = r.recent.inOrder(e, w.end.rv); err != nil {
		w.end.err = err
		return false, false
	}
	return fresh, true
}

// replayed handles an event of a watch that has not yet repeated all known events. It reports
// whether the event is new.
func (r *core) replayed(w *watchRequest, e *notice) (isNew bool, err error) {
	awaited := w.replay.pending()
	strict := w.replay.strict
	w.replay, isNew, err = r.recent.verifyEvent(w.replay, e, w.end.rv)
	switch {
	case err != nil && !strict:
		w.replay = replay{}
		return true, nil // the usual order decides
	case err == nil:
		r.succeeded()
	}
	if strict && awaited && !w.replay.pending() {
		w.dog.stop()
		w.dog = r.guardWatch(w)
		r.state.unverified = 0
		if w.replay.differs && !r.state.relisted {
			return false, errDiffers
		}
	}
	return isNew, err
}

// applied follows an event that the sink has taken.
func (r *core) applied(w *watchRequest, e *notice) {
	r.succeeded()
	// The version moves only now: an event that the sink did not take must be asked for again.
	at := time.Since(r.made)
	r.recent.addRecent(at, w.end.rv, e)
	w.end.rv = advance(w.end.rv, e.typ, e.rv)
	r.stats.applied(e.typ, w.end.rv, at)
}

// tookListed follows an event that lists has let pass.
func (r *core) tookListed(w *watchRequest) {
	if r.listed.fell {
		r.listed.fell = false
		w.fell.Store(true)
	}
}

// receivedOther follows what is no object for the sink in a streaming list.
func (r *core) receivedOther(w *watchRequest, e *notice, bad *ObjectError) (more bool, sinkErr error) {
	switch {
	case bad != nil && bad.Type == Bookmark:
		return true, nil
	case bad != nil && bad.Type == Deleted, e.typ == Deleted && w.skipped:
		// The deletion may be the deletion of the unreadable object, which would otherwise be kept
		// for ever.
		w.end.err = errUnreadableDelete
		return false, nil
	case bad != nil:
		w.skipped, r.emptyList = true, false
		r.sink.Skipped(bad)
		return true, nil
	case !e.initialEnds:
		// The first bookmark of a streaming list has the mark.
		w.end.ignored, w.end.err = true, errNoInitialEventsEnd
		return false, nil
	}
	return r.streamListed(w, e.rv)
}

// streamListed follows the bookmark that ends a streaming list. The watch goes on after it.
func (r *core) streamListed(w *watchRequest, rv string) (more bool, sinkErr error) {
	var st step
	if r.state, st = r.state.streamListed(rv, r.listed.version); !st.replace {
		w.next = &st
		return false, nil
	}
	r.stats.expected.Store(r.stats.listed.Load())
	r.stats.watches.Add(1)
	w.end.rv = r.state.rv
	w.accepted, w.listed, w.end.heard, w.end.useful = true, time.Now(), false, false // a watch from now on
	w.dog.stop()
	w.asked = RequestError{Verb: "watch", ResourceVersion: r.state.rv}
	w.dog = r.guardWatch(w)
	w.dog.received() // the sink may take its time
	defer w.dog.handled()
	if r.vain == noPause {
		r.breaker.succeeded(r.endFailing()) // of a request for a watch, unlike the success of a LIST
	}
	if sinkErr = r.replace(w.turn); r.silence.byLists(&r.state) {
		w.works = r.stats.worksAfter(r.silence.proof(max(lastingAfter, r.proof)))
	}
	return sinkErr == nil, sinkErr
}
