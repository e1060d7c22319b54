package reflector

import (
	"slices"
	"testing"
	"time"
)

// The wait that a server asks for gets up to a second of jitter, or up to the backoff if that is
// shorter.
func TestRetryAfterIsSpread(t *testing.T) {
	for random, want := range map[float64]time.Duration{0: 10 * time.Second, 0.5: 10*time.Second + 400*time.Millisecond} {
		w := waits{Backoff: new(Backoff{Random: func() float64 { return random }}.withDefaults())}
		if got := w.after(noon, pauseBusy, 10*time.Second); got != want {
			t.Errorf("%v of the jitter: a wait of %v, want %v", random, got, want)
		}
	}
}

// The waits of each kind of failure grow, and reset begins all of them anew. Those for a server
// that is away belong to the outage.
func TestAfreshBeginsAllAnew(t *testing.T) {
	for _, p := range []pause{pauseBusy, pauseDenied} {
		w := waits{Backoff: new(Backoff{Random: none}.withDefaults())}
		first, second := w.after(noon, p, 0), w.after(noon, p, 0)
		if second <= first {
			t.Errorf("%s: waits of %v and %v do not grow", pauses[p], first, second)
		}
		w.reset()
		if third := w.after(noon, p, 0); third != first {
			t.Errorf("%s: a wait of %v after reset, want %v", pauses[p], third, first)
		}
	}
}

// A broken list begins again at once a few times in a row, and then after a wait that grows.
func TestRetriesAtOnceAreFew(t *testing.T) {
	w := waits{Backoff: new(Backoff{Random: none}.withDefaults())}
	for _, again := range []func(){w.listed, w.reset} {
		want := append(make([]time.Duration, retryBurst), 800*time.Millisecond, 1600*time.Millisecond)
		for n, want := range want {
			if got := w.after(noon, pauseRetry, 0); got != want {
				t.Errorf("retry %d waits for %v, want %v", n, got, want)
			}
		}
		again()
	}
}

// Limits that are shorter than the limits of a kind of failure hold for that kind, too.
func TestShortLimitsHoldForAllKinds(t *testing.T) {
	for _, p := range []pause{pauseBusy, pauseDenied} {
		w := waits{Backoff: new(Backoff{Initial: time.Millisecond, Max: 3 * time.Millisecond, Random: none}.withDefaults())}
		got := []time.Duration{w.after(noon, p, 0), w.after(noon, p, 0), w.after(noon, p, 0)}
		if want := []time.Duration{time.Millisecond, 2 * time.Millisecond, 3 * time.Millisecond}; !slices.Equal(got, want) {
			t.Errorf("%s: waits of %v, want %v", pauses[p], got, want)
		}
		if got := w.turnEvery(); got != 3*time.Millisecond {
			t.Errorf("a turn every %v", got)
		}
	}
}
