package longtest

import "testing"

func TestN(t *testing.T) {
	for value, want := range map[string]int{"": 3, "0": 3, "1": 7} {
		t.Setenv(Variable, value)
		if got := N(3, 7); got != want {
			t.Errorf("%s=%q: %d, want %d", Variable, value, got, want)
		}
	}
}
