package fakekube

import (
	"fmt"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/with/kubernetes/autoscaling"
	autoscalingold "github.com/kinform/kinform/with/kubernetes/autoscaling/v1"
	"github.com/kinform/kinform/with/kubernetes/core"
	"github.com/kinform/kinform/with/kubernetes/events"
	"github.com/kinform/kinform/with/kubernetes/openapi"
)

// An API server has two resources in several versions. Objects are stored in the first of them.

// registerEvents registers the events of the core group and of events.k8s.io, which are the same
// objects.
func registerEvents(s *fake.Server) error {
	if err := register(s, core.Events); err != nil {
		return err // Define would change what is registered
	}
	return fake.Define(s,
		fake.Definition[*corev1.Event]{Kind: core.Events, Rules: openapi.Rules(core.Events), Hooks: fake.Hooks[*corev1.Event]{Convert: convert(coreEvent)}},
		fake.Definition[*eventsv1.Event]{Kind: events.Events, Rules: openapi.Rules(events.Events), Hooks: fake.Hooks[*eventsv1.Event]{Convert: convert(newEvent)}})
}

// registerAutoscalers registers HorizontalPodAutoscalers of v2 and v1.
func registerAutoscalers(s *fake.Server) error {
	if err := register(s, autoscaling.HorizontalPodAutoscalers); err != nil {
		return err // as above
	}
	return fake.Define(s,
		fake.Definition[*autoscalingv2.HorizontalPodAutoscaler]{
			Kind:  autoscaling.HorizontalPodAutoscalers,
			Rules: openapi.Rules(autoscaling.HorizontalPodAutoscalers),
			Hooks: fake.Hooks[*autoscalingv2.HorizontalPodAutoscaler]{
				Convert: convert(autoscalerV2),
				Prune: func(a *autoscalingv2.HorizontalPodAutoscaler) ([]string, error) {
					dropAutoscalerAnnotations(a)
					return nil, nil // the API server does not mention them
				},
			},
		},
		fake.Definition[*autoscalingv1.HorizontalPodAutoscaler]{
			Kind:  autoscalingold.HorizontalPodAutoscalers,
			Rules: openapi.Rules(autoscalingold.HorizontalPodAutoscalers),
			Hooks: fake.Hooks[*autoscalingv1.HorizontalPodAutoscaler]{Convert: convert(autoscalerV1)},
		})
}

// convert makes a hook of the conversion from F, the only other version.
func convert[F, T metav1.Object](to func(F) (T, error)) func(metav1.Object) (T, error) {
	return func(obj metav1.Object) (T, error) {
		from, ok := obj.(F)
		if !ok {
			return *new(T), fmt.Errorf("fakekube: %T is of no other version of %T", obj, *new(T))
		}
		return to(from)
	}
}

func newEvent(e *corev1.Event) (*eventsv1.Event, error) {
	return &eventsv1.Event{
		ObjectMeta:               e.ObjectMeta,
		EventTime:                e.EventTime,
		Series:                   (*eventsv1.EventSeries)(e.Series),
		ReportingController:      e.ReportingController,
		ReportingInstance:        e.ReportingInstance,
		Action:                   e.Action,
		Reason:                   e.Reason,
		Regarding:                e.InvolvedObject,
		Related:                  e.Related,
		Note:                     e.Message,
		Type:                     e.Type,
		DeprecatedSource:         e.Source,
		DeprecatedFirstTimestamp: e.FirstTimestamp,
		DeprecatedLastTimestamp:  e.LastTimestamp,
		DeprecatedCount:          e.Count,
	}, nil
}

func coreEvent(e *eventsv1.Event) (*corev1.Event, error) {
	return &corev1.Event{
		ObjectMeta:          e.ObjectMeta,
		EventTime:           e.EventTime,
		Series:              (*corev1.EventSeries)(e.Series),
		ReportingController: e.ReportingController,
		ReportingInstance:   e.ReportingInstance,
		Action:              e.Action,
		Reason:              e.Reason,
		InvolvedObject:      e.Regarding,
		Related:             e.Related,
		Message:             e.Note,
		Type:                e.Type,
		Source:              e.DeprecatedSource,
		FirstTimestamp:      e.DeprecatedFirstTimestamp,
		LastTimestamp:       e.DeprecatedLastTimestamp,
		Count:               e.DeprecatedCount,
	}, nil
}
