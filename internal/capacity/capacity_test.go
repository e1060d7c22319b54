package capacity

import "testing"

// Room for a burst is dropped once it was far too much Patience times in a row. Little room stays.
func TestTooLarge(t *testing.T) {
	var m Meter
	for round := range 3 {
		for n := range Patience - 1 {
			if m.TooLarge(1000, 249) {
				t.Fatalf("round %d: too large after %d times", round, n+1)
			}
		}
		if m.TooLarge(1000, 250) {
			t.Fatalf("round %d: room of which a quarter is used is too large", round)
		}
	}
	for n := range Patience {
		if got := m.TooLarge(1000, 0); got != (n == Patience-1) {
			t.Errorf("too large after %d times: %t", n+1, got)
		}
	}
	for range 2 * Patience {
		if m.TooLarge(Little, 0) {
			t.Fatal("little room is too large")
		}
	}
}
