package reflector

// verifyHistory has the server show its history before the watch goes on. why is the pause before that.
func (r *core) verifyHistory(why pause) {
	from := r.recent.replayFrom()
	if !r.opts.TrustVersions && (from != "" || why != pauseDenied) { // a second request would only be denied, too
		r.state = r.state.verifyFrom(from)
	}
}

// newReplay returns the replay that a watch from version asked begins with.
func (r *core) newReplay(asked string) replay {
	strict := r.state.replayRV != ""
	if !strict && asked == r.state.rv {
		return replay{}
	}
	return replay{active: true, strict: strict, next: r.recent.firstAfter(asked), known: r.recent.n}
}

// repeatLess follows a watch that had to repeat known events from a version that the server no
// longer has, as after its restart. The next one begins with the newest event alone, or a list of
// one object checks the server. If the newest version may lack events, the collection is listed,
// because nothing else shows what they changed.
func (r *core) repeatLess(w *watchRequest) (st step) {
	r.recent.newestAfter(w.replay.next)
	if r.state.replayRV = r.recent.replayFrom(); r.state.replayRV != "" {
		return step{}
	}
	if r.recent.mayLack(r.state.rv) {
		r.state, st = r.state.doubted(becauseRestored, nil)
		return st
	}
	r.recent.open.whole = true
	r.state = r.state.check()
	return step{}
}

// noteRewind tells the sink if the list that is now complete comes from a restored server, or
// may come from one.
func (r *core) noteRewind() {
	seen := r.stats.seen()
	if first := r.opts.FirstVersion; seen == "" && first != nil {
		seen = *first // of an earlier run
	}
	if isOlder(r.state.rv, seen) && r.state.rewound != rewound {
		r.state.rewound = perhapsRewound
		if r.state.versioned { // else the version is the newest object's, which may be gone
			r.state.rewound = rewound
			err := otherHistory("the list is at resourceVersion %s, and %s was seen before", r.state.rv, seen)
			r.opts.OnError(&RequestError{Resource: r.resource, Verb: "list", ResourceVersion: seen, Err: err})
		}
	}
	how := r.state.rewound
	r.state.rewound = notRewound
	if how == rewound {
		r.stats.restores.Add(1)
	}
	if s, ok := r.sink.(interface{ Rewound(certain bool) }); ok && how != notRewound {
		s.Rewound(how == rewound)
	}
}
