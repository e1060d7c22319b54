package strategies_test

import (
	"fmt"
	"math/rand"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/autoscaling"
	autoscalingfuzzer "k8s.io/kubernetes/pkg/apis/autoscaling/fuzzer"
	api "k8s.io/kubernetes/pkg/apis/core"
	corefuzzer "k8s.io/kubernetes/pkg/apis/core/fuzzer"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/with/kubernetes/fakekube"
)

// TestConversions: what package fakekube converts from version to version is what the API server's
// code makes of it, for random objects in both directions.
func TestConversions(t *testing.T) {
	seed := time.Now().UnixNano()
	t.Logf("seed %d", seed)
	fill := fuzzer.FuzzerFor(fuzzer.MergeFuzzerFuncs(metafuzzer.Funcs, corefuzzer.Funcs, autoscalingfuzzer.Funcs), rand.NewSource(seed), legacyscheme.Codecs)
	s, err := fakekube.New(fake.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 300 {
		autoscaler, event := &autoscaling.HorizontalPodAutoscaler{}, &api.Event{}
		fill.Fill(autoscaler)
		fill.Fill(event)
		vary(autoscaler, i)
		checkConversion(t, s, fmt.Sprint("down-", i), autoscaler, &autoscalingv2.HorizontalPodAutoscaler{}, &autoscalingv1.HorizontalPodAutoscaler{})
		checkConversion(t, s, fmt.Sprint("up-", i), autoscaler, &autoscalingv1.HorizontalPodAutoscaler{}, &autoscalingv2.HorizontalPodAutoscaler{})
		checkConversion(t, s, fmt.Sprint("down-", i), event, &corev1.Event{}, &eventsv1.Event{})
		checkConversion(t, s, fmt.Sprint("up-", i), event, &eventsv1.Event{}, &corev1.Event{})
	}
}

// vary makes what the random objects of Kubernetes do not have.
func vary(a *autoscaling.HorizontalPodAutoscaler, i int) {
	average := resource.MustParse("5")
	switch i % 4 {
	case 0:
		a.Spec.Metrics, a.Spec.Behavior, a.Status.CurrentMetrics = nil, nil, nil
	case 1:
		a.Spec.Behavior = &autoscaling.HorizontalPodAutoscalerBehavior{
			ScaleUp: &autoscaling.HPAScalingRules{Policies: []autoscaling.HPAScalingPolicy{}}, ScaleDown: &autoscaling.HPAScalingRules{},
		}
	case 2:
		a.Spec.Metrics = append(a.Spec.Metrics, autoscaling.MetricSpec{Type: autoscaling.ObjectMetricSourceType, Object: &autoscaling.ObjectMetricSource{
			Target: autoscaling.MetricTarget{Type: autoscaling.AverageValueMetricType, AverageValue: &average},
		}}, autoscaling.MetricSpec{Type: autoscaling.ResourceMetricSourceType, Resource: &autoscaling.ResourceMetricSource{
			Name: api.ResourceMemory, Target: autoscaling.MetricTarget{Type: autoscaling.UtilizationMetricType, AverageUtilization: new(int32)},
		}})
	}
}

type object interface {
	metav1.Object
	runtime.Object
}

// checkConversion creates random as an A, and reads it as an A and as a B.
func checkConversion[A, B object](t *testing.T, s *fake.Server, name string, random object, a A, b B) {
	t.Helper()
	convert(t, random, a)
	a.SetGenerateName("")
	a.SetName(name)
	a.SetNamespace("default")
	a.SetGeneration(0)
	a.SetUID("")
	a.SetResourceVersion("")
	a.SetOwnerReferences(nil)
	a.SetFinalizers(nil)
	a.SetLabels(nil)
	a.SetManagedFields(nil)
	kept := map[string]string{"n": "1"}
	for name, value := range a.GetAnnotations() {
		if strings.HasPrefix(name, "autoscaling.alpha") {
			kept[name] = value
		}
	}
	a.SetAnnotations(kept)
	if _, err := fake.Create(s, a); err != nil {
		t.Fatal(err)
	}
	if _, err := fake.UpdateStatus(s, a); err != nil && !apierrors.IsNotFound(err) { // events have none
		t.Fatal(err)
	}
	key := types.NamespacedName{Namespace: "default", Name: a.GetName()}
	gotA, err := fake.Get[A](s, key)
	if err != nil {
		t.Fatal(err)
	}
	gotB, err := fake.Get[B](s, key)
	if err != nil {
		t.Fatal(err)
	}
	inner := random.DeepCopyObject().(object)
	convert(t, gotA, inner)
	convert(t, inner, b)
	b.GetObjectKind().SetGroupVersionKind(gotB.GetObjectKind().GroupVersionKind())
	same(t, b, gotB)
	// What was sent comes back as the API server would give it back.
	convert(t, a, inner)
	for _, field := range []func(){
		func() { inner.SetUID(gotA.GetUID()) },
		func() { inner.SetResourceVersion(gotA.GetResourceVersion()) },
		func() { inner.SetCreationTimestamp(gotA.GetCreationTimestamp()) },
		func() { inner.SetGeneration(gotA.GetGeneration()) },
		func() {
			inner.SetDeletionTimestamp(nil)
			inner.SetDeletionGracePeriodSeconds(nil)
			inner.SetSelfLink("")
		},
	} {
		field()
	}
	want := a.DeepCopyObject().(A)
	convert(t, inner, want)
	want.GetObjectKind().SetGroupVersionKind(gotA.GetObjectKind().GroupVersionKind())
	same(t, want, gotA)
}

// convert has the API server's code make out of in.
func convert(t *testing.T, in, out object) {
	t.Helper()
	reflect.ValueOf(out).Elem().SetZero()
	if err := legacyscheme.Scheme.Convert(in.DeepCopyObject(), out, nil); err != nil {
		t.Fatal(err)
	}
}

func same(t *testing.T, want, got any) {
	t.Helper()
	if !equality.Semantic.DeepEqual(want, got) {
		t.Errorf("-API server +fake:\n%s", cmp.Diff(want, got, cmpopts.EquateEmpty(), cmp.Comparer(func(a, b resource.Quantity) bool { return a.Cmp(b) == 0 })))
	}
}
