package fakekube

import (
	"encoding/json"
	"maps"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Version 1 of a HorizontalPodAutoscaler has one metric, a share of the CPU. Its annotations hold
// the other fields of version 2.
const (
	metricsAnnotation    = "autoscaling.alpha.kubernetes.io/metrics"
	statusesAnnotation   = "autoscaling.alpha.kubernetes.io/current-metrics"
	conditionsAnnotation = "autoscaling.alpha.kubernetes.io/conditions"
	behaviorAnnotation   = "autoscaling.alpha.kubernetes.io/behavior"
	// These two belonged to an alpha feature.
	downAnnotation = "autoscaling.alpha.kubernetes.io/scale-down-tolerance"
	upAnnotation   = "autoscaling.alpha.kubernetes.io/scale-up-tolerance"
)

// defaultShare of the CPU is the metric of an autoscaler of version 1 that states none.
const defaultShare = 80

// dropAutoscalerAnnotations removes the annotations of version 1 from obj, which is its caller's.
func dropAutoscalerAnnotations(obj metav1.Object) {
	kept := maps.Clone(obj.GetAnnotations())
	for _, name := range []string{metricsAnnotation, statusesAnnotation, conditionsAnnotation, behaviorAnnotation, downAnnotation, upAnnotation} {
		delete(kept, name)
	}
	if len(kept) < len(obj.GetAnnotations()) {
		obj.SetAnnotations(kept)
	}
}

// cpuShare reports whether m is the metric of version 1.
func cpuShare(m *autoscalingv2.MetricSpec) bool {
	return m.Type == autoscalingv2.ResourceMetricSourceType && m.Resource != nil && m.Resource.Name == corev1.ResourceCPU &&
		m.Resource.Target.AverageUtilization != nil
}

func newCPUShare(share int32) autoscalingv2.MetricSpec {
	return autoscalingv2.MetricSpec{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
		Name: corev1.ResourceCPU, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: &share},
	}}
}

func autoscalerV1(a *autoscalingv2.HorizontalPodAutoscaler) (*autoscalingv1.HorizontalPodAutoscaler, error) {
	out := &autoscalingv1.HorizontalPodAutoscaler{
		ObjectMeta: a.ObjectMeta,
		Spec: autoscalingv1.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv1.CrossVersionObjectReference(a.Spec.ScaleTargetRef),
			MinReplicas:    a.Spec.MinReplicas,
			MaxReplicas:    a.Spec.MaxReplicas,
		},
		Status: autoscalingv1.HorizontalPodAutoscalerStatus{
			ObservedGeneration: a.Status.ObservedGeneration,
			LastScaleTime:      a.Status.LastScaleTime,
			CurrentReplicas:    a.Status.CurrentReplicas,
			DesiredReplicas:    a.Status.DesiredReplicas,
		},
	}
	dropAutoscalerAnnotations(out)
	for i := range a.Spec.Metrics {
		if m := &a.Spec.Metrics[i]; cpuShare(m) && out.Spec.TargetCPUUtilizationPercentage == nil {
			out.Spec.TargetCPUUtilizationPercentage = m.Resource.Target.AverageUtilization
		}
	}
	for _, m := range a.Status.CurrentMetrics {
		if m.Type == autoscalingv2.ResourceMetricSourceType && m.Resource != nil && m.Resource.Name == corev1.ResourceCPU && m.Resource.Current.AverageUtilization != nil {
			out.Status.CurrentCPUUtilizationPercentage = m.Resource.Current.AverageUtilization
		}
	}
	return out, annotate(out, a)
}

// annotate puts the values for which out has no fields into its annotations.
func annotate(out *autoscalingv1.HorizontalPodAutoscaler, a *autoscalingv2.HorizontalPodAutoscaler) error {
	var metrics []autoscalingv1.MetricSpec
	for i := range a.Spec.Metrics {
		if m := &a.Spec.Metrics[i]; !cpuShare(m) {
			metrics = append(metrics, metricV1(*m))
		}
	}
	var statuses []autoscalingv1.MetricStatus
	for _, m := range a.Status.CurrentMetrics {
		statuses = append(statuses, metricStatusV1(m))
	}
	var conditions []autoscalingv1.HorizontalPodAutoscalerCondition
	for _, c := range a.Status.Conditions {
		conditions = append(conditions, conditionV1(c))
	}
	for _, x := range []struct {
		name  string
		has   bool
		value any
	}{
		{metricsAnnotation, len(metrics) > 0, metrics},
		{statusesAnnotation, len(statuses) > 0, statuses},
		{conditionsAnnotation, len(conditions) > 0, conditions},
		{behaviorAnnotation, a.Spec.Behavior != nil, annotatedBehavior(a.Spec.Behavior)},
	} {
		if !x.has {
			continue
		}
		b, err := json.Marshal(x.value)
		if err != nil {
			return err
		}
		metav1.SetMetaDataAnnotation(&out.ObjectMeta, x.name, string(b))
	}
	return nil
}

