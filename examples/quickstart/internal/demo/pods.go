package demo

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/fake"
)

// create creates a pod that is not scheduled.
func (c *Cluster) create() error {
	apps := []string{"web", "api", "worker", "cache", "cron"}
	app := apps[c.random.IntN(len(apps))]
	c.made++
	pod, err := fake.Create(c.server, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: fmt.Sprintf("team-%d", c.random.IntN(namespaces)),
			Name:      fmt.Sprintf("%s-%06d", app, c.made),
			Labels:    map[string]string{"app": app},
		},
		Spec:   corev1.PodSpec{Containers: []corev1.Container{c.container(app)}},
		Status: corev1.PodStatus{Phase: corev1.PodPending},
	})
	if err != nil {
		return err
	}
	c.pods = append(c.pods, pod)
	return nil
}

func (c *Cluster) container(name string) corev1.Container {
	return corev1.Container{
		Name:  name,
		Image: "registry.example/" + name + ":v1",
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU:    *resource.NewMilliQuantity(int64(1+c.random.IntN(8))*50, resource.DecimalSI),
			corev1.ResourceMemory: *resource.NewQuantity(int64(1+c.random.IntN(8))<<26, resource.BinarySI),
		}},
	}
}

// update writes the new state of the i-th pod to the server.
func (c *Cluster) update(i int) error {
	pod, err := fake.Update(c.server, c.pods[i])
	if err != nil {
		return err
	}
	c.pods[i] = pod
	return nil
}

// remove deletes the i-th pod.
func (c *Cluster) remove(i int) error {
	pod := c.pods[i]
	last := len(c.pods) - 1
	c.pods[i] = c.pods[last]
	c.pods = slices.Delete(c.pods, last, last+1)
	_, err := fake.Delete[*corev1.Pod](c.server, types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name})
	return err
}

// schedule gives a pod a node that is not drained. It takes the lower of two random
// numbers, so that some nodes have more pods than others.
func (c *Cluster) schedule(pod *corev1.Pod) {
	n := c.random.IntN(nodes)
	if other := c.random.IntN(nodes); c.random.IntN(3) == 0 {
		n = min(n, other)
	}
	if n == c.down {
		n = (n + 1) % nodes
	}
	pod.Spec.NodeName = nodeName(n)
}

func nodeName(n int) string { return fmt.Sprintf("node-%02d", n+1) }

func (c *Cluster) start(pod *corev1.Pod) {
	pod.Status.Phase = corev1.PodRunning
	pod.Status.PodIP = fmt.Sprintf("10.0.%d.%d", c.random.IntN(256), 1+c.random.IntN(254))
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: pod.Spec.Containers[0].Name, Ready: true}}
}

// advance moves the i-th pod one step further in its life.
func (c *Cluster) advance(i int) error {
	pod := c.pods[i]
	switch pod.Status.Phase {
	case corev1.PodSucceeded, corev1.PodFailed:
		return c.remove(i)
	case corev1.PodPending:
		if pod.Spec.NodeName == "" {
			c.schedule(pod)
		} else {
			c.start(pod)
		}
	default:
		switch c.random.IntN(20) {
		case 0:
			pod.Status.Phase = corev1.PodSucceeded
		case 1:
			pod.Status.Phase = corev1.PodFailed
		default:
			pod.Status.ContainerStatuses[0].RestartCount++
		}
	}
	return c.update(i)
}
