package store_test

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/store"
)

// Machine stands for any Kubernetes object.
type Machine struct {
	metav1.ObjectMeta
	Rack string
}

func machine(name, rack string) *Machine {
	return &Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "dc1", Name: name}, Rack: rack}
}

func Example() {
	byRack := index.New("rack", func(dst []string, m *Machine) []string {
		return append(dst, m.Rack)
	})
	machines, err := store.New(store.ObjectKey, store.Options[*Machine]{
		Indexes: []index.Definition[*Machine]{byRack},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, m := range []*Machine{machine("a", "r1"), machine("b", "r2"), machine("c", "r1")} {
		if err := machines.Set(m); err != nil {
			fmt.Println(err)
		}
	}
	m, ok := machines.Get(types.NamespacedName{Namespace: "dc1", Name: "b"})
	fmt.Println(m.Rack, ok)
	fmt.Println("in r1:", byRack.Count(machines, "r1"))
	// Output:
	// r2 true
	// in r1: 2
}

// A frozen reader answers as the store would have at that moment.
func ExampleReader_Freeze() {
	byRack := index.New("rack", func(dst []string, m *Machine) []string { return append(dst, m.Rack) })
	machines, _ := store.New(store.ObjectKey, store.Options[*Machine]{Indexes: index.Of(byRack)})
	_ = machines.Set(machine("a", "r1"))
	frozen := machines.Freeze()
	_ = machines.Set(machine("a", "r2"))
	key := types.NamespacedName{Namespace: "dc1", Name: "a"}
	before, _ := frozen.Get(key)
	now, _ := machines.Get(key)
	fmt.Println(before.Rack, now.Rack)
	fmt.Println(byRack.Count(frozen, "r1"), byRack.Count(machines, "r1"))
	// Output:
	// r1 r2
	// 1 0
}

// One Commit makes many changes at once; a bad one is left out and says why.
func ExampleStore_Commit() {
	machines, _ := store.New(store.ObjectKey, store.Options[*Machine]{})
	key := func(name string) types.NamespacedName {
		return types.NamespacedName{Namespace: "dc1", Name: name}
	}
	_ = machines.Set(machine("old", "r1"))
	ops := []store.Op[types.NamespacedName, *Machine]{
		{Key: key("a"), Object: machine("a", "r1")},
		{Key: key("a"), Object: machine("a", "r2")},
		{Key: key("old"), Delete: true},
		{Key: key("x"), Object: machine("y", "r1")},
	}
	if err := machines.Commit("1042", ops); err != nil {
		fmt.Println(err)
	}
	fmt.Println("second a replaced one in", ops[1].Old.Rack)
	fmt.Println("deleted one in", ops[2].Old.Rack)
	fmt.Println(ops[3].Err)
	fmt.Println(machines.Len(), "at", machines.ResourceVersion())
	// Output:
	// second a replaced one in r1
	// deleted one in r1
	// key dc1/x: object has another key: dc1/y
	// 1 at 1042
}

func ExampleReader_WaitFor() {
	machines, _ := store.New(store.ObjectKey, store.Options[*Machine]{})
	go func() { _ = machines.Set(machine("a", "r7")) }()
	key := types.NamespacedName{Namespace: "dc1", Name: "a"}
	err := machines.WaitFor(context.Background(), key, func(m *Machine, exists bool) bool {
		return exists && m.Rack == "r7"
	})
	fmt.Println(err)
	// Output: <nil>
}

func ExampleReader_Chunks() {
	machines, _ := store.New(store.ObjectKey, store.Options[*Machine]{})
	_ = machines.Replace([]*Machine{machine("a", "r1"), machine("b", "r2")}, "7")
	racks := 0
	for chunk := range machines.Chunks() {
		for _, m := range chunk {
			racks += len(m.Rack)
		}
	}
	fmt.Println(racks)
	// Output: 4
}

func ExampleSnapshot() {
	machines, _ := store.New(store.ObjectKey, store.Options[*Machine]{})
	_ = machines.Set(machine("a", "r1"))
	before := machines.Snapshot()
	_ = machines.Replace(nil, "8")
	var names []string
	for k := range before.Keys() {
		names = append(names, k.Name)
	}
	slices.Sort(names)
	fmt.Println(names, machines.Len())
	// Output: [a] 0
}