func autoscalerV2(a *autoscalingv1.HorizontalPodAutoscaler) (*autoscalingv2.HorizontalPodAutoscaler, error) {
	out := &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: a.ObjectMeta,
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference(a.Spec.ScaleTargetRef),
			MinReplicas:    a.Spec.MinReplicas,
			MaxReplicas:    a.Spec.MaxReplicas,
		},
		Status: autoscalingv2.HorizontalPodAutoscalerStatus{
			ObservedGeneration: a.Status.ObservedGeneration,
			LastScaleTime:      a.Status.LastScaleTime,
			CurrentReplicas:    a.Status.CurrentReplicas,
			DesiredReplicas:    a.Status.DesiredReplicas,
		},
	}
	if share := a.Status.CurrentCPUUtilizationPercentage; share != nil {
		out.Status.CurrentMetrics = []autoscalingv2.MetricStatus{{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricStatus{
			Name: corev1.ResourceCPU, Current: autoscalingv2.MetricValueStatus{AverageUtilization: share},
		}}}
	}
	for _, m := range annotation[[]autoscalingv1.MetricSpec](a, metricsAnnotation) {
		out.Spec.Metrics = append(out.Spec.Metrics, metricV2(m))
	}
	if share := a.Spec.TargetCPUUtilizationPercentage; share != nil {
		out.Spec.Metrics = append(out.Spec.Metrics, newCPUShare(*share))
	}
	if len(out.Spec.Metrics) == 0 {
		out.Spec.Metrics = append(out.Spec.Metrics, newCPUShare(defaultShare))
	}
	if b := annotation[behavior](a, behaviorAnnotation); b != (behavior{}) {
		out.Spec.Behavior = b.v2()
	}
	if statuses := annotation[[]autoscalingv1.MetricStatus](a, statusesAnnotation); statuses != nil {
		out.Status.CurrentMetrics = make([]autoscalingv2.MetricStatus, len(statuses))
		for i, m := range statuses {
			out.Status.CurrentMetrics[i] = metricStatusV2(m)
		}
	}
	for _, c := range annotation[[]autoscalingv1.HorizontalPodAutoscalerCondition](a, conditionsAnnotation) {
		out.Status.Conditions = append(out.Status.Conditions, conditionV2(c))
	}
	dropAutoscalerAnnotations(out)
	return out, nil
}

// annotation returns the value in an annotation, zero if that is absent or no such value.
func annotation[T any](obj metav1.Object, name string) T {
	var value T
	if json.Unmarshal([]byte(obj.GetAnnotations()[name]), &value) != nil {
		return *new(T)
	}
	return value
}

// conditionV1 and conditionV2 cannot be conversions of Go: the types of the conditions differ.
func conditionV1(c autoscalingv2.HorizontalPodAutoscalerCondition) autoscalingv1.HorizontalPodAutoscalerCondition {
	return autoscalingv1.HorizontalPodAutoscalerCondition{
		Type: autoscalingv1.HorizontalPodAutoscalerConditionType(c.Type), Status: c.Status, LastTransitionTime: c.LastTransitionTime,
		Reason: c.Reason, Message: c.Message, ObservedGeneration: c.ObservedGeneration,
	}
}

func conditionV2(c autoscalingv1.HorizontalPodAutoscalerCondition) autoscalingv2.HorizontalPodAutoscalerCondition {
	return autoscalingv2.HorizontalPodAutoscalerCondition{
		Type: autoscalingv2.HorizontalPodAutoscalerConditionType(c.Type), Status: c.Status, LastTransitionTime: c.LastTransitionTime,
		Reason: c.Reason, Message: c.Message, ObservedGeneration: c.ObservedGeneration,
	}
}

// behavior is a behavior as the annotation of version 1 has it: with the names of Go.
type behavior struct{ ScaleUp, ScaleDown *scalingRules }

type scalingRules struct {
	StabilizationWindowSeconds *int32
	SelectPolicy               *autoscalingv2.ScalingPolicySelect
	Policies                   []scalingPolicy
	Tolerance                  *resource.Quantity
}

type scalingPolicy struct {
	Type          autoscalingv2.HPAScalingPolicyType
	Value         int32
	PeriodSeconds int32
}

func annotatedBehavior(b *autoscalingv2.HorizontalPodAutoscalerBehavior) *behavior {
	if b == nil {
		return nil
	}
	return &behavior{annotatedRules(b.ScaleUp), annotatedRules(b.ScaleDown)}
}

func annotatedRules(r *autoscalingv2.HPAScalingRules) *scalingRules {
	if r == nil {
		return nil
	}
	out := &scalingRules{StabilizationWindowSeconds: r.StabilizationWindowSeconds, SelectPolicy: r.SelectPolicy, Tolerance: r.Tolerance}
	if r.Policies != nil {
		out.Policies = []scalingPolicy{} // null and an empty list differ in the annotation
	}
	for _, p := range r.Policies {
		out.Policies = append(out.Policies, scalingPolicy(p))
	}
	return out
}

func (b behavior) v2() *autoscalingv2.HorizontalPodAutoscalerBehavior {
	return &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleUp: b.ScaleUp.v2(), ScaleDown: b.ScaleDown.v2()}
}

func (r *scalingRules) v2() *autoscalingv2.HPAScalingRules {
	if r == nil {
		return nil
	}
	out := &autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: r.StabilizationWindowSeconds, SelectPolicy: r.SelectPolicy, Tolerance: r.Tolerance}
	if r.Policies != nil {
		out.Policies = []autoscalingv2.HPAScalingPolicy{}
	}
	for _, p := range r.Policies {
		out.Policies = append(out.Policies, autoscalingv2.HPAScalingPolicy(p))
	}
	return out
}
