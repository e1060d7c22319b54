package pods_test

import (
	"context"
	"fmt"
	"testing"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/with/kubernetes/core"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A Pod in its life, as one client sees it. Against a real server the Connection is
// client.InCluster's or has the address that kubectl proxy prints.
func Example() {
	server := fake.New(fake.Options{})
	if err := fake.Register(server, core.Pods, fake.Rules{}); err != nil {
		fmt.Println(err)
		return
	}
	conn := client.Connection{URL: fake.URL, HTTP: server.Client()}
	if err := lifeOfAPod(context.Background(), conn); err != nil {
		fmt.Println(err)
	}
	// Output:
	// created prod/web, image nginx:1.29
	// labelled map[tier:front]
	// prod/web is Running
	// created again: AlreadyExists
	// deleted, and then: NotFound
}

func lifeOfAPod(ctx context.Context, conn client.Connection) error {
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
	fmt.Printf("created %s/%s, image %s\n", pod.Namespace, pod.Name, pod.Spec.Containers[0].Image)

	key := types.NamespacedName{Namespace: "prod", Name: "web"}
	pod, err = pods.Patch(ctx, key, types.MergePatchType, []byte(`{"metadata":{"labels":{"tier":"front"}}}`), metav1.PatchOptions{})
	if err != nil {
		return err
	}
	fmt.Println("labelled", pod.Labels)

	pod.Status.Phase = corev1.PodRunning
	if _, err := pods.UpdateStatus(ctx, pod, metav1.UpdateOptions{}); err != nil {
		return err
	}
	for pod, err := range pods.Items(ctx, metav1.ListOptions{LabelSelector: "tier=front"}) {
		if err != nil {
			return err
		}
		fmt.Printf("%s/%s is %s\n", pod.Namespace, pod.Name, pod.Status.Phase)
	}

	pod.ResourceVersion, pod.UID = "", ""
	_, err = pods.Create(ctx, pod, metav1.CreateOptions{})
	fmt.Println("created again:", apierrors.ReasonForError(err))

	if err := pods.Delete(ctx, key, metav1.DeleteOptions{}); err != nil {
		return err
	}
	_, err = pods.Get(ctx, key, metav1.GetOptions{})
	fmt.Println("deleted, and then:", apierrors.ReasonForError(err))
	return nil
}
