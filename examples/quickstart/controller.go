package main

import (
	"context"
	"maps"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/queue"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/store"
)

// byNode finds pods by the node that they run on.
var byNode = index.New("node", func(nodes []string, pod *corev1.Pod) []string {
	if pod.Spec.NodeName == "" {
		return nodes // not scheduled yet
	}
	return append(nodes, pod.Spec.NodeName)
})

// controller keeps one ConfigMap per node that says how many pods run there and what they
// request. Its queue holds names of nodes.
type controller struct {
	pods      *kinform.Informer[*corev1.Pod]
	summaries *kinform.Informer[*corev1.ConfigMap]
	nodes     *kinform.Queue[string]

	writer    *client.Resource[*corev1.ConfigMap]
	namespace string // of the summaries

	reconciles, writes atomic.Uint64
}

// newController watches pods, and the summaries too: a change to one by somebody else is
// put right.
func newController(pods kinform.Source[*corev1.Pod], summaries *client.Resource[*corev1.ConfigMap], namespace string, onError func(error)) (*controller, error) {
	c := &controller{writer: summaries, namespace: namespace}
	c.nodes = queue.New(queue.Options[string]{OnError: func(_ string, err error) { onError(err) }})

	// Soon back, for those who look on. Leave it out and it becomes kinder to the server.
	backoff := reflector.Backoff{Initial: 200 * time.Millisecond, Max: time.Second}
	var err error
	c.pods, err = informer.New(pods, store.ObjectKey, informer.Options[*corev1.Pod]{
		Indexes: []index.Definition[*corev1.Pod]{byNode},
		Backoff: backoff,
		OnError: onError,
	})
	if err != nil {
		return nil, err
	}
	c.summaries, err = informer.New(summaries, store.ObjectKey, informer.Options[*corev1.ConfigMap]{
		Backoff: backoff,
		OnError: onError,
	})
	if err != nil {
		return nil, err
	}
	if _, err := c.pods.AddHandler(informer.HandlerFunc[kinform.Key, *corev1.Pod](c.podChanged)); err != nil {
		return nil, err
	}
	_, err = c.summaries.AddHandler(informer.HandlerFunc[kinform.Key, *corev1.ConfigMap](c.summaryChanged))
	return c, err
}

// Run works until ctx is done, and returns nil then.
func (c *controller) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return c.pods.Run(ctx) })
	g.Go(func() error { return c.summaries.Run(ctx) })
	g.Go(func() error {
		// In a cache that is not complete, a busy node can look empty.
		if c.pods.WaitForSync(ctx) != nil || c.summaries.WaitForSync(ctx) != nil {
			return nil
		}
		return queue.Run(ctx, c.nodes, queue.RunOptions{Workers: 4, Timeout: 30 * time.Second}, c.reconcile)
	})
	return g.Wait()
}

func (c *controller) podChanged(ev kinform.Event[*corev1.Pod]) {
	if node := ev.Object.Spec.NodeName; node != "" {
		c.nodes.Add(node)
	}
}

func (c *controller) summaryChanged(ev kinform.Event[*corev1.ConfigMap]) {
	c.nodes.Add(nodeOf(ev.Key))
}

// reconcile makes a node's summary what it should be. An error, such as a conflict with
// another writer, brings the node back after a while.
func (c *controller) reconcile(ctx context.Context, node string) error {
	c.reconciles.Add(1)
	key := c.summaryKey(node)
	summary, exists := c.summaries.Store().Get(key)
	data := summarize(byNode.All(c.pods.Store(), node))

	var err error
	switch {
	case data == nil && !exists, exists && maps.Equal(summary.Data, data):
		return nil
	case data == nil:
		err = ignoreNotFound(c.writer.Delete(ctx, key, metav1.DeleteOptions{}))
	case !exists:
		summary, err = c.writer.Create(ctx, newSummary(key, data), metav1.CreateOptions{})
	default:
		summary = summary.DeepCopy() // what is in the cache is shared
		summary.Data = data
		summary, err = c.writer.Update(ctx, summary, metav1.UpdateOptions{})
	}
	if err != nil {
		return err
	}
	c.writes.Add(1)
	// The next reconcile of this node finds in the cache what this one wrote.
	return c.summaries.Store().WaitForRV(ctx, summary.ResourceVersion)
}
