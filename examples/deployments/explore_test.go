package deployments_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/examples/deployments"
	"github.com/kinform/kinform/examples/internal/stage"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/sim"
	"github.com/kinform/kinform/with/kubernetes/apps"
	"github.com/kinform/kinform/with/kubernetes/core"
)

// TestExplore looks for a schedule after which the pods are not those that the Deployment asks for. It is scaled up and
// down, and others delete what the controller has made.
func TestExplore(t *testing.T) {
	scaled := func(replicas string) stage.Step {
		return stage.Patched[*appsv1.Deployment](web, `{"spec":{"replicas":`+replicas+`}}`)
	}
	stage.Explore(t, 250, func() sim.Program {
		return sim.Program{
			Server: stage.Server(fake.Options{CollectGarbage: true}, stage.Kind(apps.Deployments), stage.Kind(apps.ReplicaSets), stage.Kind(core.Pods)),
			Run:    deployments.Run,
			Users: stage.Users(
				stage.Created(fake.Object(&appsv1.Deployment{}, web.Namespace, web.Name)),
				scaled("3"), scaled("1"),
				stage.IfThere(stage.Deleted[*corev1.Pod](kinform.Key{Namespace: "prod", Name: "web-1-0"})),
				stage.IfThere(stage.Deleted[*appsv1.ReplicaSet](kinform.Key{Namespace: "prod", Name: "web-1"})),
				scaled("2"),
			),
		}
	})
}
