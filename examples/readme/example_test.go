package readme_test

import (
	"context"
	"fmt"
	"log"
	"slices"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/queue"
	"github.com/kinform/kinform/store"
)

// countPods keeps an annotation on every node: how many pods are there.
func countPods(ctx context.Context, server client.Connection) error {
	source, err := client.New[*corev1.Pod](server, corev1.SchemeGroupVersion.WithResource("pods"), client.Options{})
	if err != nil {
		return err
	}
	nodes, err := client.New[*corev1.Node](server, corev1.SchemeGroupVersion.WithResource("nodes"), client.Options{})
	if err != nil {
		return err
	}
	byNode := index.New("node", func(names []string, pod *corev1.Pod) []string {
		return append(names, pod.Spec.NodeName)
	})
	pods, err := informer.New(source, store.ObjectKey, informer.Options[*corev1.Pod]{
		Indexes: []index.Definition[*corev1.Pod]{byNode},
	})
	if err != nil {
		return err
	}
	names := queue.New(queue.Options[string]{})
	if _, err := pods.AddHandler(informer.HandlerFunc[kinform.Key, *corev1.Pod](func(ev kinform.Event[*corev1.Pod]) {
		names.Add(ev.Object.Spec.NodeName)
	})); err != nil {
		return err
	}

	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return pods.Run(ctx) })
	g.Go(func() error {
		if err := pods.WaitForSync(ctx); err != nil {
			return err
		}
		return queue.Run(ctx, names, queue.RunOptions{Workers: 4}, func(ctx context.Context, name string) error {
			if name == "" {
				return nil // pods that are not scheduled yet
			}
			patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"pods":"%d"}}}`, byNode.Count(pods.Store(), name))
			_, err := nodes.Patch(ctx, kinform.Key{Name: name}, types.MergePatchType, patch, metav1.PatchOptions{})
			return err // and the queue tries again
		})
	})
	return g.Wait()
}

// The controller of the README, at work on a server in memory.
func Example() {
	server := newServer("node-1", "node-2")
	for i, node := range []string{"node-1", "node-2", "node-1", ""} {
		newPod(server, i, node)
	}
	begin := server.ResourceVersion()

	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- countPods(ctx, client.Connection{URL: fake.URL, HTTP: server.Client()}) }()

	print(nextNodes(server, begin, 2))
	begin = server.ResourceVersion()
	newPod(server, 4, "node-2")
	print(nextNodes(server, begin, 1))

	cancel()
	fmt.Println("stopped:", <-done)

	// Output:
	// node-1 has 2
	// node-2 has 1
	// node-2 has 2
	// stopped: <nil>
}

func newServer(nodes ...string) *fake.Server {
	server := fake.New(fake.Options{})
	must(fake.Register[*corev1.Pod](server, fake.Resource{}))
	must(fake.Register[*corev1.Node](server, fake.Resource{ClusterScoped: true}))
	for _, name := range nodes {
		_, err := fake.Create(server, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
		must(err)
	}
	return server
}

func newPod(server *fake.Server, i int, node string) {
	_, err := fake.Create(server, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: fmt.Sprintf("web-%d", i)},
		Spec:       corev1.PodSpec{NodeName: node},
	})
	must(err)
}

// nextNodes waits for n changes of nodes after a resourceVersion.
func nextNodes(server *fake.Server, resourceVersion string, n int) (lines []string) {
	source, err := fake.NewSource[*corev1.Node](server, fake.Selection{})
	must(err)
	for ev, err := range source.Watch(context.Background(), metav1.ListOptions{ResourceVersion: resourceVersion}) {
		must(err)
		lines = append(lines, ev.Object.Name+" has "+ev.Object.Annotations["pods"])
		if len(lines) == n {
			break
		}
	}
	return lines
}

// print sorts, because the controller's workers finish in any order.
func print(lines []string) {
	slices.Sort(lines)
	for _, line := range lines {
		fmt.Println(line)
	}
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
