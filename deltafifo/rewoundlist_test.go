package deltafifo

import (
	"strconv"
	"testing"
)

// A list of a server that was restored brings all its objects, since their versions say nothing. If
// the server perhaps was, unchanged objects are left out: their contents were compared.
func TestRewoundListIsWhole(t *testing.T) {
	for _, c := range []struct {
		rewound, doubtful bool
		want              int
	}{{false, false, 0}, {true, false, 16}, {false, true, 0}} {
		known, items := newShelf[int](), &Objects[int, int]{}
		for n := range 16 {
			known.m[n] = n
			items.Set(n, n, strconv.Itoa(n))
		}
		f := New[int, int](known, Options{})
		must(t, f.Replace(t.Context(), Replacement[int, int]{Objects: items, ResourceVersion: "1", Rewound: c.rewound, Doubtful: c.doubtful}))
		if got := f.Len(); got != c.want {
			t.Errorf("rewound %t, doubtful %t: %d objects, want %d", c.rewound, c.doubtful, got, c.want)
		}
		f.Close()
	}
}
