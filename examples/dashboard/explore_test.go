package main

import (
	"fmt"
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/examples/internal/stage"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/sim"
	"github.com/kinform/kinform/with/kubernetes/core"
)

// TestExplore looks for a schedule after which the page is wrong.
func TestExplore(t *testing.T) {
	pod := func(name string, phase corev1.PodPhase) stage.Step {
		return stage.WithStatus(fake.Object(&corev1.Pod{Status: corev1.PodStatus{Phase: phase}}, "a", name))
	}
	stage.Explore(t, 400, func() sim.Program {
		p := &page{}
		return sim.Program{
			Server: stage.Server(fake.Options{}, stage.Kind(core.Pods)),
			Run:    p.run,
			Users: stage.Users(
				pod("1", corev1.PodRunning), pod("2", corev1.PodFailed), pod("3", corev1.PodPending),
				stage.Deleted[*corev1.Pod](kinform.Key{Namespace: "a", Name: "3"}), pod("4", corev1.PodSucceeded),
			),
			Finally: func(*sim.World) error {
				if code, body := p.get(); code != http.StatusOK || body != header+"\na          3     0      1          1     1\n" {
					return fmt.Errorf("the page is %d\n%s", code, body)
				}
				return nil
			},
		}
	})
}
