package index_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kinform/kinform/index"
)

// An index of one value per object, one of several, and one of labels. Their values have types, so a lookup cannot mix
// them up.
func ExampleBy() {
	onNode := index.By("node", func(t *Task) string { return t.Node })
	var uses index.IndexFunc[*Task, string] = func(dst []string, t *Task) []string { return append(dst, t.Uses...) }
	using := index.New("uses", uses)
	labelled := index.Labels[*Task]("labels", "app")
	s := tasks(onNode, using, labelled)

	show(onNode.Get(s, "n1"))
	show(using.Get(s, "gpu"))
	show(labelled.Get(s, index.Label{Key: "app", Value: "n2"}))
	// Output:
	// [a c]
	// [b]
	// [b]
}

// count is for stores and their frozen readers alike.
func count(from index.Reader[*Task]) {
	byName := from.Indexer()
	fmt.Println(slices.MaxFunc(byName.Stats(), func(a, b index.Stats) int { return a.Largest - b.Largest }))
	_, err := byName.ByIndex("zone", "a")
	fmt.Println(errors.Is(err, index.ErrUnknownIndex))
}

// What the indexes of a store hold, and which mistakes adding one finds.
func ExampleStats() {
	s := tasks(index.By("node", func(t *Task) string { return t.Node }))
	count(s)
	err := s.AddIndexes(index.By("node", func(t *Task) string { return strings.ToUpper(t.Node) }))
	fmt.Println("taken:", errors.Is(err, index.ErrDuplicate))
	err = s.AddIndexes(index.New[*Task, string]("none", nil))
	fmt.Println("no function:", errors.Is(err, index.ErrInvalid))
	// Output:
	// {node 2 3 2}
	// true
	// taken: true
	// no function: true
}

// A cache of anything gets an index of namespaces when it first needs one.
func ExampleAddNamespace() {
	s := tasks()
	namespaces, err := index.AddNamespace(s, func(t *Task) (string, bool) { return t.Namespace, true })
	fmt.Println(namespaces.Count(s, "prod"), err)
	// Output: 3 <nil>
}
