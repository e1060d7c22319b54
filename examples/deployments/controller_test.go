package deployments_test

import (
	"context"
	"fmt"
	"log"
	"slices"
	"testing"

	"go.uber.org/goleak"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/examples/deployments"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/with/kubernetes/apps"
	"github.com/kinform/kinform/with/kubernetes/core"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A Deployment is created, scaled, and loses a Pod.
func Example() {
	server := newServer()
	c, err := deployments.New(client.Connection{URL: fake.URL, HTTP: server.Client()})
	must(err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- c.Run(ctx) }()

	web := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "web"}}
	web.Spec.Replicas = replicas(3)
	web, err = fake.Create(server, web)
	must(err)
	fmt.Println(waitForPods(server, "web-1-0", "web-1-1", "web-1-2"))

	web.Spec.Replicas, web.ResourceVersion = replicas(1), ""
	_, err = fake.Update(server, web)
	must(err)
	fmt.Println(waitForPods(server, "web-1-0"))

	pod, err := fake.Delete[*corev1.Pod](server, kinform.Key{Namespace: "prod", Name: "web-1-0"})
	must(err)
	waitFor(server, func(now *corev1.Pod) bool { return now.Name == pod.Name && now.UID != pod.UID })
	fmt.Println("the deleted pod was replaced")

	waitFor(server, func(d *appsv1.Deployment) bool { return d.Status.Replicas == 1 })
	fmt.Println("the status says 1")
	cancel()
	fmt.Println("stopped:", <-ended)
	// Output:
	// [web-1-0 web-1-1 web-1-2]
	// [web-1-0]
	// the deleted pod was replaced
	// the status says 1
	// stopped: <nil>
}

// Pods of owners that only share a name are not counted and not deleted.
func TestLeavesOthersAlone(t *testing.T) {
	server := newServer()
	c, err := deployments.New(client.Connection{URL: fake.URL, HTTP: server.Client()})
	must(err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- c.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()

	yes := true
	for name, owner := range map[string]metav1.OwnerReference{
		"other-kind":  {APIVersion: "apps/v1", Kind: "StatefulSet", Name: "web-1", UID: "1", Controller: &yes},
		"other-group": {APIVersion: "example.com/v1", Kind: "ReplicaSet", Name: "web-1", UID: "2", Controller: &yes},
		"other-uid":   {APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-1", UID: "3", Controller: &yes},
	} {
		_, err := fake.Create(server, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "prod", Name: name, OwnerReferences: []metav1.OwnerReference{owner},
		}})
		must(err)
	}
	web := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "web"}}
	web.Spec.Replicas = replicas(2)
	web, err = fake.Create(server, web)
	must(err)
	waitForPods(server, "other-group", "other-kind", "other-uid", "web-1-0", "web-1-1")
	web.Spec.Replicas, web.ResourceVersion = replicas(1), ""
	_, err = fake.Update(server, web)
	must(err)
	waitFor(server, func(d *appsv1.Deployment) bool { return d.Status.Replicas == 1 })
	waitForPods(server, "other-group", "other-kind", "other-uid", "web-1-0")
}

func newServer() *fake.Server {
	server := fake.New(fake.Options{})
	must(fake.Register(server, apps.Deployments, fake.Rules{}))
	must(fake.Register(server, apps.ReplicaSets, fake.Rules{}))
	must(fake.Register(server, core.Pods, fake.Rules{}))
	return server
}

// waitForPods waits until just the pods of these names exist.
func waitForPods(server *fake.Server, names ...string) (found []string) {
	source, err := fake.NewSource[*corev1.Pod](server, fake.Selection{})
	must(err)
	there := map[string]bool{}
	yes := true
	opts := metav1.ListOptions{SendInitialEvents: &yes, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, AllowWatchBookmarks: true}
	for ev, err := range source.Watch(context.Background(), opts) {
		must(err)
		if ev.Object != nil {
			there[ev.Object.Name] = ev.Type.String() != "DELETED"
		}
		found = found[:0]
		for name, is := range there {
			if is {
				found = append(found, name)
			}
		}
		if slices.Sort(found); slices.Equal(found, names) {
			break
		}
	}
	return found
}

// waitFor waits for an object as it should be.
func waitFor[T metav1.Object](server *fake.Server, ok func(T) bool) {
	source, err := fake.NewSource[T](server, fake.Selection{})
	must(err)
	for ev, err := range source.Watch(context.Background(), metav1.ListOptions{ResourceVersion: "0"}) {
		must(err)
		if ev.Type.String() != "DELETED" && ok(ev.Object) {
			return
		}
	}
}

func replicas(n int32) *int32 { return &n }

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
