package reflector

// verifyHistory has the server show its history before the watch goes on. why is the pause before that.
func (p *protocol) verifyHistory(why pause) {
	switch from, _ := p.recent.replayFrom(); {
	case p.opts.TrustVersions:
	case from != "":
		p.state = p.state.verifyFrom(from)
	case why != pauseDenied: // a second request would only be denied, too
		p.state = p.state.verifyFrom("")
	}
}

// newReplay returns the replay that a watch from version asked begins with.
func (p *protocol) newReplay(asked string) replay {
	switch {
	case p.state.replayRV != "":
		_, first := p.recent.replayFrom()
		return replay{active: true, strict: true, next: first, known: p.recent.n}
	case asked != p.state.rv:
		return replay{active: true, next: p.recent.firstOpen(), known: p.recent.n}
	}
	return replay{}
}

// repeatLess follows a watch that had to repeat known events from a version that the server no
// longer has, as after its restart. The next one begins with the newest event alone, or a list of
// one object checks the server. If the newest version may lack events, the collection is listed,
// because nothing else shows what they changed.
func (p *protocol) repeatLess(w *watch) (st step) {
	p.recent.newestAfter(w.replay.next)
	if p.state.replayRV, _ = p.recent.replayFrom(); p.state.replayRV != "" {
		return step{}
	}
	if p.recent.mayLack(p.state.rv) {
		p.state, st = p.state.doubted(becauseRestored)
		return st
	}
	p.recent.open.whole = true
	p.state = p.state.check()
	return step{}
}

// noteRewind tells the sink if the list that is now complete comes from a restored server, or
// may come from one.
func (p *protocol) noteRewind() {
	seen := p.stats.seen()
	if first := p.opts.FirstVersion; seen == "" && first != nil {
		seen = *first // of an earlier run
	}
	if older(p.state.rv, seen) && p.state.rewound != rewound {
		p.state.rewound = perhapsRewound
		if p.state.versioned { // else the version is that of the newest object, which may be gone
			p.state.rewound = rewound
			err := otherHistory("the list is at resourceVersion %s, and %s was seen before", p.state.rv, seen)
			p.opts.OnError(&RequestError{Resource: p.resource, Verb: "list", ResourceVersion: seen, Err: err})
		}
	}
	how := p.state.rewound
	p.state.rewound = notRewound
	if how == rewound {
		p.stats.restores.Add(1)
	}
	if s, ok := p.sink.(Rewinder); ok && how != notRewound {
		s.Rewound(how == rewound)
	}
}
