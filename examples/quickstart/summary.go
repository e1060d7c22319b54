package main

import (
	"iter"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform"
)

const (
	// summaryNamespace is where the summaries are unless -write names another.
	summaryNamespace = "node-summaries"
	summaryPrefix    = "node-summary-"

	// summaryLabel marks the ConfigMaps that are the controller's. It touches no other.
	summaryLabel      = "app.kubernetes.io/managed-by"
	summaryLabelValue = "kinform-quickstart"
)

// summaryKey is where a node's summary is. Its namespace is the client's.
func (s *summarizer) summaryKey(node string) kinform.Key {
	return kinform.Key{Namespace: s.namespace, Name: summaryPrefix + node}
}

// summarizedNodes appends the node that a summary is of.
func summarizedNodes(nodes []string, summary *corev1.ConfigMap) []string {
	return append(nodes, nodeOf(summary.Name))
}

// nodeOf is the node that the summary of a name is of.
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

// summarize counts pods by phase and adds up what those that still run request. It
// returns nil for no pods.
func summarize(pods iter.Seq[*corev1.Pod]) map[string]string {
	var cpu, memory resource.Quantity
	total, phases := 0, map[corev1.PodPhase]int{}
	for pod := range pods {
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

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
