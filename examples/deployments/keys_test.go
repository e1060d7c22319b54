package deployments

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/examples/internal/stage"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/with/kubernetes/apps"
	"github.com/kinform/kinform/with/kubernetes/core"
)

// Only the UID says which object owns a Pod: its name is not enough to queue a Deployment.
func TestDeploymentOfPod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var k kinds
		s := stage.New(t, fake.Options{}, func(ctx context.Context, server client.Connection) error {
			k = open(server)
			return k.sets.Run(ctx)
		}, stage.Kind(apps.Deployments), stage.Kind(apps.ReplicaSets), stage.Kind(core.Pods))
		owned := func(kind, name string, uid types.UID) []metav1.OwnerReference {
			yes := true
			return []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: name, UID: uid, Controller: &yes}}
		}
		set := fake.Object(&appsv1.ReplicaSet{}, "prod", "web-1")
		set.OwnerReferences = owned("Deployment", "web", "1")
		set = stage.Create(s, set)
		orphan := stage.Create(s, fake.Object(&appsv1.ReplicaSet{}, "prod", "orphan"))
		s.Settle()

		web := []kinform.Key{{Namespace: "prod", Name: "web"}}
		for name, c := range map[string]struct {
			owners []metav1.OwnerReference
			want   []kinform.Key
		}{
			"of the set":           {owned("ReplicaSet", "web-1", set.UID), web},
			"of an older set":      {owned("ReplicaSet", "web-1", "another"), nil},
			"of another kind":      {owned("StatefulSet", "web-1", "a third"), nil},
			"of a set of nobody":   {owned("ReplicaSet", "orphan", orphan.UID), nil},
			"of a set that is new": {owned("ReplicaSet", "web-2", "a fourth"), nil},
			"of nobody":            {nil, nil},
		} {
			pod := fake.Object(&corev1.Pod{}, "prod", "pod")
			pod.OwnerReferences = c.owners
			if got := k.deploymentOfPod(nil, pod); !slices.Equal(got, c.want) {
				t.Errorf("a pod %s belongs to %v, want %v", name, got, c.want)
			}
		}
		elsewhere := fake.Object(&corev1.Pod{}, "test", "pod")
		elsewhere.OwnerReferences = owned("ReplicaSet", "web-1", set.UID)
		if got := k.deploymentOfPod(nil, elsewhere); len(got) > 0 {
			t.Errorf("a pod of another namespace belongs to %v", got)
		}
	})
}
