package join_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/examples/internal/stage"
	"github.com/kinform/kinform/examples/join"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/sim"
	"github.com/kinform/kinform/with/kubernetes/core"
	"github.com/kinform/kinform/with/kubernetes/discovery"
)

// TestExplore looks for a schedule after which the annotation of a Service is wrong.
func TestExplore(t *testing.T) {
	pod := func(name string) stage.Step {
		return stage.Created(fake.Object(&corev1.Pod{}, "prod", name, fake.Labels("app", "shop")))
	}
	service := func() *corev1.Service {
		return fake.Object(&corev1.Service{Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "shop"}}}, shop.Namespace, shop.Name)
	}
	endpoint := discoveryv1.Endpoint{TargetRef: &corev1.ObjectReference{Kind: "Pod", UID: "of a"}}
	a := kinform.Key{Namespace: "prod", Name: "a"}
	stage.Explore(t, 400, func() sim.Program {
		return sim.Program{
			Server: stage.Server(fake.Options{}, stage.Kind(core.Services), stage.Kind(core.Pods), stage.Kind(discovery.EndpointSlices)),
			Run:    join.Run,
			Users: stage.Users(
				stage.Created(service()), pod("a"), pod("b"),
				stage.Created(fake.Object(&discoveryv1.EndpointSlice{Endpoints: []discoveryv1.Endpoint{endpoint}}, "prod", "v4", fake.Labels(discoveryv1.LabelServiceName, "shop"))),
				stage.Patched[*corev1.Pod](a, `{"metadata":{"labels":{"app":"other"}}}`),
				stage.Patched[*corev1.Service](shop, `{"metadata":{"annotations":{"`+join.Annotation+`":"7/7"}}}`),
				stage.Deleted[*discoveryv1.EndpointSlice](kinform.Key{Namespace: "prod", Name: "v4"}),
				stage.Deleted[*corev1.Service](shop), stage.Created(service()), stage.Deleted[*corev1.Pod](a),
			),
		}
	})
}
