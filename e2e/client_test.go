//go:build e2e

package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/e2e/cluster"
	"github.com/kinform/kinform/e2e/oracle"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/with/kubernetes/apps"
	"github.com/kinform/kinform/with/kubernetes/core"
)

var (
	configMaps  = core.ConfigMaps
	allPods     = core.Pods
	deployments = apps.Deployments
)

// TestClient writes to a real API server in all the ways that there are.
func TestClient(t *testing.T) {
	c := cluster.Start(t, cluster.Options{})
	conn, err := client.NewConnection(c.URL(), client.ConnectionOptions{CAFile: c.CAFile(), Token: c.Token()})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.HTTP.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for name, test := range map[string]func(context.Context, *testing.T, client.Connection){
		"patches":     testPatches,
		"apply":       testApply,
		"status":      testStatus,
		"scale":       testScale,
		"eviction":    testEviction,
		"collections": testDeleteCollection,
		"metadata":    testMetadata,
		"errors":      testErrors,
	} {
		t.Run(name, func(t *testing.T) { test(ctx, t, conn) })
	}
}

func resource[T any](t *testing.T, conn client.Connection, k *kind.Kind[T], opts client.Options) *client.Resource[T] {
	t.Helper()
	r, err := client.New(conn, k, opts)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func inDefault(name string) key { return key{Namespace: "default", Name: name} }

func testPatches(ctx context.Context, t *testing.T, conn client.Connection) {
	r := resource(t, conn, allPods, client.Options{Namespace: "default"})
	pod := oracle.NewPod("", 1)
	pod.Name = "patched"
	if _, err := r.Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		pt   types.PatchType
		data string
	}{
		{types.JSONPatchType, `[{"op":"test","path":"/metadata/name","value":"patched"},{"op":"add","path":"/metadata/labels/by","value":"json"}]`},
		{types.MergePatchType, `{"metadata":{"labels":{"by":"merge"}}}`},
		// By name of the container: a merge patch would replace the list.
		{types.StrategicMergePatchType, `{"metadata":{"labels":{"by":"strategic"}},"spec":{"containers":[{"name":"main","image":"other"}]}}`},
		{types.ApplyYAMLPatchType, "apiVersion: v1\nkind: Pod\nmetadata:\n  name: patched\n  labels:\n    by: apply\n"},
	} {
		opts := metav1.PatchOptions{FieldManager: "e2e"}
		if test.pt == types.ApplyYAMLPatchType {
			opts.Force = new(true)
		}
		got, err := r.Patch(ctx, inDefault("patched"), test.pt, []byte(test.data), opts)
		if err != nil {
			t.Errorf("%s: %v", test.pt, err)
			continue
		}
		if got.Labels["by"] == "" || got.Labels[oracle.ShardLabel] != "1" || len(got.Spec.Containers) != 1 {
			t.Errorf("%s: %v", test.pt, got)
		}
	}
	got, err := r.Get(ctx, inDefault("patched"), metav1.GetOptions{})
	if err != nil || got.Spec.Containers[0].Image != "other" || got.Labels["by"] != "apply" {
		t.Error(got, err)
	}
	if _, err := r.Patch(ctx, inDefault("patched"), types.JSONPatchType, []byte(`[{"op":"test","path":"/kind","value":"x"}]`), metav1.PatchOptions{}); !apierrors.IsInvalid(err) {
		t.Error(err)
	}
}

func testApply(ctx context.Context, t *testing.T, conn client.Connection) {
	r := resource(t, conn, configMaps, client.Options{Namespace: "default"})
	config := func(value string) map[string]any {
		return map[string]any{"metadata": map[string]any{"name": "applied"}, "data": map[string]string{"value": value}}
	}
	got, err := r.Apply(ctx, config("1"), metav1.ApplyOptions{FieldManager: "one"})
	if err != nil || got.Data["value"] != "1" || got.ManagedFields[0].Manager != "one" || got.ManagedFields[0].Operation != metav1.ManagedFieldsOperationApply {
		t.Fatal(got, err)
	}
	if _, err := r.Apply(ctx, config("2"), metav1.ApplyOptions{FieldManager: "two"}); !apierrors.IsConflict(err) {
		t.Error(err)
	}
	if got, err = r.Apply(ctx, config("2"), metav1.ApplyOptions{FieldManager: "two", Force: true}); err != nil || got.Data["value"] != "2" {
		t.Error(got, err)
	}
	typed := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "applied"}, Data: map[string]string{"value": "3"}}
	if got, err = r.Apply(ctx, typed, metav1.ApplyOptions{FieldManager: "two", Force: true}); err != nil || got.Data["value"] != "3" {
		t.Error(got, err)
	}
	u := resource(t, conn, kind.As[*unstructured.Unstructured](configMaps), client.Options{Namespace: "default"})
	o, err := u.Apply(ctx, &unstructured.Unstructured{Object: config("4")}, metav1.ApplyOptions{FieldManager: "two", DryRun: []string{"All"}})
	if err != nil || o.GetKind() != "ConfigMap" {
		t.Error(o, err)
	}
	if value, _, _ := unstructured.NestedString(o.Object, "data", "value"); value != "4" {
		t.Error(o)
	}
}

