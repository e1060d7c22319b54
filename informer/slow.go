package informer

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/kinform/kinform/internal/logs"
)

const (
	// slowAfter is how long the informer has waited for its handlers within slowPeriod when it
	// reports the slowest one. It reports at most once in slowPeriod. A call of a handler that lasts for slowAfter
	// is reported, too, and then once in slowPeriod.
	slowAfter  = 10 * time.Second
	slowPeriod = time.Minute
)

// SlowHandlerError says that the informer waits for a handler, so that the cache and all other
// handlers are as old as that handler allows, or that a handler does not return. It is no failure of the
// informer, which continues when the handler does. Options.OnError gets one
//
//   - if the waits for handlers reach 10 seconds within a minute, and at most one a minute; handlers with
//     [HandlerOptions].Coalesce are never waited for
//   - if a handler, or its filter, has not returned from a call for 10 to 12 seconds, and then each minute, even if the
//     informer does not wait yet. It may wait for the store, for a version that is long in coming. The body of a
//     loop over [Informer.Events] may take as long as it likes.
type SlowHandlerError struct {
	// Resource is the collection's name, Handler the name of the handler: the one that is furthest
	// behind, or the one that does not return.
	Resource, Handler string
	// Stuck says that the handler has not returned from a call since Since.
	Stuck bool
	// Behind is the number of events that the handler has not finished.
	Behind uint64
	// Waited is how long the informer waited for handlers since Since or, if Stuck is set, the time since then.
	Waited time.Duration
	Since  time.Time
}

// stuckHint says what to do about a handler that does not return.
const stuckHint = "its filter, function of Watch or handler must not wait: queue a key, and do the work in reconcile"

func (e *SlowHandlerError) Error() string {
	if e.Stuck {
		return fmt.Sprintf("%s: %q has not returned from a call for %v, and %d events wait for it: %s",
			e.Resource, e.Handler, e.Waited.Round(time.Millisecond), e.Behind, stuckHint)
	}
	return fmt.Sprintf("%s: the cache waits for %q, which is %d events behind: %v of waiting since %s",
		e.Resource, e.Handler, e.Behind, e.Waited.Round(time.Millisecond), e.Since.Format(time.RFC3339))
}

// LogValue implements slog.LogValuer: a group of message, resource, handler, behind, waited,
// since and, if Stuck is set, hint.
func (e *SlowHandlerError) LogValue() slog.Value {
	attrs := []slog.Attr{
		slog.String(logs.Message, "handler holds up the cache"),
		slog.String("resource", e.Resource), slog.String("handler", e.Handler), slog.Uint64("behind", e.Behind),
		slog.Duration("waited", e.Waited), slog.Time("since", e.Since),
	}
	if e.Stuck {
		attrs[0].Value = slog.StringValue("handler does not return")
		attrs = append(attrs, slog.String("hint", stuckHint))
	}
	return slog.GroupValue(attrs...)
}

// handlerWaits counts the time that an informer waits for its handlers. Only the goroutine that commits
// uses it. The zero value has waited for nobody.
type handlerWaits struct {
	since    time.Time     // when the present period began
	waited   time.Duration // since then, without the wait that goes on
	reported bool          // in the present period
	began    time.Time     // of the wait that goes on
	alarm    *time.Timer   // fires when the waits are long enough to report; nil before the first wait
}

// begin starts a wait, and returns a channel that gets a value when report is due.
func (w *handlerWaits) begin(now time.Time) <-chan time.Time {
	if now.Sub(w.since) >= slowPeriod {
		w.next(now)
	}
	w.began = now
	if w.alarm == nil {
		w.alarm = time.NewTimer(w.due(now))
	} else {
		w.alarm.Reset(w.due(now))
	}
	return w.alarm.C
}

func (w *handlerWaits) next(now time.Time) { w.since, w.waited, w.reported = now, 0, false }

// due returns how long the wait that goes on has to last until there is something to do.
func (w *handlerWaits) due(now time.Time) time.Duration {
	if w.reported {
		return w.since.Add(slowPeriod).Sub(now)
	}
	return slowAfter - w.waited
}

// ring follows the alarm. It reports whether the waits are to be reported.
func (w *handlerWaits) ring(now time.Time) (report bool) {
	w.waited += now.Sub(w.began)
	w.began = now
	if w.reported {
		w.next(now)
	} else {
		report, w.reported = true, true
	}
	w.alarm.Reset(w.due(now))
	return report
}

// end ends the wait.
func (w *handlerWaits) end(now time.Time) {
	w.waited += now.Sub(w.began)
	w.alarm.Stop()
}
