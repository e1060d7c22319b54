package debug

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/reflector"
)

type informed struct {
	name    string
	inf     informer.Untyped
	ask     func(ctx context.Context, key string) (version string, err error) // nil for none
	taken   string                                                            // in Page.names, for an informer that may go
	cache   any                                                               // the handle on inf, or inf
	objects bool
	traces  bool
	rate    rate // of events; of the one goroutine that reads

	tracing chan struct{} // closed once inf.Trace has returned; nil if nothing is to be kept
	looking chan struct{} // holds one element while somebody looks a key up

	// Of whoever holds the lock of Page.shared.
	reading chan Informer // gets what is being read; nil while nothing is
	waited  bool          // for reading
	last    Informer      // the last that was read
}

// busyAfter is how long the page waits for its informers. The function of an index that does not return holds them up.
const busyAfter = time.Second

// trace makes the informer keep its newest events.
func (v *informed) trace(events int) {
	if events > 0 {
		v.traces, v.tracing = true, make(chan struct{})
		go func() {
			v.inf.Trace(events)
			close(v.tracing)
		}()
	}
}

// awaitTraces waits until all keep events, or are busy.
func awaitTraces(all ...*informed) {
	late, cancel := context.WithTimeout(context.Background(), busyAfter)
	defer cancel()
	for _, v := range all {
		if v.tracing != nil {
			select {
			case <-v.tracing:
			case <-late.Done():
			}
		}
	}
}

// begin begins to read the state of an informer, unless that is going on. Its goroutine outlives the page if the function
// of an index never returns.
func (v *informed) begin(now time.Time) {
	if v.reading == nil {
		read := make(chan Informer, 1)
		go func() { read <- v.read(now) }()
		v.reading = read
	}
}

// state returns the state of an informer that begin reads. While the function of an index holds it up, that is the last
// one, said to be busy: the page shows the others. The page waits until late is closed, once for each reading.
func (v *informed) state(late <-chan struct{}) Informer {
	if !v.waited {
		select {
		case v.last = <-v.reading:
			v.reading = nil
			return v.last
		case <-late:
		}
	}
	select {
	case v.last = <-v.reading:
		v.reading, v.waited = nil, false
		return v.last
	default:
	}
	v.waited = true
	busy := v.last
	if busy.Name == "" {
		busy = Informer{Name: v.name, Resource: printable(v.inf.Resource()), Relists: map[string]uint64{}, LastRelists: []Relist{}, Indexes: []Index{}, Handlers: []Handler{}}
	}
	busy.State = "busy"
	return busy
}

func (v *informed) read(now time.Time) Informer {
	st := v.inf.Stats()
	out := Informer{
		Name: v.name, Resource: printable(v.inf.Resource()), State: v.phase(st),
		Version: st.ResourceVersion, Objects: st.Objects, Pending: st.Pending,
		Lists: st.Lists, Watches: st.Watches, Events: st.Events, Failures: st.Failures,
		BadObjects: st.BadObjects, Listed: st.Listed, Expected: st.Expected,
		Relists: st.Relists.ByReason(), PendingWrites: st.Writes, LostWrites: st.LostWrites,
		Bytes: v.inf.Bytes(), Marks: marks(v.cache, v.inf), EventRate: v.rate.of(st.Events, now),
		LastRelists: []Relist{}, Indexes: []Index{}, Handlers: []Handler{},
	}
	if out.unfilled = shortText(st.Unfilled(v.inf.Resource())); !v.inf.Started() {
		out.unfilled = out.State
	}
	for _, one := range st.LastRelists {
		if !one.At.IsZero() {
			out.LastRelists = append(out.LastRelists, Relist{now.Sub(one.At).Seconds(), one.Reason})
		}
	}
	for _, x := range v.inf.IndexStats() {
		out.Indexes = append(out.Indexes, Index{printable(x.Name), x.Values, x.Entries, x.Largest})
	}
	maps.DeleteFunc(out.Relists, func(_ string, n uint64) bool { return n == 0 })
	out.LastEvent = age(st.LastEvent, now)
	if f := st.Failing; f.Err != nil {
		out.Failing = &Failing{Since: now.Sub(f.Since).Seconds(), Error: requestText(f.Err)}
		if !f.Next.IsZero() {
			out.Failing.Next = ptr(f.Next.Sub(now).Seconds())
		}
	}
	if st.LastError != nil {
		out.LastError = &PastError{Age: now.Sub(st.LastErrorAt).Seconds(), Error: requestText(st.LastError)}
	}
	out.Quiet = age(st.QuietSince, now)
	for _, h := range v.inf.Handlers() {
		out.Handlers = append(out.Handlers, Handler{Name: printable(h.Name), Lag: h.Lag, Overruns: h.Overruns, Synced: h.Synced, Stuck: age(h.StuckSince, now)})
	}
	return out
}

// age returns how many seconds ago a time was, nil if it is zero.
func age(at, now time.Time) *float64 {
	if at.IsZero() {
		return nil
	}
	return ptr(max(0, now.Sub(at).Seconds())) // it may have come since now
}

func (v *informed) phase(st informer.Stats) string {
	select {
	case <-v.inf.Done():
		return "stopped"
	default:
	}
	switch {
	case !v.inf.Started():
		return "never started"
	case st.Polling.Every > 0 && !listFails(st.Failing.Err):
		return fmt.Sprintf("lists every %v", st.Polling.Every.Round(time.Second))
	case st.Failing.Err != nil:
		return "failing"
	case st.ResourceVersion == "" && st.Lists == 0:
		return "first list"
	}
	return "watching"
}

// listFails reports whether err is the failure of a list.
func listFails(err error) bool {
	var failed *reflector.RequestError
	return errors.As(err, &failed) && failed.Verb == "list"
}

// requestText returns the text of the error of a list or watch, without the collection and when it is tried again, which the
// page says beside it.
func requestText(err error) string {
	text := errorText(err)
	var failed *reflector.RequestError
	if errors.As(err, &failed) {
		if what, rest, ok := strings.Cut(text, " failed, trying again "); ok {
			_, why, _ := strings.Cut(rest, ": ")
			text = strings.TrimPrefix(what, printable(failed.Resource)+": ") + " failed: " + why
		}
	}
	return text
}

func ptr[T any](v T) *T { return &v }

// errorText returns the text of err, of 1,000 bytes or so at most; a panic in Error is text too.
func errorText(err error) string { return shortText(fmt.Sprint(err)) }

// shortText returns text without what is too long, and printable.
func shortText(text string) string {
	if len(text) > 1000 {
		text = text[:1000] + "…"
	}
	return printable(text)
}