func testStatus(ctx context.Context, t *testing.T, conn client.Connection) {
	r := resource(t, conn, allPods, client.Options{Namespace: "default"})
	pod := oracle.NewPod("", 1)
	pod.Name = "with-status"
	pod, err := r.Create(ctx, pod, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pod.Status.Phase, pod.Spec.Containers[0].Image = corev1.PodRunning, "ignored"
	if pod, err = r.UpdateStatus(ctx, pod, metav1.UpdateOptions{}); err != nil || pod.Status.Phase != corev1.PodRunning {
		t.Fatal(pod, err)
	}
	status := r.Subresource("status")
	patch := []byte(`{"status":{"message":"patched"}}`)
	if pod, err = status.Patch(ctx, inDefault("with-status"), types.StrategicMergePatchType, patch, metav1.PatchOptions{}); err != nil || pod.Status.Message != "patched" {
		t.Error(pod, err)
	}
	config := map[string]any{"metadata": map[string]any{"name": "with-status"}, "status": map[string]any{"reason": "Applied"}}
	if pod, err = status.Apply(ctx, config, metav1.ApplyOptions{FieldManager: "e2e", Force: true}); err != nil || pod.Status.Reason != "Applied" {
		t.Error(pod, err)
	}
	if pod, err = status.Get(ctx, inDefault("with-status"), metav1.GetOptions{}); err != nil || pod.Status.Message != "patched" || pod.Spec.Containers[0].Image == "ignored" {
		t.Error(pod, err)
	}
}

func testScale(ctx context.Context, t *testing.T, conn client.Connection) {
	labels := map[string]string{"app": "scaled"}
	_, err := resource(t, conn, deployments, client.Options{Namespace: "default"}).Create(ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "scaled"},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: oracle.NewPod("", 1).Spec},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	scale := resource(t, conn, kind.As[*autoscalingv1.Scale](deployments), client.Options{}).Subresource("scale")
	got, err := scale.Get(ctx, inDefault("scaled"), metav1.GetOptions{})
	if err != nil || got.Kind != "Scale" || got.Spec.Replicas != 1 {
		t.Fatal(got, err)
	}
	got.Spec.Replicas = 3
	if got, err = scale.Update(ctx, got, metav1.UpdateOptions{}); err != nil || got.Spec.Replicas != 3 {
		t.Error(got, err)
	}
	if got, err = scale.Patch(ctx, inDefault("scaled"), types.MergePatchType, []byte(`{"spec":{"replicas":5}}`), metav1.PatchOptions{}); err != nil || got.Spec.Replicas != 5 {
		t.Error(got, err)
	}
	u, err := resource(t, conn, kind.As[*unstructured.Unstructured](deployments), client.Options{}).Subresource("scale").Get(ctx, inDefault("scaled"), metav1.GetOptions{})
	if replicas, _, _ := unstructured.NestedInt64(u.Object, "spec", "replicas"); err != nil || replicas != 5 || u.GetKind() != "Scale" {
		t.Error(u, err)
	}
}

func testEviction(ctx context.Context, t *testing.T, conn client.Connection) {
	pods := resource(t, conn, allPods, client.Options{Namespace: "default"})
	pod := oracle.NewPod("", 1)
	pod.Name, pod.Spec.NodeName = "evicted", ""
	if _, err := pods.Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eviction := &policyv1.Eviction{
		TypeMeta:   metav1.TypeMeta{APIVersion: "policy/v1", Kind: "Eviction"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "evicted"},
	}
	got, err := resource(t, conn, kind.As[*policyv1.Eviction](allPods), client.Options{}).Subresource("eviction").Create(ctx, eviction, metav1.CreateOptions{})
	if err != nil || got != nil {
		t.Fatal(got, err)
	}
	if _, err := pods.Get(ctx, inDefault("evicted"), metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Error(err)
	}
}

