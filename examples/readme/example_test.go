package main

import (
	"context"
	"fmt"
	"log"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/with/kubernetes/core"
)

// The controller of the README, at work on a server in memory.
func Example() {
	server := newServer("node-1", "node-2")
	for i, node := range []string{"node-1", "node-2", "node-1", ""} {
		newPod(server, i, node)
	}
	begin := server.ResourceVersion()

	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
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
	must(fake.Register(server, core.Pods, fake.Rules{}))
	must(fake.Register(server, core.Nodes, fake.Rules{}))
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

// print sorts, because objects of a list come in no order.
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
