package rounds

import (
	"fmt"
	"slices"
	"testing"
)

// script makes writes for a Finder.
type script struct{ Finder[int] }

func (s *script) update(object int, writer, path string, value int) {
	s.Add(Write[int]{Object: object, Writer: writer, Update: true, Fields: []Field{{path, uint64(value)}}})
}

func (s *script) create(object int, writer string) { s.Add(Write[int]{Object: object, Writer: writer}) }

const site, deployment = 1, 2

func TestFinder(t *testing.T) {
	for name, c := range map[string]struct {
		round func(s *script, n int)
		want  []Loop[int]
	}{
		"a value that is different each time": {
			func(s *script, n int) { s.update(site, "a", "status.time", n) },
			[]Loop[int]{{site, "a", "status.time", 20, false}},
		},
		"values that come back": {
			func(s *script, n int) { s.update(site, "a", "spec.list", n%2) },
			[]Loop[int]{{site, "a", "spec.list", 20, true}},
		},
		"a fight": {
			func(s *script, n int) {
				s.update(site, "a", "spec.size", 1)
				s.update(site, "b", "spec.size", 2)
			},
			[]Loop[int]{{site, "a", "spec.size", 20, true}, {site, "b", "spec.size", 20, true}},
		},
		"a fight of clients that write something else, too": {
			func(s *script, n int) {
				s.update(site, "a", "spec.size", 1)
				s.update(deployment, "b", "status.seen", n)
				s.update(site, "b", "spec.size", 2)
			},
			[]Loop[int]{{site, "a", "spec.size", 20, true}, {site, "b", "spec.size", 20, true}},
		},
		"two objects by turns": {
			func(s *script, n int) {
				s.update(site, "a", "status.time", n)
				s.update(deployment, "a", "spec.time", n)
			},
			[]Loop[int]{{site, "a", "status.time", 20, false}, {deployment, "a", "spec.time", 20, false}},
		},
		"the test writes before each": {
			func(s *script, n int) {
				s.update(deployment, "", "status.ready", n)
				s.update(site, "a", "status.ready", n)
			}, nil,
		},
		"another client writes before each": {
			func(s *script, n int) {
				s.update(deployment, "b", "status.ready", n)
				s.update(site, "a", "status.ready", n)
			}, nil,
		},
		"the client makes something in each": {
			func(s *script, n int) {
				s.create(10+n, "a")
				s.update(site, "a", "status.made", n)
			}, nil,
		},
		"another field each time": {
			func(s *script, n int) { s.update(site, "a", fmt.Sprint("status.part", n), n) }, nil,
		},
		"another object each time": {
			func(s *script, n int) { s.update(n, "a", "status.time", n) }, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var s script
			for n := range 20 {
				c.round(&s, n)
			}
			got := s.Loops()
			slices.SortFunc(got, func(a, b Loop[int]) int {
				return a.Object - b.Object + slices.Compare([]byte(a.Writer), []byte(b.Writer))
			})
			if !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// Nine writes are not enough, and ten are.
func TestEnough(t *testing.T) {
	var s script
	for n := range Enough {
		if got := s.Loops(); len(got) > 0 {
			t.Fatalf("after %d writes: %v", n, got)
		}
		s.update(site, "a", "status.time", n)
	}
	if got := s.Loops(); len(got) != 1 {
		t.Errorf("after %d writes: %v", Enough, got)
	}
}
