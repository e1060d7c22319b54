package debug

import (
	"cmp"
	"slices"
	"time"

	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/controller/manager"
	"github.com/kinform/kinform/internal/verdict"
	"github.com/kinform/kinform/queue"
)

// shown is the largest number of keys, events and reconciles in a list.
const shown = 20

type queued struct {
	name  string
	queue queue.Untyped
	calls manager.Controller // nil for a queue alone

	adds, runs, failures rate
}

func (v *queued) state(now time.Time) Queue {
	m, s := v.queue.Metrics(), v.queue.SnapshotAny()
	out := Queue{
		Name: v.name, ShuttingDown: v.queue.ShuttingDown(),
		Queued: len(s.Queued), Delayed: len(s.Delayed), Running: len(s.Running), Idle: m.Waiting, Workers: m.Workers,
		Adds: m.Adds, Retries: m.Retries, Panics: m.Panics,
		QueuedKeys: []Key{}, DelayedKeys: []Key{}, RunningKeys: []Key{},
	}
	v.addFailing(&out, s, now)
	for _, k := range first(s.Queued) {
		out.QueuedKeys = append(out.QueuedKeys, Key{Key: keyText(k.Key), Seconds: k.Waited.Seconds(), Priority: k.Priority, Failures: k.Failures})
	}
	for _, k := range first(s.Delayed) {
		out.DelayedKeys = append(out.DelayedKeys, Key{Key: keyText(k.Key), Seconds: k.In.Seconds(), Priority: k.Priority, Failures: k.Failures})
	}
	for _, k := range first(s.Running) {
		out.RunningKeys = append(out.RunningKeys, Key{Key: keyText(k.Key), Seconds: v.runsFor(k, now).Seconds(), Priority: k.Priority, Failures: k.Failures})
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

// runsFor returns how long a key has been running.
func (v *queued) runsFor(k queue.RunningKey[any], now time.Time) time.Duration {
	if k.For == 0 && v.calls != nil {
		if began := v.calls.KeyState(k.Key).Running.Began; !began.IsZero() {
			return now.Sub(began)
		}
	}
	return k.For
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
		k := Key{Key: keyText(key), Seconds: now.Sub(one.Began).Seconds(), Failures: failures[key], Error: errorText(one.Err)}
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
