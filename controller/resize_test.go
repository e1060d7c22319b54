package controller

import "testing"

// A number that is in the channel before Run counts from the first term on.
func TestNumberBeforeRun(t *testing.T) {
	resize := make(chan int, 1)
	resize <- 0
	s, stop := readSizes(resize)
	defer stop()
	select {
	case n := <-s.term():
		if n != 0 {
			t.Errorf("got %d, want 0", n)
		}
	default:
		t.Error("the first term has no number")
	}
}
