// Package pods has an example: a Pod is created, read, changed and deleted with the typed
// client. See example_test.go.
package pods

import (
	"context"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/with/kubernetes/core"
)

// Run leads the Pod prod/web through its life and writes to out what it sees.
func Run(ctx context.Context, conn client.Connection, out io.Writer) error {
	pods, err := client.New(conn, core.Pods, client.Options{Namespace: "prod"})
	if err != nil {
		return err
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "web"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "nginx", Image: "nginx:1.29"}}},
	}
	pod, err = pods.Create(ctx, pod, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "created %s/%s, image %s\n", pod.Namespace, pod.Name, pod.Spec.Containers[0].Image)

	key := types.NamespacedName{Namespace: "prod", Name: "web"}
	pod, err = pods.Patch(ctx, key, types.MergePatchType, []byte(`{"metadata":{"labels":{"tier":"front"}}}`), metav1.PatchOptions{})
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "labelled", pod.Labels)

	pod.Status.Phase = corev1.PodRunning
	if _, err := pods.UpdateStatus(ctx, pod, metav1.UpdateOptions{}); err != nil {
		return err
	}
	for pod, err := range pods.Items(ctx, metav1.ListOptions{LabelSelector: "tier=front"}) {
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s/%s is %s\n", pod.Namespace, pod.Name, pod.Status.Phase)
	}

	pod.ResourceVersion, pod.UID = "", ""
	_, err = pods.Create(ctx, pod, metav1.CreateOptions{})
	fmt.Fprintln(out, "created again:", apierrors.ReasonForError(err))

	if err := pods.Delete(ctx, key, metav1.DeleteOptions{}); err != nil {
		return err
	}
	_, err = pods.Get(ctx, key, metav1.GetOptions{})
	fmt.Fprintln(out, "deleted, and then:", apierrors.ReasonForError(err))
	return nil
}
