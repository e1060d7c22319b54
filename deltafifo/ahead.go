package deltafifo

// Await reports whether a member that may have key does not count or has not reached version. If so,
// [Merge.Passed] returns key once it has. O(members).
func (g *Merge[K, T]) Await(key K, version uint64) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for m := range g.members {
		if (!m.counted || m.at < version) && (m.covers == nil || m.covers(key)) {
			m.ahead.Push(version, key)
			return true
		}
	}
	return false
}

// Passed returns the keys whose member has reached the version that [Merge.Await] has named, once.
// With all, members have come or gone since the last call, or the server was restored: then Await is
// forgotten, and any key may be passed.
func (g *Merge[K, T]) Passed() (keys []K, all bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	keys, all = g.passed, g.changed
	if g.passed, g.changed = nil, false; !all {
		return keys, false
	}
	for m := range g.members {
		m.ahead = nil
	}
	return nil, true
}

// reach moves the member to a version. Called with all locks held.
func (m *Member[K, T]) reach(at uint64) {
	g := m.merge
	m.at, g.furthest = at, max(g.furthest, at)
	for {
		_, key, due := m.ahead.Pop(at)
		if !due {
			return
		}
		g.passed = append(g.passed, key)
	}
}
