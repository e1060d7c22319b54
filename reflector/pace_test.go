package reflector

import (
	"testing"
	"time"
)

// A list that comes slowly is told from live changes by its pace, whatever the sink does meanwhile.
func TestPace(t *testing.T) {
	for name, c := range map[string]struct {
		perLook uint64 // objects
		live    bool
		odd     bool // the sink is at work at each look
		want    int  // looks until the stream is no list; 0 for never
	}{
		"a long list":              {perLook: 250},
		"live changes":             {perLook: 250, live: true, want: 4},
		"a slow list":              {perLook: 249, want: 8},
		"a slow sink":              {perLook: 1, odd: true},
		"changes for a slow sink":  {perLook: 1, live: true, odd: true},
		"nothing":                  {want: 8},
		"nothing after one change": {live: true, want: 4},
	} {
		p, pulse, got := pace{every: 15 * time.Second, patience: time.Minute}, uint64(0), 0
		for n := 1; n <= 100 && got == 0; n++ {
			pulse += 2 * c.perLook
			at := pulse
			if c.odd {
				at++
			}
			if p.look(at, c.live) {
				got = n
			}
		}
		if got != c.want {
			t.Errorf("%s: no list after %d looks, want %d", name, got, c.want)
		}
	}
}
