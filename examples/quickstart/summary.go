package main

import (
	"errors"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
)

const (
	// summaryNamespace is the namespace of the summaries, unless -write names another.
	summaryNamespace = "node-summaries"
	summaryPrefix    = "node-summary-"

	// summaryLabel marks the controller's ConfigMaps. It touches no others.
	summaryLabel      = "app.kubernetes.io/managed-by"
	summaryLabelValue = "kinform-quickstart"
)

// errForeign says that the name of a summary is taken.
var errForeign = errors.New("a ConfigMap of this name exists without the label of the quickstart")

// summaryOptions select the summaries in a namespace.
func summaryOptions(namespace string) client.Options {
	return client.Options{Namespace: namespace, LabelSelector: summaryLabel + "=" + summaryLabelValue}
}

// summaryKey returns the key of a node's summary. Its namespace is the client's.
func (s *summarizer) summaryKey(node string) kinform.Key {
	return kinform.Key{Namespace: s.namespace, Name: summaryPrefix + node}
}

// summarizedNodes appends the node of a summary.
func summarizedNodes(nodes []string, summary *corev1.ConfigMap) []string {
	return append(nodes, nodeOf(summary.Name))
}

// nodeOf returns the node of the summary with the given name.
func nodeOf(summary string) string { return strings.TrimPrefix(summary, summaryPrefix) }

func newSummary(key kinform.Key, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: key.Namespace,
			Name:      key.Name,
			Labels:    map[string]string{summaryLabel: summaryLabelValue},
		},
		Data: data,
	}
}

// summarize counts pods by phase, and adds up the requests of those that still run. It returns
// nil if there are no pods.
func summarize(pods []*corev1.Pod) map[string]string {
	var cpu, memory resource.Quantity
	total, phases := 0, map[corev1.PodPhase]int{}
	for _, pod := range pods {
		total++
		phases[pod.Status.Phase]++
		if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		for _, container := range pod.Spec.Containers {
			cpu.Add(container.Resources.Requests[corev1.ResourceCPU])
			memory.Add(container.Resources.Requests[corev1.ResourceMemory])
		}
	}
	if total == 0 {
		return nil
	}
	data := map[string]string{"pods": strconv.Itoa(total), "cpu": cpu.String(), "memory": memory.String()}
	for phase, n := range phases {
		data["phase."+string(phase)] = strconv.Itoa(n)
	}
	return data
}