func testDeleteCollection(ctx context.Context, t *testing.T, conn client.Connection) {
	all := resource(t, conn, configMaps, client.Options{Namespace: "default"})
	for i := range 30 {
		cm := oracle.NewConfigMap("", i)
		cm.Labels["collected"] = "yes"
		if _, err := all.Create(ctx, cm, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	left := func() (n int) {
		t.Helper()
		for _, err := range all.Items(ctx, metav1.ListOptions{LabelSelector: "collected", Limit: 7}) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		return n
	}
	some := resource(t, conn, kind.As[*metav1.PartialObjectMetadata](configMaps), client.Options{Namespace: "default", LabelSelector: "collected"})
	dry := metav1.DeleteOptions{DryRun: []string{"All"}}
	if err := some.DeleteCollection(ctx, dry, metav1.ListOptions{}); err != nil || left() != 30 {
		t.Error(left(), err)
	}
	shard := metav1.ListOptions{LabelSelector: oracle.ShardLabel + " in (0,1)"}
	if err := some.DeleteCollection(ctx, metav1.DeleteOptions{}, shard); err != nil || left() != 14 {
		t.Error(left(), err)
	}
	if err := some.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil || left() != 0 {
		t.Error(left(), err)
	}
	if err := resource(t, conn, configMaps, client.Options{}).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err == nil {
		t.Error("all namespaces were emptied at once")
	}
}

func testMetadata(ctx context.Context, t *testing.T, conn client.Connection) {
	typed := resource(t, conn, configMaps, client.Options{Namespace: "default"})
	cm := oracle.NewConfigMap("", 1)
	cm.Name = "metadata"
	if _, err := typed.Create(ctx, cm, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	r := resource(t, conn, kind.As[*metav1.PartialObjectMetadata](configMaps), client.Options{Namespace: "default"})
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": map[string]string{"new": "yes"}}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.Patch(ctx, inDefault("metadata"), types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil || got.Labels["new"] != "yes" || got.Kind != "PartialObjectMetadata" {
		t.Error(got, err)
	}
	config := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "metadata", "annotations": map[string]string{"a": "b"}}}
	if got, err = r.Apply(ctx, config, metav1.ApplyOptions{FieldManager: "e2e"}); err != nil || got.Annotations["a"] != "b" {
		t.Error(got, err)
	}
	if cm, err = typed.Get(ctx, inDefault("metadata"), metav1.GetOptions{}); err != nil || cm.Data["value"] != "1" || cm.Labels["new"] != "yes" {
		t.Error(cm, err)
	}
	pre := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: new("1")}}
	if err := r.Delete(ctx, inDefault("metadata"), pre); !apierrors.IsConflict(err) {
		t.Error(err)
	}
	if err := r.Delete(ctx, inDefault("metadata"), metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
}

func testErrors(ctx context.Context, t *testing.T, conn client.Connection) {
	r := resource(t, conn, configMaps, client.Options{Namespace: "default"})
	cm := oracle.NewConfigMap("", 1)
	cm.Name = "contended"
	cm, err := r.Create(ctx, cm, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Create(ctx, oracle.NewConfigMap("default", 1), metav1.CreateOptions{FieldValidation: "Strict", DryRun: []string{"All"}}); err != nil {
		t.Error(err)
	}
	if _, err := r.Update(ctx, cm, metav1.UpdateOptions{}); err != nil {
		t.Error(err)
	}
	cm.ResourceVersion = "1"
	for name, test := range map[string]struct {
		do func() error
		is func(error) bool
	}{
		"stale":   {func() error { _, err := r.Update(ctx, cm, metav1.UpdateOptions{}); return err }, apierrors.IsConflict},
		"missing": {func() error { _, err := r.Get(ctx, inDefault("missing"), metav1.GetOptions{}); return err }, apierrors.IsNotFound},
		"twice": {func() error {
			_, err := r.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "contended"}}, metav1.CreateOptions{})
			return err
		}, apierrors.IsAlreadyExists},
		"invalid": {func() error {
			_, err := r.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "Bad_Name"}}, metav1.CreateOptions{})
			return err
		}, apierrors.IsInvalid},
		"no such subresource": {func() error {
			_, err := r.Subresource("status").Get(ctx, inDefault("contended"), metav1.GetOptions{})
			return err
		}, apierrors.IsNotFound},
	} {
		if err := test.do(); !test.is(err) || fmt.Sprint(err)[:3] == "the" {
			t.Errorf("%s: %v", name, err)
		}
	}
}
