package fake

import (
	"fmt"
	"strconv"

	"github.com/kinform/kinform/fake/faults"
)

// DropWatches breaks the connection of every open watch, silent ones included. A watch loses
// the events that it had not yet sent; its client can resume.
func (s *Server) DropWatches() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropWatches()
}

// dropWatches is called under mu.
func (s *Server) dropWatches() {
	close(s.drops)
	s.drops = make(chan struct{})
}

// Restart breaks the connections of all watches, as [Server.DropWatches] does. With
// [faults.RestartLose] it also forgets the history. Objects stay.
func (s *Server) Restart(how faults.Restart) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if how == faults.RestartLose {
		s.compact(s.rv)
	}
	s.dropWatches()
}

// Compact forgets the history up to resourceVersion rv, inclusive. A watch from before rv then
// gets 410 Expired, and so does the next page of a list from before rv. Compacting to a
// resourceVersion that is already forgotten changes nothing. An rv that is yet to come, or is
// no number, is an error.
func (s *Server) Compact(rv string) error {
	n, err := strconv.ParseUint(rv, 10, 64)
	if err != nil {
		return fmt.Errorf("fake: compact: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if n > s.rv {
		return fmt.Errorf("fake: compact: resourceVersion %d is yet to come, current: %d", n, s.rv)
	}
	s.compact(n)
	return nil
}

// expire forgets the whole history.
func (s *Server) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.compact(s.rv)
}

// compact forgets the writes up to rv. The caller holds mu.
func (s *Server) compact(rv uint64) {
	s.compacted = max(s.compacted, rv)
	for _, c := range s.order {
		c.compact()
	}
}

// Bookmark sends a bookmark to every open watch that allows them, after the events of all writes so
// far and before the events of later writes. By itself the server sends bookmarks only at the end
// of initial events and of timeoutSeconds, because real time plays no part in it.
func (s *Server) Bookmark() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.order {
		c.bookmark()
	}
}

// JumpResourceVersion adds n to the resourceVersion, as n writes of resources without
// watches do. A negative n counts as zero.
func (s *Server) JumpResourceVersion(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.advance(uint64(max(n, 0)))
}
