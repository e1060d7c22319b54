package index_test

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/store"
)

// Task stands for any Kubernetes object.
type Task struct {
	metav1.ObjectMeta
	Node string
	Uses []string
}

func task(name, node string, uses ...string) *Task {
	return &Task{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: name, Labels: map[string]string{"app": node}}, Node: node, Uses: uses}
}

func tasks(defs ...index.Definition[*Task]) *store.Store[types.NamespacedName, *Task] {
	s, err := store.New(store.ObjectKey, store.Options[*Task]{Indexes: defs})
	if err != nil {
		fmt.Println(err)
	}
	for _, t := range []*Task{task("a", "n1", "disk"), task("b", "n2", "disk", "gpu"), task("c", "n1")} {
		if err := s.Set(t); err != nil {
			fmt.Println(err)
		}
	}
	return s
}

func show(ts []*Task) {
	var names []string
	for _, t := range ts {
		names = append(names, t.Name)
	}
	slices.Sort(names)
	fmt.Println(names)
}

func ExampleIndex() {
	byNode := index.New("node", func(dst []string, t *Task) []string { return append(dst, t.Node) })
	byUse := index.New("use", func(dst []string, t *Task) []string { return append(dst, t.Uses...) })
	s := tasks(byNode, byUse)
	show(byNode.Get(s, "n1"))
	show(byUse.Get(s, "disk"))
	n := 0
	for range byUse.All(s, "gpu") { // no allocation
		n++
	}
	fmt.Println(n)
	// Output:
	// [a c]
	// [a b]
	// 1
}

// The values of an index may be structs of several fields.
func ExampleNew_compound() {
	type place struct{ namespace, node string }
	byPlace := index.New("place", func(dst []place, t *Task) []place {
		return append(dst, place{t.Namespace, t.Node})
	})
	show(byPlace.Get(tasks(byPlace), place{"prod", "n1"}))
	// Output: [a c]
}

// An index that is known by name only, at run time.
func ExampleIndexer() {
	byNode := index.New("node", func(dst []string, t *Task) []string { return append(dst, t.Node) })
	s := tasks(byNode)
	found, err := s.Indexer().ByIndex("node", "n2")
	show(found)
	fmt.Println(err)
	_, err = s.Indexer().ByIndex("zone", "z1")
	fmt.Println(err)
	// Output:
	// [b]
	// <nil>
	// index "zone": unknown index: add it to the Indexes of the Options; the store has ["node"]
}

// With an index of labels, a selector is a lookup.
func ExampleSelect() {
	s := tasks(index.Labels[*Task]("labels", "app"))
	selector, err := labels.Parse("app in (n2, n3)")
	if err != nil {
		fmt.Println(err)
	}
	show(index.Select(s, "prod", selector))
	// Output: [b]
}
