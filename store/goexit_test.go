package store

import (
	"runtime"
	"testing"

	"github.com/kinform/kinform/index"
)

// TestGoexit ends the goroutine of a write from within each of the user's functions:
// nothing is half applied, no lock stays held, and the store goes on.
func TestGoexit(t *testing.T) {
	exit := "" // the function that does not return
	at := func(name string) {
		if exit == name {
			runtime.Goexit()
		}
	}
	byNode := index.New("node", func(dst []string, it *item) []string { at("index"); return append(dst, it.node) })
	s, err := New(
		func(it *item) (id, error) { at("key"); return it.id, nil },
		Options[*item]{
			Indexes:   index.Of(byNode),
			Unchanged: func(old, new *item) bool { at("unchanged"); return old.version == new.version },
		})
	if err != nil {
		t.Fatal(err)
	}
	const many = 3000 // more than are changed in place
	var next [many]*item
	for n := range many {
		mustSet(t, s, newItem(n+1))
		next[n] = newItem(n + 1)
		next[n].version, next[n].node = 2, "other"
	}
	ops := make([]Op[id, *item], many)
	for i, it := range next {
		ops[i] = Op[id, *item]{Key: it.id, Object: it}
	}
	for name, write := range map[string]func(){
		"Set":          func() { _ = s.Set(next[0]) },
		"Commit":       func() { _ = s.Commit("5", ops[:20]) },
		"large Commit": func() { _ = s.Commit("5", ops) },
		"Replace":      func() { _ = s.Replace(next[:], "5") },
		"AddIndexes": func() {
			_ = s.AddIndexes(index.New("late", func(dst []int, _ *item) []int { at("index"); return dst }))
		},
	} {
		for _, function := range []string{"key", "index", "unchanged"} {
			if name == "AddIndexes" && function != "index" {
				continue
			}
			exit = function
			ended := make(chan bool)
			go func() {
				returned := false
				defer func() { ended <- returned }()
				write()
				returned = true
			}()
			if <-ended {
				t.Errorf("%s returned though the %s function did not", name, function)
			}
			exit = ""
			if err := s.Check(); err != nil {
				t.Errorf("%s, %s function: %v", name, function, err)
			}
			if n := byNode.Count(s, "other"); n != 0 || s.Len() != many || s.ResourceVersion() != "" {
				t.Errorf("%s, %s function: %d of %d objects are changed, at %q", name, function, n, s.Len(), s.ResourceVersion())
			}
		}
	}
	if err := s.Replace(next[:], "6"); err != nil || byNode.Count(s, "other") != many {
		t.Errorf("a write after all: %v, %d objects", err, byNode.Count(s, "other"))
	}
}
