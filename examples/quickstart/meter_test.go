package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/examples/quickstart/internal/live"
)

func TestBusiest(t *testing.T) {
	summary := func(node string, data map[string]string) *corev1.ConfigMap {
		return newSummary(kinform.Key{Namespace: "s", Name: summaryPrefix + node}, data)
	}
	summaries := []*corev1.ConfigMap{
		summary("b", map[string]string{"pods": "9", "phase.Running": "5", "phase.Pending": "1", "phase.Failed": "2", "phase.": "1", "cpu": "1250m", "memory": "1536Mi"}),
		summary("a", map[string]string{"pods": "9", "cpu": "0", "memory": "0"}),
		summary("c", map[string]string{"pods": "10", "phase.Running": "10", "cpu": "100", "memory": "2Ti"}),
		summary("spoilt", map[string]string{"pods": "many", "cpu": "x"}),
	}
	want := []live.Node{
		{Name: "c", Pods: 10, Running: 10, CPU: "100.0", Memory: "2048.0Gi"},
		{Name: "a", Pods: 9, Others: 9, CPU: "0.0", Memory: "0.0Gi"},
		{Name: "b", Pods: 9, Running: 5, Pending: 1, Others: 3, CPU: "1.2", Memory: "1.5Gi"},
		{Name: "spoilt", CPU: "?", Memory: "?"},
	}
	if diff := cmp.Diff(want, busiest(summaries)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for range tableRows {
		summaries = append(summaries, summary("last", map[string]string{"pods": "1"}))
	}
	if rows := busiest(summaries); len(rows) != tableRows || rows[0].Name != "c" {
		t.Errorf("%d rows, the first %+v", len(rows), rows[0])
	}
}
