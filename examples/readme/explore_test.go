package main

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/examples/internal/stage"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/sim"
	"github.com/kinform/kinform/with/kubernetes/core"
)

// TestExplore looks for a schedule after which a node does not have the number of its pods. Nodes and pods come and go,
// and somebody else writes a number.
func TestExplore(t *testing.T) {
	pod := func(name, node string) stage.Step {
		return stage.Created(fake.Object(&corev1.Pod{Spec: corev1.PodSpec{NodeName: node}}, "prod", name))
	}
	node := func(name string) stage.Step { return stage.Created(fake.Object(&corev1.Node{}, "", name)) }
	one, two := kinform.Key{Name: "one"}, kinform.Key{Name: "two"}
	stage.Explore(t, 400, func() sim.Program {
		return sim.Program{
			Server: stage.Server(fake.Options{}, stage.Kind(core.Nodes), stage.Kind(core.Pods)),
			Run:    countPods,
			Users: stage.Users(
				node("one"), pod("a", "one"), pod("b", "one"), pod("c", "two"), node("two"),
				stage.Patched[*corev1.Node](one, `{"metadata":{"annotations":{"pods":"7"}}}`),
				stage.Deleted[*corev1.Pod](kinform.Key{Namespace: "prod", Name: "a"}),
				stage.Deleted[*corev1.Node](two), node("two"),
			),
		}
	})
}
