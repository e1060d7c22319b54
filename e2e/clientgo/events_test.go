//go:build e2e

package clientgo

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/record"
)

// TestEvents records by tools/events: an event becomes a series when it is repeated, and another
// object gets its own event. Both groups show them.
func TestEvents(t *testing.T) {
	compare(t, func(t *testing.T, config *rest.Config) []string {
		set := clients(t, config)
		broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: set.EventsV1()})
		ctx, stop := context.WithCancel(t.Context())
		t.Cleanup(stop)
		if err := broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(broadcaster.Shutdown)
		recorder := broadcaster.NewRecorder(scheme.Scheme, "recorder")
		pods := [2]runtime.Object{pod("a"), pod("b")}
		recorder.Eventf(pods[0], nil, corev1.EventTypeNormal, "Began", "Begin", "it began %d", 1)
		await(t, set, 1, nil) // so that the events keep their order
		recorder.Eventf(pods[0], nil, corev1.EventTypeNormal, "Began", "Begin", "it began %d", 1)
		await(t, set, 1, func(e *corev1.Event) bool { return e.Series != nil && e.Series.Count == 2 })
		recorder.Eventf(pods[1], pods[0], corev1.EventTypeWarning, "Ended", "End", "it ended")
		return await(t, set, 2, nil)
	})
}

// TestOldEvents records by tools/record, which counts what is repeated and puts many events with
// one reason together.
func TestOldEvents(t *testing.T) {
	compare(t, func(t *testing.T, config *rest.Config) []string {
		set := clients(t, config)
		broadcaster := record.NewBroadcasterWithCorrelatorOptions(record.CorrelatorOptions{MaxEvents: 3, BurstSize: 100})
		broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: set.CoreV1().Events("")})
		t.Cleanup(broadcaster.Shutdown)
		recorder := broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "recorder"})
		for range 2 {
			recorder.Event(pod("a"), corev1.EventTypeNormal, "Began", "it began")
		}
		await(t, set, 1, func(e *corev1.Event) bool { return e.Count == 2 })
		for i := range 5 {
			recorder.AnnotatedEventf(pod("b"), map[string]string{"k": "v"}, corev1.EventTypeWarning, "Ended", "it ended %d", i)
		}
		return await(t, set, 4, func(e *corev1.Event) bool { return e.Reason == "Ended" && e.Count == 3 })
	})
}

func pod(name string) *corev1.Pod {
	return &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: "u"}}
}

// await waits until there are n events, and one that fits. It returns what both groups show of
// them.
func await(t *testing.T, set *kubernetes.Clientset, n int, fits func(*corev1.Event) bool) (seen []string) {
	t.Helper()
	for {
		list, err := set.CoreV1().Events("default").List(t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.kind=Pod"})
		if err != nil {
			t.Fatal(err)
		}
		if len(list.Items) == n && (fits == nil || slices.ContainsFunc(list.Items, func(e corev1.Event) bool { return fits(&e) })) {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	old, err := set.CoreV1().Events("default").List(t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.kind=Pod"})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(old.Items, func(a, b corev1.Event) int {
		return cmp.Or(cmp.Compare(a.InvolvedObject.Name, b.InvolvedObject.Name), cmp.Compare(a.Message, b.Message))
	})
	for _, e := range old.Items {
		fresh, err := set.EventsV1().Events("default").Get(t.Context(), e.Name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		count := int32(0)
		if fresh.Series != nil {
			count = fresh.Series.Count
		}
		seen = append(seen, fmt.Sprintf("%s %s/%s %s %s: %q of %s %v, count %d; %q %s %s, series of %d, count %d", e.Type, e.InvolvedObject.Kind, e.InvolvedObject.Name, e.Reason, e.Action,
			e.Message, e.Source.Component, e.Annotations, e.Count, fresh.Note, fresh.ReportingController, fresh.Regarding.Name, count, fresh.DeprecatedCount))
	}
	return seen
}
