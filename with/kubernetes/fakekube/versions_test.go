package fakekube_test

import (
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/reflector"
)

// TestEventsAreShared: an event that one API records is read and watched by the other.
func TestEventsAreShared(t *testing.T) {
	s := newServer(t)
	core, err := fake.NewSource[*corev1.Event](s, fake.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	create(t, s, &eventsv1.Event{ObjectMeta: named("new"), Note: "n", Reason: "R", DeprecatedCount: 3, Series: &eventsv1.EventSeries{Count: 2}})
	create(t, s, &corev1.Event{ObjectMeta: named("old"), Message: "m", InvolvedObject: corev1.ObjectReference{Name: "x"}})
	old, err := fake.Get[*eventsv1.Event](s, types.NamespacedName{Namespace: "default", Name: "old"})
	if err != nil {
		t.Fatal(err)
	}
	if old.Note != "m" || old.Regarding.Name != "x" || old.APIVersion != "events.k8s.io/v1" {
		t.Errorf("read by the new API: %+v", old)
	}
	if _, err := fake.Delete[*eventsv1.Event](s, types.NamespacedName{Namespace: "default", Name: "old"}); err != nil {
		t.Fatal(err)
	}
	var seen []string
	for ev, err := range core.Watch(t.Context(), metav1.ListOptions{ResourceVersion: "1"}) {
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, ev.Type.String()+" "+ev.Object.Name+" "+ev.Object.Message)
		if ev.Type == reflector.Added && ev.Object.Name == "new" && (ev.Object.Count != 3 || ev.Object.Series.Count != 2) {
			t.Errorf("watched by the old API: %+v", ev.Object)
		}
		if len(seen) == 3 {
			break
		}
	}
	for i, want := range []string{"ADDED new n", "ADDED old m", "DELETED old m"} {
		if seen[i] != want {
			t.Errorf("event %d: %s, want %s", i, seen[i], want)
		}
	}
}

// TestAutoscalersInTwoVersions: the share of the CPU is a field of version 1.
func TestAutoscalersInTwoVersions(t *testing.T) {
	s := newServer(t)
	share := int32(60)
	create(t, s, &autoscalingv1.HorizontalPodAutoscaler{ObjectMeta: named("a"), Spec: autoscalingv1.HorizontalPodAutoscalerSpec{TargetCPUUtilizationPercentage: &share}})
	a, err := fake.Get[*autoscalingv2.HorizontalPodAutoscaler](s, types.NamespacedName{Namespace: "default", Name: "a"})
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Spec.Metrics) != 1 || *a.Spec.Metrics[0].Resource.Target.AverageUtilization != share {
		t.Fatalf("version 2: %+v", a.Spec)
	}
	a.Spec.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleUp: &autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: &share}}
	if _, err := fake.Update(s, a); err != nil {
		t.Fatal(err)
	}
	b, err := fake.Get[*autoscalingv1.HorizontalPodAutoscaler](s, types.NamespacedName{Namespace: "default", Name: "a"})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"ScaleUp":{"StabilizationWindowSeconds":60,"SelectPolicy":null,"Policies":null,"Tolerance":null},"ScaleDown":null}`
	if got := b.Annotations["autoscaling.alpha.kubernetes.io/behavior"]; got != want {
		t.Errorf("annotation %s, want %s", got, want)
	}
}

// TestAutoscalersOrder: version 1 puts the CPU last. So a write in it changes the order in which
// the metrics are stored, and that counts as a change of the spec; a write of the status keeps it.
// An API server 1.37 gave these generations.
func TestAutoscalersOrder(t *testing.T) {
	s := newServer(t)
	share := int32(60)
	metric := func(name corev1.ResourceName) autoscalingv2.MetricSpec {
		return autoscalingv2.MetricSpec{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
			Name: name, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: &share},
		}}
	}
	ordered := []autoscalingv2.MetricSpec{metric("cpu"), metric("memory")}
	create(t, s, &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: named("a"), Spec: autoscalingv2.HorizontalPodAutoscalerSpec{Metrics: ordered}})
	key := types.NamespacedName{Namespace: "default", Name: "a"}
	for i, step := range []struct {
		write      func(*autoscalingv1.HorizontalPodAutoscaler) error
		generation int64
		first      corev1.ResourceName
	}{
		{func(*autoscalingv1.HorizontalPodAutoscaler) error { return nil }, 1, "cpu"},
		{func(a *autoscalingv1.HorizontalPodAutoscaler) error { return update(s, a) }, 2, "memory"},
		{func(a *autoscalingv1.HorizontalPodAutoscaler) error { return update(s, a) }, 2, "memory"},
		{func(*autoscalingv1.HorizontalPodAutoscaler) error {
			b, err := fake.Get[*autoscalingv2.HorizontalPodAutoscaler](s, key)
			if err != nil {
				return err
			}
			b.Spec.Metrics = ordered
			return update(s, b)
		}, 3, "cpu"},
		{func(a *autoscalingv1.HorizontalPodAutoscaler) error {
			a.Status.CurrentReplicas = 2
			_, err := fake.UpdateStatus(s, a)
			return err
		}, 3, "cpu"},
		{func(a *autoscalingv1.HorizontalPodAutoscaler) error {
			a.Labels = map[string]string{"a": "b"}
			return update(s, a)
		}, 4, "memory"},
	} {
		a, err := fake.Get[*autoscalingv1.HorizontalPodAutoscaler](s, key)
		if err != nil {
			t.Fatal(err)
		}
		if err := step.write(a); err != nil {
			t.Fatal(err)
		}
		b, err := fake.Get[*autoscalingv2.HorizontalPodAutoscaler](s, key)
		if err != nil {
			t.Fatal(err)
		}
		if b.Generation != step.generation || b.Spec.Metrics[0].Resource.Name != step.first {
			t.Errorf("step %d: generation %d, first %s; want %d, %s", i, b.Generation, b.Spec.Metrics[0].Resource.Name, step.generation, step.first)
		}
	}
}

func update[T metav1.Object](s *fake.Server, obj T) error {
	_, err := fake.Update(s, obj)
	return err
}
