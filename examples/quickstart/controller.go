package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/controller/manager"
	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/queue"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/with/kubernetes/core"
)

// nodesOf appends the node that a pod runs on. It is the function of an index, which also maps a change of a pod to the
// node's key.
func nodesOf(nodes []string, pod *corev1.Pod) []string {
	if pod.Spec.NodeName == "" {
		return nodes // not scheduled yet
	}
	return append(nodes, pod.Spec.NodeName)
}

// summarizer keeps one ConfigMap per node that says how many pods run there and what they
// request. Its reads, by index too, have its own writes at once.
type summarizer struct {
	nodes     *controller.Controller[string] // its keys are names of nodes
	pods      *kinform.Handle[*corev1.Pod]
	podsOn    informer.Index[kinform.Key, *corev1.Pod, string]
	summaries *kinform.Handle[*corev1.ConfigMap]
	namespace string // of the summaries

	reconciles, writes atomic.Uint64
}

// newSummarizer watches the pods of one server and the summaries in a namespace of another, which
// may be the same. It watches the summaries in order to correct them if somebody else changes one.
func newSummarizer(pods, summaries client.Connection, namespace string, onError func(error)) *summarizer {
	// Short waits make the demo livelier. Leave them out in a real program.
	often := reflector.Tuning{Backoff: reflector.Backoff{Initial: 200 * time.Millisecond, Max: time.Second}}
	s := &summarizer{namespace: namespace}
	s.pods = kinform.Open(pods, core.Pods, controller.OpenOptions[*corev1.Pod]{
		Informer: informer.Options[*corev1.Pod]{Reflector: often, OnError: onError},
	})
	s.summaries = kinform.Open(summaries, core.ConfigMaps, controller.OpenOptions[*corev1.ConfigMap]{
		Client:   summaryOptions(namespace),
		Informer: informer.Options[*corev1.ConfigMap]{Reflector: often, OnError: onError},
	})
	s.podsOn = informer.AddIndex(s.pods, index.New("node", nodesOf))
	s.nodes = controller.New("summaries", s.reconcile, controller.Options[string]{
		Queue: queue.Options[string]{OnError: func(_ string, err error) { onError(err) }},
		Run:   queue.RunOptions{Workers: 4, Timeout: 30 * time.Second},
	})
	controller.Watch(s.nodes, s.pods, s.podsOn.Values)
	controller.Watch(s.nodes, s.summaries, summarizedNodes)
	return s
}

// Run works until ctx is done, and returns nil then.
func (s *summarizer) Run(ctx context.Context) error { return manager.Run(ctx, s.nodes) }

// reconcile creates, updates or deletes a node's summary, and sends nothing if the summary is right. After an
// error the queue retries the node later.
func (s *summarizer) reconcile(ctx context.Context, node string) error {
	s.reconciles.Add(1)
	key := s.summaryKey(node)
	data := summarize(s.podsOn.Get(node))
	if data == nil {
		return s.remove(ctx, key)
	}
	_, outcome, err := controller.CreateOrUpdate(ctx, s.summaries, newSummary(key, nil), func(summary *corev1.ConfigMap) error {
		if summary.Labels[summaryLabel] != summaryLabelValue {
			return fmt.Errorf("%s: %w", key, errForeign) // left alone, and tried again later
		}
		summary.Data = data
		return nil
	})
	if outcome != controller.Unchanged {
		s.writes.Add(1)
	}
	return err
}

// remove deletes a summary if there is one.
func (s *summarizer) remove(ctx context.Context, key kinform.Key) error {
	summary, exists := s.summaries.Cached(key)
	if !exists {
		return nil
	}
	// Delete names the UID, so it spares another ConfigMap that got the name meanwhile.
	err := controller.Delete(ctx, s.summaries, summary, metav1.DeleteOptions{})
	if err == nil {
		s.writes.Add(1)
	}
	return err
}
