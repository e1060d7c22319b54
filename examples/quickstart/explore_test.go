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

// TestExplore looks for a schedule after which the summaries are wrong. Pods come and go, and others change summaries and
// delete them.
func TestExplore(t *testing.T) {
	pod := func(name, node string, phase corev1.PodPhase) stage.Step {
		return stage.WithStatus(newTestPod(name, node, phase))
	}
	gone := func(name string) stage.Step {
		return stage.Deleted[*corev1.Pod](kinform.Key{Namespace: "default", Name: name})
	}
	one := kinform.Key{Namespace: summaryNamespace, Name: summaryPrefix + "one"}
	stage.Explore(t, 400, func() sim.Program {
		return sim.Program{
			Server: stage.Server(fake.Options{}, stage.Kind(core.Pods), stage.Kind(core.ConfigMaps)),
			Run:    summarizing,
			Users: stage.Users(
				pod("a", "one", corev1.PodRunning), pod("b", "one", corev1.PodPending), pod("c", "two", corev1.PodRunning),
				stage.IfThere(stage.Patched[*corev1.ConfigMap](one, `{"data":{"pods":"7","mine":"1"}}`)),
				gone("c"), gone("a"),
				stage.IfThere(stage.Deleted[*corev1.ConfigMap](one)),
				pod("d", "two", corev1.PodSucceeded),
			),
		}
	})
}
