package debug

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/internal/objmeta"
)

// informerView is an informer whatever its types.
type informerView interface {
	title() string
	state(now time.Time) Informer
	story(ctx context.Context, key string, askServer bool, now time.Time) CachedKey
}

// handlerName is the name of the handler that records events.
const handlerName = "debug page"

type informed[K comparable, T any] struct {
	name    string
	inf     *informer.Informer[K, T]
	server  func(context.Context, K) (T, error) // nil for none
	objects bool
	recent  *ring[seen[K]] // nil if events are not recorded
	rate    rate           // of events
}

// seen is an event as the page's handler saw it.
type seen[K comparable] struct {
	key     K
	kind    string
	version string
	at      time.Time
}

func (v *informed[K, T]) title() string { return v.name }

// note is the page's handler.
func (v *informed[K, T]) note(ev informer.Event[K, T]) {
	kind := ev.Type.String()
	if ev.Initial {
		kind += " (initial)"
	} else if ev.Replaced {
		kind += " (replaced)"
	}
	v.recent.add(seen[K]{ev.Key, kind, objmeta.VersionOf(ev.Object), time.Now()})
}

func (v *informed[K, T]) state(now time.Time) Informer {
	st := v.inf.Stats()
	out := Informer{
		Name: v.name, Resource: printable(v.inf.Resource()), State: v.phase(st),
		Version: st.ResourceVersion, Objects: st.Objects, Pending: st.Pending,
		Lists: st.Lists, Watches: st.Watches, Events: st.Events, Failures: st.Failures,
		BadObjects: st.BadObjects, Listed: st.Listed, Expected: st.Expected,
		Relists: st.Relists.ByReason(), PendingWrites: st.Writes, LostWrites: st.LostWrites,
		Bytes: v.inf.Bytes(), EventRate: v.rate.of(st.Events, now),
		LastRelists: []Relist{}, Indexes: []Index{}, Handlers: []Handler{},
	}
	for _, one := range st.LastRelists {
		if !one.At.IsZero() {
			out.LastRelists = append(out.LastRelists, Relist{now.Sub(one.At).Seconds(), one.Reason})
		}
	}
	for _, x := range v.inf.Store().Indexer().Stats() {
		out.Indexes = append(out.Indexes, Index{printable(x.Name), x.Values, x.Entries, x.Largest})
	}
	maps.DeleteFunc(out.Relists, func(_ string, n uint64) bool { return n == 0 })
	if !st.LastEvent.IsZero() {
		out.LastEvent = ptr(now.Sub(st.LastEvent).Seconds())
	}
	if f := st.Failing; f.Err != nil {
		out.Failing = &Failing{Since: now.Sub(f.Since).Seconds(), Error: errorText(f.Err)}
		if !f.Next.IsZero() {
			out.Failing.Next = ptr(f.Next.Sub(now).Seconds())
		}
	}
	for _, h := range v.inf.Handlers() {
		out.Handlers = append(out.Handlers, Handler{Name: printable(h.Name), Lag: h.Lag, Overruns: h.Overruns, Synced: h.Synced})
	}
	return out
}

func (v *informed[K, T]) phase(st informer.Stats) string {
	select {
	case <-v.inf.Done():
		return "stopped"
	default:
	}
	switch {
	case !v.inf.Started():
		return "never started"
	case st.Failing.Err != nil:
		return "failing"
	case st.ResourceVersion == "" && st.Lists == 0:
		return "first list"
	}
	return "watching"
}

func ptr[T any](v T) *T { return &v }

// errorText returns the text of err, of 1,000 bytes or so at most; a panic in Error is text too.
func errorText(err error) string {
	text := fmt.Sprint(err)
	if len(text) > 1000 {
		text = text[:1000] + "…"
	}
	return printable(text)
}
