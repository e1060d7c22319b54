package debug

import (
	"cmp"
	"slices"
	"time"

	"github.com/kinform/kinform/controller/manager"
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
		QueuedKeys: []Key{}, DelayedKeys: []Key{}, RunningKeys: []Key{}, FailingKeys: v.failing(s),
	}
	for _, k := range first(s.Queued) {
		out.QueuedKeys = append(out.QueuedKeys, Key{keyText(k.Key), k.Waited.Seconds(), k.Priority, k.Failures, ""})
	}
	for _, k := range first(s.Delayed) {
		out.DelayedKeys = append(out.DelayedKeys, Key{keyText(k.Key), k.In.Seconds(), k.Priority, k.Failures, ""})
	}
	for _, k := range first(s.Running) {
		out.RunningKeys = append(out.RunningKeys, Key{keyText(k.Key), v.runsFor(k, now).Seconds(), k.Priority, k.Failures, ""})
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

// failing returns the keys with the most failures.
func (v *queued) failing(s queue.Snapshot[any]) []Key {
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
	var keys []any
	texts := map[any]string{}
	for key := range failures {
		keys = append(keys, key)
		texts[key] = keyText(key)
	}
	slices.SortFunc(keys, func(a, b any) int {
		return cmp.Or(cmp.Compare(failures[b], failures[a]), cmp.Compare(texts[a], texts[b]))
	})
	out := []Key{}
	for _, key := range first(keys) {
		k := Key{Key: texts[key], Failures: failures[key]}
		if v.calls != nil {
			if err := v.calls.KeyState(key).Err; err != nil {
				k.Error = errorText(err)
			}
		}
		out = append(out, k)
	}
	return out
}
