package reflector

import "time"

// A watch that is accepted, brings nothing and ends before the time that its request named may have
// worked and had nothing to say, as where a proxy ends each watch before the first bookmark. It may also
// have swallowed every event. Nobody can tell, so such watches have not failed. But a list takes the
// place of one now and then.

// Such lists are leastSilence apart, or mostPatience times Backoff.Max if that is more, and up to twice
// as long: a proxy may end all watches of a connection at once, and not all of them should list then.
const leastSilence = 5 * time.Minute

// silence is about watches since the newest one that proved that watches work. It belongs to the goroutine
// of Run. The zero value says that the newest watch did.
type silence struct {
	since   time.Time     // when the first of them ended
	shown   time.Time     // when a watch or a list last showed the collection
	limit   time.Duration // from then until a list is due
	whole   time.Time     // when the last list was
	mute    time.Duration // how long the longest of them lasted that may have worked; zero if none may have
	instead bool          // a list has come in place of one
	lists   bool          // and another one has ended since then
	// spared: the server came back from an outage before such a list, and the watch went on. That happens
	// once between two lists.
	spared bool
}

// ended follows the end of a watch. moved: it has brought something new. accepted: the server did not refuse
// it.
func (s silence) ended(end watchEnd, moved, accepted bool) silence {
	switch {
	case end.brought(moved), !end.early, end.idle:
		return silence{shown: end.at, limit: s.limit, whole: s.whole}
	case s.since.IsZero():
		s.since = end.at
	}
	if accepted && !end.short {
		s.mute = max(s.mute, end.at.Sub(end.began))
	}
	s.lists = s.instead
	return s
}

// listIsDue reports whether silent watches will have kept the sink in the dark for so long by then.
func (s *silence) listIsDue(at time.Time) bool { return s.mute > 0 && at.Sub(s.shown) >= s.limit }

// proof returns how long a watch has to last until Stats says that watches work: at least as long as
// given, and twice as long as others that ended nevertheless.
func (s *silence) proof(least time.Duration) time.Duration { return max(least, 2*s.mute) }

// listed follows a list. The next one is due after the limit.
func (s *silence) listed(at time.Time, limit time.Duration) {
	s.shown, s.limit, s.whole, s.spared = at, limit, at, false
}

// mayDoubt reports whether the last list was so long ago that a doubt about the server's history does not
// wait any longer for a watch that lasts.
func (s *silence) mayDoubt(at time.Time) bool { return at.Sub(s.whole) >= s.limit }

// silentPatience is the shortest time between two lists that follow silent watches. longest is Backoff.Max.
func silentPatience(longest time.Duration) time.Duration {
	return max(leastSilence, scale(longest, mostPatience))
}

// after takes the end of a watch into account that began in state st. A watch that the client ended
// says nothing, unless it was idle. One that was to be short, because nothing answers checks, does not
// last by lasting as asked.
func (s silence) after(w *watchRequest, end watchEnd, st *state) silence {
	moved := end.rv != st.rv
	end.early = end.early || st.unverified > 0
	end.idle = w.aborted.Load() && !(w.replay.strict && w.replay.pending())
	if !end.brought(moved) && (w.silent || w.aborted.Load() && !end.idle) {
		return s
	}
	return s.ended(end, moved, !w.refused() && !end.unreached)
}

// byLists reports whether lists alone may keep the sink up to date.
func (s silence) byLists(st *state) bool { return st.byLists || s.lists }

// polling returns what Stats says of watches that bring nothing.
func (s silence) polling(st *state) Polling {
	if !s.byLists(st) {
		return Polling{}
	}
	now := Polling{Since: s.since, Every: s.limit}
	if st.byLists {
		now.Every = st.lengthened(st.patience)
	}
	if now.Since.IsZero() {
		now.Since = st.dry
	}
	return now
}
