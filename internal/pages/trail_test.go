package pages

import (
	"strconv"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestTrail: a list that ends never looks like a circle, for any length. Pages that go round
// are found within some rounds, for any pages before the circle.
func TestTrail(t *testing.T) {
	for before := range 20 {
		for circle := 1; circle <= 20; circle++ {
			token := func(n int) string {
				if n > before {
					n = before + 1 + (n-before-1)%circle
				}
				return strconv.Itoa(n)
			}
			var trail Trail
			last, n := "", 1
			for ; !trail.Turns(last, token(n)); n++ {
				if n > 4*(before+circle)+4 {
					t.Fatalf("%d pages and then a circle of %d: not noticed after %d", before, circle, n)
				}
				last, trail = token(n), trail.Add(token(n))
			}
			if n <= before+circle {
				t.Errorf("%d pages and then a circle of %d: a new token was taken for an old one after %d", before, circle, n)
			}
			if trail.Turns(last, "") {
				t.Error("the end of a list turns")
			}
		}
	}
}
