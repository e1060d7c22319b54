package informer

import (
	"fmt"
	"log/slog"
	"sort"
	"time"

	"github.com/kinform/kinform/internal/logs"
	"github.com/kinform/kinform/reflector"
)

// lateAfter is how long a [Union] waits for a member that brings nothing, once another one has
// listed.
const lateAfter = 10 * time.Second

// LateMemberError says that a [Union] does not wait any longer for the first list of a member in
// this run. Another member has listed, and this one has brought nothing for 10 seconds since: its
// requests fail, or the server does not answer them. The pause after a failure before that does not
// count: if the server was away, all members come back together. A single one that fails must not stop the
// others, as when a webhook cannot convert the objects of one namespace. Unlike a refused member, it counts
// as being listed, so keys of a controller in it wait. The member's objects are missing, or as old as at the
// end of the last run. The union has
// synced without them, or does so now. The member keeps trying to list, and its objects come when
// it succeeds. Options.OnError gets one such error for each late member, at most once in a run.
type LateMemberError struct {
	// Resource is the name of the member's source, Member its own.
	Resource, Member string
	// Failing says since when and why its requests fail. It is zero if they have no answer yet.
	Failing reflector.Failing
}

func (e *LateMemberError) Error() string {
	text := fmt.Sprintf("%s: member %q has not listed, so its objects are missing or old; the others no longer wait for it", e.Resource, e.Member)
	if f := e.Failing; f.Err != nil {
		return fmt.Sprintf("%s; it fails since %s: %v", text, f.Since.Format(time.RFC3339), f.Err)
	}
	return text + "; the server does not answer"
}

// Unwrap returns the last failure, nil if there is none.
func (e *LateMemberError) Unwrap() error { return e.Failing.Err }

// LogValue implements slog.LogValuer: a group of message, resource and member, and of since and
// error if requests fail.
func (e *LateMemberError) LogValue() slog.Value {
	attrs := []slog.Attr{
		slog.String(logs.Message, "member of a union is late"), slog.String("resource", e.Resource), slog.String("member", e.Member),
	}
	if f := e.Failing; f.Err != nil {
		attrs = append(attrs, slog.Time("since", f.Since), slog.Any("error", f.Err))
	}
	return slog.GroupValue(attrs...)
}

// awaitMembers drops late members from the wait for the session's first list, until that list is
// complete. It is called when one member has listed. If the server was away, the other members come
// back when they ask again, so their failures before that do not count.
func awaitMembers[K comparable, T any](u *members[K, T], s *session[K, T]) {
	u.inf.mu.Lock()
	for _, m := range u.byName {
		m.brought.Store(false)
		m.failed.Store(false)
	}
	u.inf.mu.Unlock()
	tick := time.NewTicker(lateAfter)
	defer tick.Stop()
	for u.merge.Waiting() {
		select {
		case <-s.Ctx.Done():
			return
		case <-tick.C:
		}
		for _, m := range idleMembers(u, time.Now()) {
			u.inf.mu.Lock()
			late := &LateMemberError{Resource: m.source.Resource(), Member: m.name, Failing: m.stats().Failing}
			u.inf.mu.Unlock()
			u.inf.report(late)
			_ = m.sink.Late(s.Ctx) // fails only if the session ends
		}
	}
}

// idleMembers returns the members that are awaited, and that have brought nothing since the last
// call though they have asked.
func idleMembers[K comparable, T any](u *members[K, T], now time.Time) (idle []*Member[K, T]) {
	u.inf.mu.Lock()
	defer u.inf.mu.Unlock()
	for _, m := range u.byName {
		pauses := !m.failed.Load() && m.stats().Failing.Next.After(now.Add(-lateAfter)) // or did so lately
		if brought := m.brought.Swap(false); !brought && !pauses && m.sink.IsAwaited() {
			idle = append(idle, m)
		}
	}
	// Package slices would be compiled anew for each K and T, which is 10 KB of code.
	sort.Slice(idle, func(i, j int) bool { return idle[i].name < idle[j].name })
	return idle
}
