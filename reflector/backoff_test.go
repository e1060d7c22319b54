package reflector

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// waitsOf returns the waits after n failures, each coming as soon as the wait before is
// over.
func waitsOf(b Backoff, n int) []time.Duration {
	b = b.withDefaults()
	var w exponential
	now := noon
	var all []time.Duration
	for range n {
		d := w.after(b, now, 0)
		all = append(all, d)
		now = now.Add(d)
	}
	return all
}

func none() float64 { return 0 }

func TestWaits(t *testing.T) {
	const ms, s = time.Millisecond, time.Second
	half := func() float64 { return 0.5 }
	for _, c := range []struct {
		name    string
		backoff Backoff
		want    []time.Duration
	}{
		{"defaults", Backoff{Random: none},
			[]time.Duration{800 * ms, 1600 * ms, 3200 * ms, 6400 * ms, 12800 * ms, 25600 * ms, 30 * s, 30 * s}},
		{"half jitter", Backoff{Random: half},
			[]time.Duration{1200 * ms, 2400 * ms, 4800 * ms, 9600 * ms, 19200 * ms, 38400 * ms, 45 * s, 45 * s}},
		{"initial above max", Backoff{Random: none, Initial: time.Minute, Max: s},
			[]time.Duration{s, s, s}},
		{"negative fields mean defaults", Backoff{Random: none, Initial: -1, Max: -1},
			[]time.Duration{800 * ms, 1600 * ms}},
		{"waits that overflow", Backoff{Random: half, Initial: math.MaxInt64, Max: math.MaxInt64},
			[]time.Duration{math.MaxInt64, math.MaxInt64}},
	} {
		if got := waitsOf(c.backoff, len(c.want)); !slices.Equal(got, c.want) {
			t.Errorf("%s: waits %v, want %v", c.name, got, c.want)
		}
	}
}

// TestJitterBounds draws real random waits: each within its bounds, and not all alike.
func TestJitterBounds(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	got := waitsOf(Backoff{Initial: time.Second, Max: time.Second, Random: r.Float64}, 1000)
	lowest, highest := slices.Min(got), slices.Max(got)
	if lowest < time.Second || highest >= 2*time.Second {
		t.Errorf("waits from %v to %v, want within [1s, 2s)", lowest, highest)
	}
	if spread := (highest - lowest).Seconds(); spread < 0.95 {
		t.Errorf("1000 waits from %v to %v fill only %.2f of the room", lowest, highest, spread)
	}
}

func TestDefaultJitterIsRandom(t *testing.T) {
	first := waitsOf(Backoff{Max: 800 * time.Millisecond}, 20)
	for _, d := range first {
		if d < 800*time.Millisecond || d >= 1600*time.Millisecond {
			t.Errorf("wait %v, want within [800ms, 1.6s)", d)
		}
	}
	if len(slices.Compact(slices.Sorted(slices.Values(first)))) < 2 {
		t.Errorf("twenty waits are all %v", first[0])
	}
}

func TestWaitsReset(t *testing.T) {
	for _, c := range []struct {
		name  string
		quiet time.Duration // after the end of the wait
		want  time.Duration
	}{
		{"a moment too early", 2*time.Minute - 1, 3200 * time.Millisecond},
		{"two minutes", 2 * time.Minute, 800 * time.Millisecond},
	} {
		b := Backoff{Random: none}.withDefaults()
		var w exponential
		now := noon.Add(w.after(b, noon, 0))
		now = now.Add(w.after(b, now, 0))
		if got := w.after(b, now.Add(c.quiet), 0); got != c.want {
			t.Errorf("%s: wait %v, want %v", c.name, got, c.want)
		}
	}
}

// A server that asks for a pause gets it, but never less than the backoff.
func TestRetryAfterIsTheLeast(t *testing.T) {
	b := Backoff{Random: none}.withDefaults()
	var w exponential
	now := noon
	for i, c := range []struct{ atLeast, want time.Duration }{
		{time.Hour, time.Hour},                             // beyond Max
		{time.Millisecond, 1600 * time.Millisecond},        // the hour was no quiet time
		{-time.Hour, 3200 * time.Millisecond},              // nonsense
		{6401 * time.Millisecond, 6401 * time.Millisecond}, // the next step is not skipped
		{0, 12800 * time.Millisecond},
	} {
		got := w.after(b, now, c.atLeast)
		if got != c.want {
			t.Errorf("wait %d, at least %v: %v, want %v", i, c.atLeast, got, c.want)
		}
		now = now.Add(got)
	}
}

func TestScale(t *testing.T) {
	for _, c := range []struct {
		d    time.Duration
		f    float64
		want time.Duration
	}{
		{time.Second, 1.5, 1500 * time.Millisecond},
		{time.Second, 0, 0},
		{math.MaxInt64, 1, math.MaxInt64},
		{math.MaxInt64, 2, math.MaxInt64},
		{math.MaxInt64 / 2, 1.5, math.MaxInt64 / 4 * 3},
		{time.Second, math.Inf(1), math.MaxInt64},
		{time.Second, math.NaN(), math.MaxInt64},
	} {
		// Floats of this size are 1024 ns apart.
		if got := scale(c.d, c.f); (got - c.want).Abs() > 2048 {
			t.Errorf("scale(%v, %v) = %v, want %v", c.d, c.f, got, c.want)
		}
	}
}
