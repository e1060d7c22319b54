package store

import (
	"strings"
	"testing"
)

// TestCheckFinds breaks each invariant that a user's program can break, to see Check
// notice; the structures' own checkers are tested beside them.
func TestCheckFinds(t *testing.T) {
	for name, c := range map[string]struct {
		harm func(*item)
		want string
	}{
		"key":         {func(it *item) { it.id.num = 77 }, "was it changed after it was stored"},
		"no key":      {func(it *item) { it.boom = "key" }, "panicked"},
		"index value": {func(it *item) { it.node = "elsewhere" }, `index "node"`},
		"more values": {func(it *item) { it.tags = []string{"t"} }, `index "tags"`},
		"no value":    {func(it *item) { it.node = "" }, `index "node"`},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture()
			s := newStore(t, ^uint32(0), Options[*item]{Indexes: f.defs()})
			for n := range 20 {
				mustSet(t, s, newItem(n+1))
			}
			it, _ := s.Get(newItem(7).id)
			was := *it
			c.harm(it)
			if err := s.Check(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Check returned %v, want %q", err, c.want)
			}
			*it = was
			if err := s.Check(); err != nil {
				t.Errorf("repaired: %v", err)
			}
		})
	}
}

// TestReplaceHeals checks that an object whose key was changed behind the store's back
// is gone after the next Replace.
func TestReplaceHeals(t *testing.T) {
	f := newFixture()
	s := newStore(t, ^uint32(0), Options[*item]{Indexes: f.defs()})
	for n := range 20 {
		mustSet(t, s, newItem(n+1))
	}
	it, _ := s.Get(newItem(7).id)
	it.id.num = 8 // now it pretends to be another stored object
	if s.Check() == nil {
		t.Fatal("the change is not noticed")
	}
	var list []*item
	for n := range 20 {
		list = append(list, newItem(n+1))
	}
	if err := s.Replace(list, ""); err != nil {
		t.Fatal(err)
	}
	if s.Len() != 20 {
		t.Errorf("%d objects", s.Len())
	}
}
