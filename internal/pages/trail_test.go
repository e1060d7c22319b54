package pages

import (
	"strconv"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestCircle: a list that ends never looks like a circle, for any length. Pages that go round
// are found within some rounds, for any pages before the circle.
func TestCircle(t *testing.T) {
	for before := range 20 {
		for circle := 1; circle <= 20; circle++ {
			token := func(n int) string {
				if n > before {
					n = before + 1 + (n-before-1)%circle
				}
				return strconv.Itoa(n)
			}
			var trail Trail
			var err error
			last, n := "", 1
			for ; ; n++ {
				if n > 4*(before+circle)+4 {
					t.Fatalf("%d pages and then a circle of %d: not noticed after %d", before, circle, n)
				}
				if trail, err = trail.Next(last, token(n), false); err != nil {
					break
				}
				last = token(n)
			}
			if n <= before+circle {
				t.Errorf("%d pages and then a circle of %d: a new token was taken for an old one after %d", before, circle, n)
			}
			if err != errCircle {
				t.Error(err)
			}
		}
	}
}

// TestEmptyPages: as many empty pages as EmptyLimit may follow each other, again and again, but
// not one more.
func TestEmptyPages(t *testing.T) {
	var trail Trail
	var err error
	n := 0
	next := func(empty bool) error {
		n++
		trail, err = trail.Next(strconv.Itoa(n-1), strconv.Itoa(n), empty)
		return err
	}
	for range 2 {
		for range EmptyLimit {
			if err := next(true); err != nil {
				t.Fatalf("page %d: %v", n, err)
			}
		}
		if err := next(false); err != nil {
			t.Fatalf("page %d: %v", n, err)
		}
	}
	for range EmptyLimit {
		if err := next(true); err != nil {
			t.Fatalf("page %d: %v", n, err)
		}
	}
	if err := next(true); err != errEmpty {
		t.Errorf("one page too many: %v", err)
	}
}
