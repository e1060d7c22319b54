package reflector

import (
	"sync/atomic"
	"testing"
	"time"
)

// A list that comes slowly is told from live changes by its pace, whatever the sink does meanwhile.
func TestPace(t *testing.T) {
	for name, c := range map[string]struct {
		perLook uint64 // objects
		live    bool
		rises   bool // each object is newer than all before
		odd     bool // the sink is at work at each look
		want    int  // looks until the stream is no list; 0 for never
	}{
		"a long list":              {perLook: 250},
		"live changes":             {perLook: 250, live: true, want: 4},
		"a slow list":              {perLook: 249, want: 8},
		"live creations":           {perLook: 2499, rises: true, want: 8},
		"a long list by age":       {perLook: 2500, rises: true},
		"a slow sink":              {perLook: 1, odd: true},
		"changes for a slow sink":  {perLook: 1, live: true, odd: true},
		"nothing":                  {want: 8},
		"nothing after one change": {live: true, want: 4},
	} {
		var fell atomic.Bool
		p, pulse, got := pace{every: 15 * time.Second, patience: time.Minute}, uint64(0), 0
		for n := 1; n <= 100 && got == 0; n++ {
			pulse += 2 * c.perLook
			at := pulse
			if c.odd {
				at++
			}
			fell.Store(!c.rises)
			if p.look(at, c.live, &fell) {
				got = n
			}
		}
		if got != c.want {
			t.Errorf("%s: no list after %d looks, want %d", name, got, c.want)
		}
	}
}
