package fake

import (
	"context"
	"time"
)

// An API server lists from its watch cache, which must know that it has all writes from before the list. The next write
// of the resource says so, and so does etcd when it is asked, but the server asks for a resource ten times a second at
// most.
const (
	progressPeriod = 100 * time.Millisecond
	progressTime   = 2 * time.Millisecond // about the time of an answer
)

// awaitProgress lets the time of a list pass, if the server is to be like an API server in this as well. Clients
// that list right after a write of another resource see meanwhile what controllers write.
func (t *table) awaitProgress(ctx context.Context) {
	if !t.server.exact {
		return
	}
	t.server.mu.Lock()
	want := t.server.rv
	t.server.mu.Unlock()
	for !t.knows(want) && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
}

// knows reports whether the cache has all writes up to want. It asks if it may.
func (t *table) knows(want uint64) bool {
	t.server.mu.Lock()
	defer t.server.mu.Unlock()
	if t.log.newest() >= want || t.progress.rv >= want && time.Since(t.progress.asked) >= progressTime {
		return true
	}
	now := time.Now()
	if now.Sub(t.progress.asked) >= progressPeriod {
		t.progress = progress{now, t.server.rv}
	}
	return false
}
