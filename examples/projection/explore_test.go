package projection_test

import (
	"context"
	"fmt"
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/examples/internal/stage"
	"github.com/kinform/kinform/examples/projection"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/sim"
	"github.com/kinform/kinform/with/kubernetes/core"
)

// TestExplore looks for a schedule after which a pod's restarts are not reported.
func TestExplore(t *testing.T) {
	pod := func(namespace string, restarts int32) stage.Step {
		status := corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{RestartCount: restarts}}}
		return stage.WithStatus(fake.Object(&corev1.Pod{Status: status}, namespace, "web"))
	}
	want := map[string]int32{"a/web": 3, "b/web": 1, "c/web": 0}
	stage.Explore(t, 400, func() sim.Program {
		r := &reports{last: map[string]int32{}}
		return sim.Program{
			Server: stage.Server(fake.Options{}, stage.Kind(core.Pods)),
			Run: func(ctx context.Context, to client.Connection) error {
				return projection.Run(ctx, to, r.report, "a", "b", "c")
			},
			Users: stage.Users(pod("a", 0), pod("b", 0), pod("a", 1), pod("c", 0), pod("b", 1), pod("a", 3)),
			Finally: func(*sim.World) error {
				if !maps.Equal(r.last, want) {
					return fmt.Errorf("the reports are %v, want %v", r.last, want)
				}
				return nil
			},
		}
	})
}
