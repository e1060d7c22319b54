// Package deployments is a controller in the style of Kubernetes' own for Deployments. Three
// informers feed one queue, whose keys are the keys of Deployments. The controller keeps one
// ReplicaSet per Deployment and the requested number of Pods, and writes their number into the
// Deployment's status. It leaves out rollouts.
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
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/store"
	"github.com/kinform/kinform/with/kubernetes/apps"
	"github.com/kinform/kinform/with/kubernetes/core"
)

var (
	deploymentKind = appsv1.SchemeGroupVersion.WithKind("Deployment")
	setKind        = appsv1.SchemeGroupVersion.WithKind("ReplicaSet")
)

// ownerUID is an index function: it appends the UID of the controller of obj. A name does not
// identify an owner. Another kind can have an object of that name, and so can another
// Deployment, once the first was deleted.
func ownerUID[T metav1.Object](uids []types.UID, obj T) []types.UID {
	if owner := metav1.GetControllerOfNoCopy(obj); owner != nil {
		uids = append(uids, owner.UID)
	}
	return uids
}

// owner returns the key and the UID of the controller of obj, if it has the given kind.
func owner(obj metav1.Object, kind schema.GroupVersionKind) (kinform.Key, types.UID, bool) {
	ref := metav1.GetControllerOfNoCopy(obj)
	if ref == nil || ref.Kind != kind.Kind {
		return kinform.Key{}, "", false
	}
	group, err := schema.ParseGroupVersion(ref.APIVersion) // owners may be of any version
	return kinform.Key{Namespace: obj.GetNamespace(), Name: ref.Name}, ref.UID, err == nil && group.Group == kind.Group
}

// Controller holds the caches that it reads and the clients that it writes with.
type Controller struct {
	run         *controller.Controller[kinform.Key]
	deployments *store.Reader[kinform.Key, *appsv1.Deployment]
	sets        *store.Reader[kinform.Key, *appsv1.ReplicaSet]
	pods        *store.Reader[kinform.Key, *corev1.Pod]

	setsByOwner *index.Index[*appsv1.ReplicaSet, types.UID]
	podsByOwner *index.Index[*corev1.Pod, types.UID]

	writeDeployments *client.Resource[*appsv1.Deployment]
	writeSets        *client.Resource[*appsv1.ReplicaSet]
	writePods        *client.Resource[*corev1.Pod]
}

// New returns a controller for all namespaces of a server. It sends nothing.
func New(conn client.Connection) (*Controller, error) {
	c := &Controller{
		run:         controller.New(controller.Options[kinform.Key]{}),
		setsByOwner: index.New("owner", ownerUID[*appsv1.ReplicaSet]),
		podsByOwner: index.New("owner", ownerUID[*corev1.Pod]),
	}
	var failed [3]error
	c.writeDeployments, failed[0] = client.New(conn, apps.Deployments, client.Options{})
	c.writeSets, failed[1] = client.New(conn, apps.ReplicaSets, client.Options{})
	c.writePods, failed[2] = client.New(conn, core.Pods, client.Options{})
	if err := errors.Join(failed[:]...); err != nil {
		return nil, err
	}
	return c, c.watch()
}

// watch makes the three informers, and maps each of their events to a Deployment.
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
		controller.Owns(c.run, deployments, sets),
		controller.Watch(c.run, pods, c.deploymentOfPod),
	)
}

// deploymentOfSet appends the Deployment that controls a ReplicaSet.
func deploymentOfSet(keys []kinform.Key, set *appsv1.ReplicaSet) []kinform.Key {
	if key, _, ok := owner(set, deploymentKind); ok {
		keys = append(keys, key)
	}
	return keys
}

// deploymentOfPod appends the Deployment of a Pod: the owner of its owner. If the ReplicaSet
// is not in the cache yet, its own event will follow.
func (c *Controller) deploymentOfPod(keys []kinform.Key, pod *corev1.Pod) []kinform.Key {
	key, uid, ok := owner(pod, setKind)
	if !ok {
		return keys
	}
	if set, ok := c.sets.Get(key); ok && set.UID == uid {
		keys = deploymentOfSet(keys, set)
	}
	return keys
}

// Run works until ctx is done.
func (c *Controller) Run(ctx context.Context) error { return c.run.Run(ctx, c.reconcile) }

// reconcile brings one Deployment closer to its spec. The caches lag behind its writes: it is
// called again when they catch up, and fixed names make a repeated create fail.
func (c *Controller) reconcile(ctx context.Context, key kinform.Key) error {
	deployment, ok := c.deployments.Get(key)
	if !ok || deployment.DeletionTimestamp != nil {
		return nil
	}
	sets := c.setsByOwner.Get(c.sets, deployment.UID)
	if len(sets) == 0 {
		return c.createSet(ctx, deployment)
	}
	pods := c.podsByOwner.Get(c.pods, sets[0].UID)
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
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(deployment, deploymentKind)},
	}}
	set.Spec.Template = deployment.Spec.Template
	_, err := c.writeSets.Create(ctx, set, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	return ours(ctx, c.writeSets, set, deployment)
}

// ours returns an error if another owner controls the object with the key of obj: then the
// name is taken. If owner controls it, the cache only lags behind.
func ours[T metav1.Object](ctx context.Context, objects *client.Resource[T], obj T, owner metav1.Object) error {
	key := kinform.Key{Namespace: obj.GetNamespace(), Name: obj.GetName()}
	found, err := objects.Get(ctx, key, metav1.GetOptions{})
	if err != nil {
		return ignore(err, apierrors.IsNotFound)
	}
	if !metav1.IsControlledBy(found, owner) {
		return fmt.Errorf("%s is not controlled by %s", key, owner.GetName())
	}
	return nil
}

// scale creates the missing Pods, by number, and deletes surplus Pods from the highest number
// down.
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
		pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, setKind)}
		_, err := c.writePods.Create(ctx, pod, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			err = ours(ctx, c.writePods, pod, set)
		}
		if err != nil {
			return err
		}
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	for _, pod := range pods {
		if slices.Contains(names, pod.Name) {
			continue
		}
		// The UID protects another Pod that got the name meanwhile.
		just := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &pod.UID}}
		err := c.writePods.Delete(ctx, kinform.Key{Namespace: pod.Namespace, Name: pod.Name}, just)
		if ignore(err, apierrors.IsNotFound) != nil {
			return err
		}
	}
	return nil
}

// report writes the status if it changed. Objects from the cache are read-only.
func (c *Controller) report(ctx context.Context, deployment *appsv1.Deployment, replicas int32) error {
	if deployment.Status.Replicas == replicas {
		return nil
	}
	deployment = deployment.DeepCopy()
	deployment.Status.Replicas = replicas
	_, err := c.writeDeployments.UpdateStatus(ctx, deployment, metav1.UpdateOptions{})
	return err // a conflict is retried, by then with the newer Deployment
}

// ignore returns nil for harmless errors.
func ignore(err error, harmless func(error) bool) error {
	if harmless(err) {
		return nil
	}
	return err
}
