package reflector

import (
	"slices"
	"testing"
	"time"
)

// probes opens an outage at noon and returns the waits before the next n probes, each sent as
// soon as it may be.
func probes(o outage, at time.Time, n int, b Backoff, random float64) (outage, []time.Duration) {
	var all []time.Duration
	o = o.failed(at, at, b, random)
	for range n {
		_, wait := o.probe(at, b, random)
		at = at.Add(wait)
		all = append(all, wait)
		o, _ = o.probe(at, b, random)
	}
	return o, all
}

func TestOutageWaits(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		name    string
		backoff Backoff
		random  float64
		want    []time.Duration
	}{
		{"defaults", Backoff{}, 0, []time.Duration{100 * ms, 200 * ms, 400 * ms, 800 * ms, 1000 * ms, 1000 * ms}},
		{"jitter shortens", Backoff{}, 0.5, []time.Duration{75 * ms, 150 * ms, 300 * ms, 600 * ms, 750 * ms, 750 * ms}},
		{"at most by half", Backoff{}, 1, []time.Duration{50 * ms, 100 * ms}},
		{"shorter Max", Backoff{Max: 150 * ms}, 0, []time.Duration{100 * ms, 150 * ms, 150 * ms}},
		{"shorter Initial", Backoff{Initial: ms}, 0, []time.Duration{1 * ms, 2 * ms, 4 * ms}},
	} {
		if _, got := probes(outage{}, noon, len(c.want), c.backoff.withDefaults(), c.random); !slices.Equal(got, c.want) {
			t.Errorf("%s: probes after %v, want %v", c.name, got, c.want)
		}
	}
}

// An outage soon after another goes on with its waits, and a later one begins anew.
func TestOutageAgain(t *testing.T) {
	b := Backoff{}.withDefaults()
	first, _ := probes(outage{}, noon, 6, b, 0)
	back := noon.Add(time.Minute)
	for after, want := range map[time.Duration]time.Duration{settled - 1: time.Second, settled: 100 * time.Millisecond} {
		if _, got := probes(first.answered(back), back.Add(after), 1, b, 0); got[0] != want {
			t.Errorf("%v after the last outage: %v, want %v", after, got[0], want)
		}
	}
}

// A request that began before the last outage ended says nothing about the present, and one
// more failure changes nothing.
func TestOutageFailures(t *testing.T) {
	b := Backoff{}.withDefaults()
	open := outage{}.failed(noon, noon, b, 0)
	if again := open.failed(noon.Add(time.Second), noon, b, 0); again != open {
		t.Errorf("a second failure made %+v of %+v", again, open)
	}
	closed := open.answered(noon.Add(time.Minute))
	if closed.away || closed.failed(noon.Add(2*time.Minute), noon, b, 0).away {
		t.Error("a request from before opened it")
	}
	if !closed.failed(noon.Add(2*time.Minute), noon.Add(time.Minute), b, 0).away {
		t.Error("a request from after did not open it")
	}
}
