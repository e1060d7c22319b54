package deployments_test

import (
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/examples/deployments"
	"github.com/kinform/kinform/examples/internal/stage"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/with/kubernetes/apps"
	"github.com/kinform/kinform/with/kubernetes/core"
)

func TestMain(m *testing.M) {
	slog.SetLogLoggerLevel(slog.LevelError + 1) // failed reconciles are wanted here
	goleak.VerifyTestMain(m)
}

var web = kinform.Key{Namespace: "prod", Name: "web"}

func newStage(t *testing.T, opts fake.Options) *stage.Stage {
	return stage.New(t, opts, deployments.Run, stage.Kind(apps.Deployments), stage.Kind(apps.ReplicaSets), stage.Kind(core.Pods))
}

func newDeployment(s *stage.Stage, replicas int32) {
	d := fake.Object(&appsv1.Deployment{}, web.Namespace, web.Name)
	d.Spec.Replicas, d.Spec.Template.Labels = &replicas, map[string]string{"app": "web"}
	stage.Create(s, d)
}

func scale(s *stage.Stage, replicas int) {
	stage.Patch[*appsv1.Deployment](s, web, fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas))
}

// want checks the names of all pods, and the status.
func want(t *testing.T, s *stage.Stage, replicas int32, names ...string) {
	t.Helper()
	s.Settle()
	pods, err := fake.List[*corev1.Pod](s.Server, fake.Selection{})
	s.Check(err)
	var got []string
	for _, pod := range pods {
		got = append(got, pod.Name)
	}
	if !slices.Equal(got, names) {
		t.Errorf("the pods are %v, want %v", got, names)
	}
	if n := stage.Get[*appsv1.Deployment](s, web).Status.Replicas; n != replicas {
		t.Errorf("the status says %d, want %d", n, replicas)
	}
}

func TestScales(t *testing.T) {
	stage.NoWarnings(t)
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, fake.Options{CollectGarbage: true})
		newDeployment(s, 3)
		want(t, s, 3, "web-1-0", "web-1-1", "web-1-2")
		s.WantWrites("the start", 5) // a ReplicaSet, three Pods, and the status
		scale(s, 1)
		want(t, s, 1, "web-1-0")
		s.WantWrites("scaling down", 3)

		before := stage.Get[*corev1.Pod](s, kinform.Key{Namespace: "prod", Name: "web-1-0"})
		stage.Delete[*corev1.Pod](s, kinform.Key{Namespace: "prod", Name: "web-1-0"})
		want(t, s, 1, "web-1-0")
		if after := stage.Get[*corev1.Pod](s, kinform.Key{Namespace: "prod", Name: "web-1-0"}); after.UID == before.UID || after.Labels["app"] != "web" {
			t.Errorf("the new pod is %+v", after)
		}
		s.Writes()
		for n := range 100 {
			patch := fmt.Sprintf(`{"metadata":{"annotations":{"n":"%d"}}}`, n)
			stage.Patch[*corev1.Pod](s, kinform.Key{Namespace: "prod", Name: "web-1-0"}, patch)
			stage.Patch[*appsv1.Deployment](s, web, patch)
			s.Breathe()
		}
		s.WantWrites("200 unrelated updates", 0)

		stage.Delete[*appsv1.Deployment](s, web)
		s.Settle()
		if pods, err := fake.List[*corev1.Pod](s.Server, fake.Selection{}); err != nil || len(pods) > 0 {
			t.Errorf("%d pods are left, %v", len(pods), err)
		}
	})
}

// Pods are deleted from the highest number down, so 11 before 9.
func TestOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, fake.Options{})
		newDeployment(s, 12)
		s.Settle()
		s.Writes()
		scale(s, 8)
		s.Settle()
		pods := "DELETE /api/v1/namespaces/prod/pods/web-1-"
		if sent := s.Writes(); len(sent) != 5 || !slices.Equal(sent[:4], []string{pods + "11", pods + "10", pods + "9", pods + "8"}) {
			t.Errorf("the requests are %v", sent)
		}
	})
}

