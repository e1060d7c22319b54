package ops

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinform/kinform/fake"
)

// podsAnnotation has the number of a node's pods.
const podsAnnotation = "pods"

// cluster has nodes with a pod each. Its methods are calls by the rules of net/rpc, one after the other.
type cluster struct {
	server *fake.Server
	nodes  []key // or the objects of an example
	next   int   // counts the changes of all nodes

	example example // zero for that of README.md

	mu      sync.Mutex
	patches int           // that have yet to be answered before done is closed
	done    chan struct{} // of the current Unset
}

// Serve starts the server with n nodes, whose annotations are right, and with all kinds of manyKinds.
func (c *cluster) Serve(n int, url *string) error {
	c.server = fake.New(fake.Options{})
	for _, k := range manyKinds {
		if err := k.register(c.server); err != nil {
			return err
		}
	}
	for i := range n {
		name := fmt.Sprintf("node-%05d", i)
		node := &corev1.Node{Spec: corev1.NodeSpec{ProviderID: "bench://" + name}}
		node.Annotations = map[string]string{podsAnnotation: "1"}
		if _, err := fake.Create(c.server, fake.Object(node, "", name, fake.Labels("kubernetes.io/hostname", name, "kubernetes.io/arch", "amd64"))); err != nil {
			return err
		}
		pod := &corev1.Pod{Spec: corev1.PodSpec{NodeName: name, Containers: []corev1.Container{{Name: "web", Image: "nginx:1.27.3"}}}}
		if _, err := fake.Create(c.server, fake.Object(pod, "prod", fmt.Sprintf("pod-%05d", i))); err != nil {
			return err
		}
		c.nodes = append(c.nodes, key{Name: name})
	}
	*url = httptest.NewServer(c).URL // until the process ends
	return nil
}

// ServeHTTP implements http.Handler. It counts patches.
func (c *cluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.server.ServeHTTP(w, r)
	if r.Method != http.MethodPatch {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.patches--; c.patches == 0 {
		close(c.done)
	}
}

// Touch changes a label of every node, so that each is reconciled and needs no patch.
func (c *cluster) Touch(int, *int) error {
	c.next++
	value := fmt.Sprint(c.next)
	return c.changeAll(func(node *corev1.Node) { node.Labels["change"] = value })
}

// Unset removes the annotation of every node. It returns when all have been patched.
func (c *cluster) Unset(int, *int) error {
	c.mu.Lock()
	done := make(chan struct{})
	c.patches, c.done = len(c.nodes), done
	c.mu.Unlock()
	err := c.changeAll(func(node *corev1.Node) { delete(node.Annotations, podsAnnotation) })
	if err == nil {
		<-done
	}
	return err
}

func (c *cluster) changeAll(change func(*corev1.Node)) error {
	for _, node := range c.nodes {
		_, err := fake.Change(c.server, node, func(node *corev1.Node) error {
			change(node)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
