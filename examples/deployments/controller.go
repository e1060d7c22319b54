// Package deployments is a controller in the style of Kubernetes' own for Deployments. Three
// caches feed one queue, whose keys are the keys of Deployments. The controller keeps one
// ReplicaSet per Deployment and the requested number of Pods, and writes their number into the
// Deployment's status. It leaves out rollouts. It shows how to work with owners of owners; a real
// cluster has controllers for these kinds already.
package deployments

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/controller/manager"
	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/with/kubernetes/apps"
	"github.com/kinform/kinform/with/kubernetes/core"
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

// kinds has the handles. Reads through them, by index too, have each write of the controller at once.
type kinds struct {
	deployments *kinform.Handle[*appsv1.Deployment]
	sets        *kinform.Handle[*appsv1.ReplicaSet]
	pods        *kinform.Handle[*corev1.Pod]

	setsOf informer.Index[kinform.Key, *appsv1.ReplicaSet, types.UID]
	podsOf informer.Index[kinform.Key, *corev1.Pod, types.UID]
}

// Run works on all Deployments of a server until ctx is done.
func Run(ctx context.Context, server client.Connection) error {
	k := open(server)
	c := controller.New("deployments", k.reconcile)
	controller.For(c, k.deployments)
	controller.Owns(c, k.deployments, k.sets)
	controller.Watch(c, k.pods, k.deploymentOfPod)
	return manager.Run(ctx, c)
}

// open makes the handles. It sends nothing.
func open(server client.Connection) (k kinds) {
	k.deployments = kinform.Open(server, apps.Deployments)
	k.sets = kinform.Open(server, apps.ReplicaSets)
	k.pods = kinform.Open(server, core.Pods)
	k.setsOf = informer.AddIndex(k.sets, index.New("owner", ownerUID[*appsv1.ReplicaSet]))
	k.podsOf = informer.AddIndex(k.pods, index.New("owner", ownerUID[*corev1.Pod]))
	return k
}

// deploymentOfPod appends the Deployment of a Pod: the owner of its owner. If the ReplicaSet
// is not in the cache yet, its own event will follow.
func (k kinds) deploymentOfPod(keys []kinform.Key, pod *corev1.Pod) []kinform.Key {
	ref := metav1.GetControllerOfNoCopy(pod)
	if ref == nil {
		return keys
	}
	set, ok := k.sets.Cached(kinform.Key{Namespace: pod.Namespace, Name: ref.Name})
	if !ok || set.UID != ref.UID { // another kind, or an older set of that name
		return keys
	}
	if ref = metav1.GetControllerOfNoCopy(set); ref != nil {
		// If a UID of another kind stands here, reconcile finds no Deployment, or one to which nothing is to do.
		keys = append(keys, kinform.Key{Namespace: set.Namespace, Name: ref.Name})
	}
	return keys
}

// reconcile brings one Deployment closer to its spec.
func (k kinds) reconcile(ctx context.Context, key kinform.Key) error {
	deployment, ok := k.deployments.Cached(key)
	if !ok || deployment.DeletionTimestamp != nil {
		return nil
	}
	set, err := k.set(ctx, deployment)
	if err != nil {
		return err
	}
	want := 1
	if deployment.Spec.Replicas != nil {
		want = int(*deployment.Spec.Replicas)
	}
	if err := k.scale(ctx, set, want); err != nil {
		return err
	}
	replicas := int32(len(k.podsOf.Get(set.UID)))
	_, err = controller.PatchStatus(ctx, k.deployments, deployment, func(d *appsv1.Deployment) { d.Status.Replicas = replicas })
	return err
}

// set returns the ReplicaSet of a Deployment. It creates it if there is none but one that is being deleted.
func (k kinds) set(ctx context.Context, deployment *appsv1.Deployment) (*appsv1.ReplicaSet, error) {
	for _, set := range k.setsOf.Get(deployment.UID) {
		if set.DeletionTimestamp == nil {
			return set, nil
		}
	}
	set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: deployment.Namespace, Name: deployment.Name + "-1"}}
	set.Spec.Selector = deployment.Spec.Selector.DeepCopy() // what a cache returns is read-only
	set.Spec.Template = *deployment.Spec.Template.DeepCopy()
	if err := controller.SetController(set, deployment, apps.Deployments); err != nil {
		return nil, err
	}
	return k.sets.Create(ctx, set, metav1.CreateOptions{}) // AlreadyExists: the name belongs to somebody else, or to a set that is being deleted
}

// scale creates the missing Pods, by number, and deletes surplus Pods from the highest number
// down. A Pod that is being deleted keeps its name, so it is replaced when it is gone.
func (k kinds) scale(ctx context.Context, set *appsv1.ReplicaSet, want int) error {
	pods := k.podsOf.Get(set.UID)
	names := make([]string, want)
	for n := range names {
		names[n] = fmt.Sprintf("%s-%d", set.Name, n)
	}
	for _, name := range names {
		if slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return pod.Name == name }) {
			continue
		}
		pod := &corev1.Pod{ObjectMeta: *set.Spec.Template.ObjectMeta.DeepCopy(), Spec: *set.Spec.Template.Spec.DeepCopy()}
		pod.Namespace = set.Namespace
		pod.Name = name
		if err := controller.SetController(pod, set, apps.ReplicaSets); err != nil {
			return err
		}
		if _, err := k.pods.Create(ctx, pod, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return cmp.Compare(number(b), number(a)) })
	for _, pod := range pods {
		if slices.Contains(names, pod.Name) {
			continue
		}
		// Delete names the UID, so it spares another Pod that got the name meanwhile.
		if err := controller.Delete(ctx, k.pods, pod, metav1.DeleteOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// number returns the number at the end of a Pod's name, or -1: scale has not made such a Pod.
func number(pod *corev1.Pod) int {
	n, err := strconv.Atoi(pod.Name[strings.LastIndexByte(pod.Name, '-')+1:])
	if err != nil {
		return -1
	}
	return n
}