// A ReplicaSet that is being deleted gets no Pods. When it is gone, there is another one.
func TestDeletedSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, fake.Options{CollectGarbage: true})
		newDeployment(s, 2)
		want(t, s, 2, "web-1-0", "web-1-1")
		set := kinform.Key{Namespace: "prod", Name: "web-1"}
		stage.Patch[*appsv1.ReplicaSet](s, set, `{"metadata":{"finalizers":["example.com/slow"]}}`)
		stage.Delete[*appsv1.ReplicaSet](s, set)
		s.Settle() // the watches of sets and Pods are independent
		stage.Delete[*corev1.Pod](s, kinform.Key{Namespace: "prod", Name: "web-1-0"})
		want(t, s, 2, "web-1-1") // the status is as before
		stage.Patch[*appsv1.ReplicaSet](s, set, `{"metadata":{"finalizers":null}}`)
		want(t, s, 2, "web-1-0", "web-1-1")
	})
}

// A Deployment that is being deleted gets no Pods.
func TestDeletedDeployment(t *testing.T) {
	stage.NoWarnings(t)
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, fake.Options{})
		newDeployment(s, 2)
		want(t, s, 2, "web-1-0", "web-1-1")
		stage.Patch[*appsv1.Deployment](s, web, `{"metadata":{"finalizers":["example.com/slow"]}}`)
		stage.Delete[*appsv1.Deployment](s, web)
		s.Settle() // the watches are independent
		stage.Delete[*corev1.Pod](s, kinform.Key{Namespace: "prod", Name: "web-1-0"})
		want(t, s, 2, "web-1-1") // the status is as before
	})
}

// A Pod that gets the name of another just before that one's deletion is not deleted.
func TestDeletesOnlyItsOwn(t *testing.T) {
	stage.NoWarnings(t)
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, fake.Options{})
		newDeployment(s, 2)
		s.Settle()
		s.Stop()
		surplus := kinform.Key{Namespace: "prod", Name: "web-1-1"}
		s.Before = func() { // the deletion is the first write from here on
			s.Before = nil
			stage.Delete[*corev1.Pod](s, surplus)
			stage.Create(s, fake.Object(&corev1.Pod{}, surplus.Namespace, surplus.Name))
		}
		s.Start()
		scale(s, 1)
		want(t, s, 1, "web-1-0", "web-1-1")
	})
}

// Pods of owners that only share a name are not counted and not deleted.
func TestLeavesOthersAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, fake.Options{}) // a garbage collector would delete what has no owner that exists
		yes := true
		for name, owner := range map[string]metav1.OwnerReference{
			"other-kind":  {APIVersion: "apps/v1", Kind: "StatefulSet", Name: "web-1", UID: "1", Controller: &yes},
			"other-group": {APIVersion: "example.com/v1", Kind: "ReplicaSet", Name: "web-1", UID: "2", Controller: &yes},
			"other-uid":   {APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-1", UID: "3", Controller: &yes},
		} {
			pod := fake.Object(&corev1.Pod{}, "prod", name)
			pod.OwnerReferences = []metav1.OwnerReference{owner}
			stage.Create(s, pod)
		}
		newDeployment(s, 2)
		want(t, s, 2, "other-group", "other-kind", "other-uid", "web-1-0", "web-1-1")
		scale(s, 1)
		want(t, s, 1, "other-group", "other-kind", "other-uid", "web-1-0")
	})
}

// A ReplicaSet of another owner that has the name is not touched, and nothing is made for it.
func TestNameTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, fake.Options{})
		theirs := stage.Create(s, fake.Object(&appsv1.ReplicaSet{}, "prod", "web-1"))
		newDeployment(s, 2)
		want(t, s, 0)
		key := kinform.Key{Namespace: "prod", Name: "web-1"}
		if now := stage.Get[*appsv1.ReplicaSet](s, key); now.ResourceVersion != theirs.ResourceVersion {
			t.Errorf("the ReplicaSet was changed: %+v", now)
		}
		stage.Delete[*appsv1.ReplicaSet](s, key)
		want(t, s, 2, "web-1-0", "web-1-1")
	})
}
