package undelta_test

import (
	"fmt"
	"slices"

	"github.com/kinform/kinform/store"
	"github.com/kinform/kinform/store/undelta"
)

// Every change brings the whole list.
func Example() {
	type node struct{ name, zone string }
	push := func(s store.Snapshot[string, node]) {
		var all []string
		for name, n := range s.All() {
			all = append(all, name+"@"+n.zone)
		}
		slices.Sort(all)
		fmt.Println(all)
	}
	key := func(n node) (string, error) { return n.name, nil }
	nodes, _ := undelta.New(key, push, store.Options[node]{})
	_ = nodes.Set(node{"a", "west"})
	_ = nodes.Set(node{"b", "west"})
	_ = nodes.Set(node{"a", "east"})
	_, _, _ = nodes.Delete("b")
	// Output:
	// [a@west]
	// [a@west b@west]
	// [a@east b@west]
	// [a@east]
}
