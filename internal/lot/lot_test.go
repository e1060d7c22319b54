package lot_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/kinform/kinform/internal/lot"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestFraction draws at many moments one after the other, twice at each: the numbers are spread evenly, neighbours have nothing in
// common, and in a second run they are the same.
func TestFraction(t *testing.T) {
	var runs [2][]float64
	for i := range runs {
		synctest.Test(t, func(*testing.T) {
			for range 500 {
				runs[i] = append(runs[i], lot.Fraction(1), lot.Fraction(2))
				time.Sleep(time.Nanosecond)
			}
		})
	}
	if !slices.Equal(runs[0], runs[1]) {
		t.Error("the second run has other numbers")
	}
	rising := 0
	var tenths [10]int
	for i, f := range runs[0] {
		if f < 0 || f >= 1 {
			t.Fatalf("%v is not in [0,1)", f)
		}
		tenths[int(f*10)]++
		if i > 0 && f > runs[0][i-1] {
			rising++
		}
	}
	if rising < 450 || rising > 550 || slices.Min(tenths[:]) < 70 || slices.Max(tenths[:]) > 130 {
		t.Errorf("%d of 999 numbers are higher than the one before, and the tenths have %v", rising, tenths)
	}
}
