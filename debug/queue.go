package debug

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/controller/manager"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/internal/verdict"
	"github.com/kinform/kinform/queue"
)

// shown is the largest number of keys, events and reconciles in a list.
const shown = 20

type queued struct {
	name  string
	queue queue.Untyped
	calls manager.Controller // nil for a queue alone
	lead  candidate          // that decides when the program works on it; nil if none is known
	kept  int                // the number of reconciles that are recorded

	adds, runs, failures rate
}

// state returns the state of a queue. unfilled says why caches are not filled.
func (v *queued) state(now time.Time, unfilled map[informer.Untyped]string) Queue {
	m, s := v.queue.Metrics(), v.queue.SnapshotAny()
	out := Queue{
		Name: v.name, ShuttingDown: v.queue.ShuttingDown(),
		Queued: len(s.Queued), Delayed: len(s.Delayed), Running: len(s.Running), Idle: m.Waiting, Workers: m.Workers,
		Adds: m.Adds, Retries: m.Retries, Panics: m.Panics,
		QueuedKeys: []Key{}, DelayedKeys: []Key{}, RunningKeys: []Key{},
	}
	if v.idles(m) {
		out.NoWorkers = v.noWorkers(unfilled)
	}
	v.addFailing(&out, s, now)
	for _, k := range first(s.Queued) {
		out.QueuedKeys = append(out.QueuedKeys, v.waitingKey(k.Key, k.Waited, k.Priority, k.Failures))
	}
	for _, k := range first(s.Delayed) {
		out.DelayedKeys = append(out.DelayedKeys, v.waitingKey(k.Key, k.In, k.Priority, k.Failures))
	}
	for _, k := range first(s.Running) {
		out.RunningKeys = append(out.RunningKeys, v.runningKey(k, now))
	}
	if v.calls != nil {
		all := v.calls.Loops()
		out.Looping = len(all)
		for _, l := range first(all) {
			out.LoopingKeys = append(out.LoopingKeys, Key{Key: printable(l.Key), Seconds: now.Sub(l.At).Seconds(), Error: l.Text})
		}
	}
	if r := m.Results; m.Workers > 0 || r != (queue.Results{}) {
		out.Counts = &Counts{
			Succeeded: r.Succeeded, Again: r.Again + r.AgainNow, GaveUp: r.GaveUp, CutShort: r.CutShort,
			Failed: r.Failed, Panicked: r.Panicked, TimedOut: r.TimedOut,
		}
		out.RunRate = v.runs.of(r.Succeeded+r.Again+r.AgainNow+r.GaveUp+r.CutShort+r.Failed, now)
		out.FailRate = v.failures.of(r.Failed+r.GaveUp, now)
	}
	out.AddRate = v.adds.of(m.Adds, now)
	out.MeanWait, out.MeanWork = mean(&m.Latency), mean(&m.Work)
	return out
}

// mean returns the mean of h in seconds, nil if it is empty.
func mean(h *queue.Histogram) *float64 {
	n := h.Count()
	if n == 0 {
		return nil
	}
	return ptr(h.Sum.Seconds() / float64(n))
}

func first[E any](all []E) []E { return all[:min(len(all), shown)] }

func (v *queued) waitingKey(key any, time time.Duration, priority, failures int) Key {
	return Key{Key: keyText(key), Seconds: time.Seconds(), Priority: priority, Failures: failures, Cause: reason(v.waits(key))}
}

func (v *queued) runningKey(k queue.KeyStatus[any], now time.Time) Key {
	call := v.running(k.Key)
	return Key{Key: keyText(k.Key), Seconds: runsFor(k, call, now).Seconds(), Priority: k.Priority, Failures: k.Failures, Cause: reason(call.Causes)}
}

// runsFor returns how long a key has been running, in the call that is known of it.
func runsFor(k queue.KeyStatus[any], call controller.Traced, now time.Time) time.Duration {
	if k.For == 0 && !call.Began.IsZero() {
		return now.Sub(call.Began)
	}
	return k.For
}

// running returns the reconcile of a key that runs: nothing for a queue alone.
func (v *queued) running(key any) (call controller.Traced) {
	if v.calls != nil {
		call, _ = v.calls.KeyState(key)
	}
	return call
}

// waits returns why a key waits: nothing for a queue alone.
func (v *queued) waits(key any) (causes controller.Causes) {
	if v.calls != nil {
		_, causes = v.calls.KeyState(key)
	}
	return causes
}

// idles reports whether there are no workers, and there may be some later. m are the metrics of the queue. Who works on a
// queue alone is not known: it idles only if this process does not lead, and nobody works on it.
func (v *queued) idles(m queue.Metrics) bool {
	switch {
	case m.Workers > 0 || v.queue.ShuttingDown():
		return false
	case v.calls != nil:
		return true
	}
	return v.lead != nil && !v.lead.Leads() && m.Waiting+m.Running == 0
}

// noWorkers says why what idles does. unfilled says why caches are not filled.
func (v *queued) noWorkers(unfilled map[informer.Untyped]string) string {
	if v.lead != nil && !v.lead.Leads() {
		switch leader := v.lead.Leader(); leader {
		case "":
			return "this process does not lead, and knows of none that does"
		case v.lead.Identity():
			return "this process does not lead; the lease still has its name, from an earlier term"
		default:
			return "this process does not lead; " + printable(leader) + " does"
		}
	}
	for _, inf := range v.calls.Informers() { // a queue alone idles only if this process does not lead
		if why := unfilled[inf]; why != "" {
			return fmt.Sprintf("the cache of %s is not filled: %s", printable(inf.Resource()), why)
		}
	}
	const other = "the controller was not started, is paused by RunOptions.Resize, or waits for its caches"
	if v.lead != nil {
		return other
	}
	return other + " or for the leadership"
}

// addFailing adds the keys that fail or were given up: those with the most failures first, and then the ones that failed
// last.
func (v *queued) addFailing(out *Queue, s queue.Snapshot[any], now time.Time) {
	failures := map[any]int{}
	note := func(key any, n int) {
		if n > 0 {
			failures[key] = n
		}
	}
	for _, k := range s.Queued {
		note(k.Key, k.Failures)
	}
	for _, k := range s.Delayed {
		note(k.Key, k.Failures)
	}
	for _, k := range s.Running {
		note(k.Key, k.Failures)
	}
	var last map[any]controller.Traced
	if v.calls != nil {
		last = v.calls.LastErrors()
	}
	failing, givenUp := []Key{}, []Key{}
	for key, n := range failures {
		if _, known := last[key]; !known {
			failing = append(failing, Key{Key: keyText(key), Failures: n})
		}
	}
	for key, one := range last {
		k := Key{Key: keyText(key), Seconds: now.Sub(one.Began).Seconds(), Failures: failures[key], Error: errorText(one.Err), Cause: reason(one.Causes)}
		if one.Result == verdict.GaveUp.String() {
			givenUp = append(givenUp, k)
		} else {
			failing = append(failing, k)
		}
	}
	out.Failing, out.GivenUp = len(failing), len(givenUp)
	out.FailingKeys, out.GivenUpKeys = first(inOrder(failing)), first(inOrder(givenUp))
}

// inOrder sorts keys that have failed.
func inOrder(keys []Key) []Key {
	slices.SortFunc(keys, func(a, b Key) int {
		return cmp.Or(cmp.Compare(b.Failures, a.Failures), cmp.Compare(a.Seconds, b.Seconds), cmp.Compare(a.Key, b.Key))
	})
	return keys
}
