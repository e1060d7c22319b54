// Package deployments is a controller in the style of Kubernetes' own for Deployments:
// three informers feed one queue, whose keys are those of Deployments. It keeps one
// ReplicaSet per Deployment and as many Pods as the Deployment asks for, and writes into
// the Deployment's status how many there are. It leaves out rollouts.
package deployments

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/store"
)

// ownerOf appends the key of the controller of obj: a Deployment's for a ReplicaSet, a
// ReplicaSet's for a Pod. It serves as index function and to find out whom an event
// concerns.
func ownerOf[T metav1.Object](keys []kinform.Key, obj T) []kinform.Key {
	if owner := metav1.GetControllerOfNoCopy(obj); owner != nil {
		keys = append(keys, kinform.Key{Namespace: obj.GetNamespace(), Name: owner.Name})
	}
	return keys
}

// Controller has the caches that it reads and the clients that it writes by.
type Controller struct {
	run         *controller.Controller[kinform.Key]
	deployments *store.Reader[kinform.Key, *appsv1.Deployment]
	sets        *store.Reader[kinform.Key, *appsv1.ReplicaSet]
	pods        *store.Reader[kinform.Key, *corev1.Pod]

	setsByOwner *index.Index[*appsv1.ReplicaSet, kinform.Key]
	podsByOwner *index.Index[*corev1.Pod, kinform.Key]

	writeDeployments *client.Resource[*appsv1.Deployment]
	writeSets        *client.Resource[*appsv1.ReplicaSet]
	writePods        *client.Resource[*corev1.Pod]
}

// New returns a controller for all namespaces of a server. It sends nothing.
func New(conn client.Connection) (*Controller, error) {
	c := &Controller{
		run:         controller.New(controller.Options[kinform.Key]{}),
		setsByOwner: index.New("owner", ownerOf[*appsv1.ReplicaSet]),
		podsByOwner: index.New("owner", ownerOf[*corev1.Pod]),
	}
	var failed [3]error
	c.writeDeployments, failed[0] = client.New[*appsv1.Deployment](conn, appsv1.SchemeGroupVersion.WithResource("deployments"), client.Options{})
	c.writeSets, failed[1] = client.New[*appsv1.ReplicaSet](conn, appsv1.SchemeGroupVersion.WithResource("replicasets"), client.Options{})
	c.writePods, failed[2] = client.New[*corev1.Pod](conn, corev1.SchemeGroupVersion.WithResource("pods"), client.Options{})
	if err := errors.Join(failed[:]...); err != nil {
		return nil, err
	}
	return c, c.watch()
}

// watch makes the three informers and says which Deployment each of their events concerns.
func (c *Controller) watch() error {
	deployments, err := informer.New(c.writeDeployments, store.ObjectKey, informer.Options[*appsv1.Deployment]{})
	if err != nil {
		return err
	}
	sets, err := informer.New(c.writeSets, store.ObjectKey, informer.Options[*appsv1.ReplicaSet]{Indexes: index.Of(c.setsByOwner)})
	if err != nil {
		return err
	}
	pods, err := informer.New(c.writePods, store.ObjectKey, informer.Options[*corev1.Pod]{Indexes: index.Of(c.podsByOwner)})
	if err != nil {
		return err
	}
	c.deployments, c.sets, c.pods = deployments.Store(), sets.Store(), pods.Store()
	return errors.Join(
		controller.For(c.run, deployments),
		controller.Watch(c.run, sets, ownerOf[*appsv1.ReplicaSet]),
		controller.Watch(c.run, pods, c.deploymentOf),
	)
}

// deploymentOf appends the Deployment of a Pod: the owner of its owner. While the
// ReplicaSet is not in the cache its own event is still to come.
func (c *Controller) deploymentOf(keys []kinform.Key, pod *corev1.Pod) []kinform.Key {
	for _, key := range ownerOf(nil, pod) {
		if set, ok := c.sets.Get(key); ok {
			keys = ownerOf(keys, set)
		}
	}
	return keys
}

// Run works until ctx is done.
func (c *Controller) Run(ctx context.Context) error { return c.run.Run(ctx, c.reconcile) }

// reconcile brings one Deployment nearer to what it asks for. The caches lag behind what
// it writes: it is called again when they catch up, and names make what it did twice fail.
func (c *Controller) reconcile(ctx context.Context, key kinform.Key) error {
	deployment, ok := c.deployments.Get(key)
	if !ok || deployment.DeletionTimestamp != nil {
		return nil
	}
	sets := c.setsByOwner.Get(c.sets, key)
	if len(sets) == 0 {
		return c.createSet(ctx, deployment)
	}
	pods := c.podsByOwner.Get(c.pods, kinform.Key{Namespace: key.Namespace, Name: sets[0].Name})
	want := 1
	if deployment.Spec.Replicas != nil {
		want = int(*deployment.Spec.Replicas)
	}
	if err := c.scale(ctx, sets[0], pods, want); err != nil {
		return err
	}
	return c.report(ctx, deployment, int32(len(pods)))
}

func (c *Controller) createSet(ctx context.Context, deployment *appsv1.Deployment) error {
	set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{
		Namespace:       deployment.Namespace,
		Name:            deployment.Name + "-1",
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(deployment, appsv1.SchemeGroupVersion.WithKind("Deployment"))},
	}}
	set.Spec.Template = deployment.Spec.Template
	_, err := c.writeSets.Create(ctx, set, metav1.CreateOptions{})
	return ignore(err, apierrors.IsAlreadyExists)
}

// scale creates the Pods that are missing, by number, and deletes those of the highest
// numbers that are too many.
func (c *Controller) scale(ctx context.Context, set *appsv1.ReplicaSet, pods []*corev1.Pod, want int) error {
	names := make([]string, want)
	for n := range names {
		names[n] = fmt.Sprintf("%s-%d", set.Name, n)
	}
	for _, name := range names {
		if slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return pod.Name == name }) {
			continue
		}
		pod := &corev1.Pod{ObjectMeta: *set.Spec.Template.ObjectMeta.DeepCopy(), Spec: *set.Spec.Template.Spec.DeepCopy()}
		pod.Namespace, pod.Name = set.Namespace, name
		pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))}
		if _, err := c.writePods.Create(ctx, pod, metav1.CreateOptions{}); ignore(err, apierrors.IsAlreadyExists) != nil {
			return err
		}
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	for _, pod := range pods {
		if slices.Contains(names, pod.Name) {
			continue
		}
		err := c.writePods.Delete(ctx, kinform.Key{Namespace: pod.Namespace, Name: pod.Name}, metav1.DeleteOptions{})
		if ignore(err, apierrors.IsNotFound) != nil {
			return err
		}
	}
	return nil
}

// report writes the status, if it changed. What the cache has is not to be written to.
func (c *Controller) report(ctx context.Context, deployment *appsv1.Deployment, replicas int32) error {
	if deployment.Status.Replicas == replicas {
		return nil
	}
	deployment = deployment.DeepCopy()
	deployment.Status.Replicas = replicas
	_, err := c.writeDeployments.UpdateStatus(ctx, deployment, metav1.UpdateOptions{})
	return err // a conflict is tried again, by then with the newer Deployment
}

// ignore returns nil for what is harmless.
func ignore(err error, harmless func(error) bool) error {
	if harmless(err) {
		return nil
	}
	return err
}
