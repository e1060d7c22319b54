//go:build e2e

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/e2e/oracle"
)

// change is one write to one object.
type change struct {
	verb     string // "create", "update" or "delete"
	resource string
	i        int // number of the object
}

// churn makes random changes, each to its own object. So they can be made in any order, and be
// repeated after an error that leaves the outcome open.
type churn struct {
	server     *oracle.Client
	rand       *rand.Rand
	namespaces int
	objects    map[string][]int // numbers of the objects that exist, by resource
	next       int              // number of the next one to create
}

func newChurn(server *oracle.Client, seed uint64, shape oracle.Shape) *churn {
	c := &churn{
		server:     server,
		rand:       rand.New(rand.NewPCG(seed, 0)),
		namespaces: shape.Namespaces,
		objects:    map[string][]int{},
		next:       max(shape.ConfigMaps, shape.Pods),
	}
	// The first objects of all are the sentinels of the collections and stay.
	for i := shape.Namespaces * oracle.Nodes; i < shape.ConfigMaps; i++ {
		c.objects["configmaps"] = append(c.objects["configmaps"], i)
	}
	for i := shape.Namespaces * oracle.Nodes; i < shape.Pods; i++ {
		c.objects["pods"] = append(c.objects["pods"], i)
	}
	return c
}

// plan chooses n changes.
func (c *churn) plan(n int) []change {
	changes := make([]change, 0, n)
	var created []change
	for _, resource := range []string{"configmaps", "pods"} {
		objects := c.objects[resource]
		c.rand.Shuffle(len(objects), func(i, j int) { objects[i], objects[j] = objects[j], objects[i] })
	}
	updated := map[string]int{}
	for range n {
		resource := []string{"configmaps", "pods"}[c.rand.IntN(2)]
		objects := c.objects[resource]
		switch left := len(objects) - updated[resource]; {
		case left == 0 || c.rand.IntN(3) == 0:
			created = append(created, change{"create", resource, c.next})
			c.next++
		case c.rand.IntN(2) == 0:
			changes = append(changes, change{"delete", resource, objects[len(objects)-1]})
			c.objects[resource] = objects[:len(objects)-1]
		default:
			changes = append(changes, change{"update", resource, objects[updated[resource]]})
			updated[resource]++
		}
	}
	for _, ch := range created {
		c.objects[ch.resource] = append(c.objects[ch.resource], ch.i)
	}
	return append(changes, created...)
}

// make carries out n changes and returns when the server has all of them.
func (c *churn) make(ctx context.Context, n int) error {
	changes := c.plan(n)
	c.rand.Shuffle(len(changes), func(i, j int) { changes[i], changes[j] = changes[j], changes[i] })
	return oracle.Each(ctx, len(changes), 8, func(ctx context.Context, i int) error {
		return insist(ctx, changes[i].verb, func() error { return c.once(ctx, changes[i]) })
	})
}

// insist repeats a change until the server has answered. Forbidden does not count as an answer: an
// administrator gets it only from a server whose admission is not ready yet.
func insist(ctx context.Context, verb string, once func() error) error {
	var last error
	err := eventually(ctx, func() bool {
		last = once()
		var status apierrors.APIStatus
		return last == nil || errors.As(last, &status) && status.Status().Code < 429 && !apierrors.IsForbidden(last)
	})
	switch {
	case err != nil:
		return errors.Join(err, last)
	case verb == "create" && apierrors.IsAlreadyExists(last), verb == "delete" && apierrors.IsNotFound(last):
		return nil // an earlier try got through
	}
	return last
}

func (c *churn) once(ctx context.Context, ch change) error {
	namespace := oracle.NamespaceName(ch.i % c.namespaces)
	var obj metav1.Object = oracle.NewConfigMap(namespace, ch.i)
	if ch.resource == "pods" {
		obj = oracle.NewPod(namespace, ch.i)
	}
	path := oracle.Path(ch.resource, namespace, obj.GetName())
	switch ch.verb {
	case "delete":
		return c.server.Delete(ctx, path)
	case "update":
		patch := map[string]any{"metadata": map[string]any{
			"annotations": map[string]string{"updated": "yes"},
			// Some leave the selection by label, or come into it.
			"labels": map[string]string{oracle.ShardLabel: fmt.Sprint((ch.i + 1) % 4)},
		}}
		_, err := oracle.Patch[metav1.PartialObjectMetadata](ctx, c.server, path, patch)
		return err
	}
	collection := oracle.Path(ch.resource, namespace, "")
	if pod, ok := obj.(*corev1.Pod); ok {
		_, err := oracle.Create(ctx, c.server, collection, pod)
		return err
	}
	_, err := oracle.Create(ctx, c.server, collection, obj.(*corev1.ConfigMap))
	return err
}
