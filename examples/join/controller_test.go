package join_test

import (
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/examples/internal/stage"
	"github.com/kinform/kinform/examples/join"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/with/kubernetes/core"
	"github.com/kinform/kinform/with/kubernetes/discovery"
)

func TestMain(m *testing.M) {
	slog.SetLogLoggerLevel(slog.LevelError + 1) // failed reconciles are wanted here
	goleak.VerifyTestMain(m)
}

func TestLines(t *testing.T) { stage.AtMostLines(t, "controller.go", 45) }

var shop = kinform.Key{Namespace: "prod", Name: "shop"}

func newStage(t *testing.T) *stage.Stage {
	return stage.New(t, fake.Options{}, join.Run, stage.Kind(core.Services), stage.Kind(core.Pods), stage.Kind(discovery.EndpointSlices))
}

func newService(s *stage.Stage, key kinform.Key) {
	stage.Create(s, fake.Object(&corev1.Service{Spec: corev1.ServiceSpec{Selector: map[string]string{"app": key.Name}}}, key.Namespace, key.Name))
}

func newPod(s *stage.Stage, namespace, app string, n int) *corev1.Pod {
	return stage.Create(s, fake.Object(&corev1.Pod{}, namespace, fmt.Sprintf("%s-%d", app, n), fake.Labels("app", app)))
}

// newSlice makes a slice with endpoints, each of which is ready or not.
func newSlice(s *stage.Stage, name string, service kinform.Key, ready map[*corev1.Pod]bool) {
	slice := fake.Object(&discoveryv1.EndpointSlice{}, service.Namespace, name, fake.Labels(discoveryv1.LabelServiceName, service.Name))
	for pod, is := range ready {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
			TargetRef:  &corev1.ObjectReference{Kind: "Pod", UID: pod.UID},
			Conditions: discoveryv1.EndpointConditions{Ready: &is},
		})
	}
	stage.Create(s, slice)
}

func want(t *testing.T, s *stage.Stage, after, text string) {
	t.Helper()
	s.Settle()
	if got := stage.Get[*corev1.Service](s, shop).Annotations[join.Annotation]; got != text {
		t.Errorf("the annotation is %q after %s, want %q", got, after, text)
	}
}

func TestCounts(t *testing.T) {
	stage.NoWarnings(t)
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		newService(s, shop)
		want(t, s, "the start", "0/0")
		a, b := newPod(s, "prod", "shop", 1), newPod(s, "prod", "shop", 2)
		newPod(s, "prod", "other", 1)
		newPod(s, "test", "shop", 1)
		want(t, s, "two pods", "0/2")
		newSlice(s, "v4", shop, map[*corev1.Pod]bool{a: true, b: false})
		newSlice(s, "v6", shop, map[*corev1.Pod]bool{a: true})
		want(t, s, "two slices", "1/2")
		newSlice(s, "other", shop, map[*corev1.Pod]bool{b: true})
		want(t, s, "a third slice", "2/2")
		stage.Delete[*discoveryv1.EndpointSlice](s, kinform.Key{Namespace: "prod", Name: "other"})
		want(t, s, "the end of the third slice", "1/2")
		stage.Delete[*corev1.Pod](s, kinform.Key{Namespace: "prod", Name: "shop-2"})
		want(t, s, "the end of a pod", "1/1")
		stage.Patch[*corev1.Pod](s, kinform.Key{Namespace: "prod", Name: "shop-1"}, `{"metadata":{"labels":{"app":"other"}}}`)
		want(t, s, "another label of a pod", "1/0")
		stage.Patch[*corev1.Service](s, shop, `{"spec":{"selector":{"app":"other"}}}`)
		want(t, s, "another selector", "1/2")
		stage.Delete[*discoveryv1.EndpointSlice](s, kinform.Key{Namespace: "prod", Name: "v4"})
		want(t, s, "the end of a slice", "1/2")
		stage.Delete[*discoveryv1.EndpointSlice](s, kinform.Key{Namespace: "prod", Name: "v6"})
		want(t, s, "the end of all slices", "0/2")

		s.Writes()
		for n := range 100 {
			stage.Patch[*corev1.Pod](s, kinform.Key{Namespace: "prod", Name: "shop-1"}, fmt.Sprintf(`{"metadata":{"annotations":{"n":"%d"}}}`, n))
		}
		s.Settle()
		s.WantWrites("100 unrelated updates of a pod", 0)
	})
}

// An endpoint without a word about it is ready. One without a pod does not count.
func TestEndpoints(t *testing.T) {
	stage.NoWarnings(t)
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		newService(s, shop)
		pod := newPod(s, "prod", "shop", 1)
		slice := fake.Object(&discoveryv1.EndpointSlice{}, "prod", "v4", fake.Labels(discoveryv1.LabelServiceName, "shop"))
		slice.Endpoints = []discoveryv1.Endpoint{{TargetRef: &corev1.ObjectReference{Kind: "Pod", UID: pod.UID}}, {}}
		stage.Create(s, slice)
		want(t, s, "two endpoints", "1/1")
	})
}

// A Service that is gone when the annotation is to be written is no failure.
func TestGone(t *testing.T) {
	stage.NoWarnings(t)
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.Stop()
		s.Before = func() { stage.Delete[*corev1.Service](s, shop) }
		s.Start()
		newService(s, shop)
		s.Settle()
		s.WantWrites("the end of the Service", 1)
	})
}

// The controller writes nothing to a Service whose slices somebody else makes.
func TestLeavesOthersAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		stage.Create(s, fake.Object(&corev1.Service{}, "prod", "shop"))
		newPod(s, "prod", "shop", 1)
		s.Settle()
		s.WantWrites("a service without a selector", 0)
	})
}
