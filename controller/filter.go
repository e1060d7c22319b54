package controller

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/informer"
)

// filtered calls handle for the events that all filters let pass.
func filtered[K comparable, T any](filters []func(informer.Event[K, T]) bool, handle func(informer.Event[K, T])) func(informer.Event[K, T]) {
	if len(filters) == 0 {
		return handle
	}
	return func(ev informer.Event[K, T]) {
		for _, pass := range filters {
			if !pass(ev) {
				return
			}
		}
		handle(ev)
	}
}

// both calls first, unless it is nil, and then second.
func both[K comparable, T any](first, second func(informer.Event[K, T])) func(informer.Event[K, T]) {
	if first == nil {
		return second
	}
	return func(ev informer.Event[K, T]) {
		first(ev)
		second(ev)
	}
}

// GenerationChanged is a filter that leaves out updates which only changed the status or the
// metadata. The API server counts the changes of a spec in metadata.generation, and the request to
// delete an object with finalizers is one of them
// (https://github.com/kubernetes/community/blob/main/contributors/devel/sig-architecture/api-conventions.md#metadata).
// Custom resources without the status subresource count changes of the status, too.
//
// These events always pass: resyncs (informer.Event.Sync), an object that replaced another one,
// every update of a kind without a generation, such as Service and Node, and an update whose two
// resourceVersions are equal. In the last case a new default or conversion of the kind, or an
// upgrade of the API server, changed the spec and not the generation (informer.Event).
//
// If an event should pass when one of two filters lets it pass, combine them:
//
//	func(ev informer.Event[kinform.Key, *Website]) bool {
//		return controller.GenerationChanged(ev) || controller.AnnotationsChanged(ev)
//	}
func GenerationChanged[K comparable, T metav1.Object](ev informer.Event[K, T]) bool {
	if !isChange(ev) || ev.Object.GetGeneration() == 0 || ev.Object.GetGeneration() != ev.Old.GetGeneration() {
		return true
	}
	version := ev.Object.GetResourceVersion()
	return version != "" && version == ev.Old.GetResourceVersion()
}

// LabelsChanged is a filter that leaves out updates which did not change the labels. Like
// [GenerationChanged], it passes resyncs and an object that replaced another one.
func LabelsChanged[K comparable, T metav1.Object](ev informer.Event[K, T]) bool {
	return !isChange(ev) || !maps.Equal(ev.Object.GetLabels(), ev.Old.GetLabels())
}

// AnnotationsChanged is a filter that leaves out updates which did not change the annotations. Like
// [GenerationChanged], it passes resyncs and an object that replaced another one.
func AnnotationsChanged[K comparable, T metav1.Object](ev informer.Event[K, T]) bool {
	return !isChange(ev) || !maps.Equal(ev.Object.GetAnnotations(), ev.Old.GetAnnotations())
}

// isChange reports whether ev is an update of one object.
func isChange[K comparable, T any](ev informer.Event[K, T]) bool {
	return ev.Type == informer.Updated && !ev.Sync && !ev.Replaced
}
