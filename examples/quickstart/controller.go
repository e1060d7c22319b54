package main

import (
	"context"
	"errors"
	"maps"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/queue"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/store"
)

// nodesOf appends the node that a pod runs on. It is the index function, and it maps a change
// of a pod to the node's key.
func nodesOf(nodes []string, pod *corev1.Pod) []string {
	if pod.Spec.NodeName == "" {
		return nodes // not scheduled yet
	}
	return append(nodes, pod.Spec.NodeName)
}

// summarizer keeps one ConfigMap per node that says how many pods run there and what they
// request.
type summarizer struct {
	nodes     *controller.Controller[string] // its keys are names of nodes
	pods      *kinform.Informer[*corev1.Pod]
	byNode    *index.Index[*corev1.Pod, string]
	summaries *kinform.Informer[*corev1.ConfigMap]

	writer    *client.Resource[*corev1.ConfigMap]
	namespace string // of the summaries

	reconciles, writes atomic.Uint64
}

// newSummarizer watches pods and summaries. It watches the summaries in order to correct them
// if somebody else changes one.
func newSummarizer(pods kinform.Source[*corev1.Pod], summaries *client.Resource[*corev1.ConfigMap], namespace string, onError func(error)) (*summarizer, error) {
	s := &summarizer{byNode: index.New("node", nodesOf), writer: summaries, namespace: namespace}
	// Short waits make the demo livelier. Leave them out in a real program.
	often := reflector.Tuning{Backoff: reflector.Backoff{Initial: 200 * time.Millisecond, Max: time.Second}}
	var err error
	s.pods, err = informer.New(pods, store.ObjectKey, informer.Options[*corev1.Pod]{
		Indexes:   index.Of(s.byNode),
		Reflector: often,
		OnError:   onError,
	})
	if err != nil {
		return nil, err
	}
	s.summaries, err = informer.New(summaries, store.ObjectKey, informer.Options[*corev1.ConfigMap]{
		Reflector: often,
		OnError:   onError,
	})
	if err != nil {
		return nil, err
	}
	s.nodes = controller.New(controller.Options[string]{
		Queue: queue.Options[string]{OnError: func(_ string, err error) { onError(err) }},
		Run:   queue.RunOptions{Workers: 4, Timeout: 30 * time.Second},
	})
	return s, errors.Join(
		controller.Watch(s.nodes, s.pods, nodesOf),
		controller.Watch(s.nodes, s.summaries, summarizedNodes),
	)
}

// Run works until ctx is done, and returns nil then.
func (s *summarizer) Run(ctx context.Context) error { return s.nodes.Run(ctx, s.reconcile) }

// reconcile writes a node's summary. After an error, such as a conflict with another writer,
// the queue retries the node later.
func (s *summarizer) reconcile(ctx context.Context, node string) error {
	s.reconciles.Add(1)
	key := s.summaryKey(node)
	summary, exists := s.summaries.Store().Get(key)
	data := summarize(s.byNode.All(s.pods.Store(), node))

	var err error
	switch {
	case data == nil && !exists, exists && maps.Equal(summary.Data, data):
		return nil
	case data == nil:
		err = ignoreNotFound(s.writer.Delete(ctx, key, metav1.DeleteOptions{}))
	case !exists:
		summary, err = s.writer.Create(ctx, newSummary(key, data), metav1.CreateOptions{})
	default:
		summary = summary.DeepCopy() // objects in the cache are shared
		summary.Data = data
		summary, err = s.writer.Update(ctx, summary, metav1.UpdateOptions{})
	}
	if err != nil {
		return err
	}
	s.writes.Add(1)
	// The next reconcile of this node must find this write in the cache.
	if data == nil {
		return s.summaries.WaitFor(ctx, key, func(_ *corev1.ConfigMap, exists bool) bool { return !exists })
	}
	return s.summaries.WaitForRV(ctx, summary.ResourceVersion)
}
