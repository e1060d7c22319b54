package main

import (
	"context"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kinform/kinform/e2e/oracle"
)

const (
	namespace      = "demo"
	emptyNamespace = "empty"
	configMaps     = 12
	pods           = 6
	pageLimit      = "5"
)

// populate creates the namespaces and objects that the lists show. It creates them one after the
// other, so that versions rise with names.
func (s *session) populate(ctx context.Context) error {
	for _, name := range []string{namespace, emptyNamespace} {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if _, err := oracle.Create(ctx, s.api, oracle.Path("namespaces", "", ""), ns); err != nil {
			return err
		}
	}
	for i := range configMaps {
		if _, err := oracle.Create(ctx, s.api, configMapPath(""), configMap(i)); err != nil {
			return err
		}
	}
	for i := range pods {
		if err := s.createPod(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

func configMapPath(name string) string { return oracle.Path("configmaps", namespace, name) }
func podPath(name string) string       { return oracle.Path("pods", namespace, name) }

// configMap returns the i-th ConfigMap. The first ones contain values that are hard to decode.
func configMap(i int) *corev1.ConfigMap {
	obj := oracle.NewConfigMap(namespace, i)
	switch i {
	case 0:
		obj.Data = nil
		obj.Labels = nil
	case 1:
		obj.Data = map[string]string{
			"quotes":  `"double" 'single' \back\`,
			"control": "tab\tline\r\nbell\a nul\x00",
			"html":    "<a href=\"x\">&amp;</a>",
			"unicode": "Grüße, 世界, \U0001F600, \u2028",
			"empty":   "",
		}
	case 2:
		obj.BinaryData = map[string][]byte{"bytes": {0, 1, 2, 0xfd, 0xfe, 0xff}, "none": {}}
		obj.Annotations = map[string]string{"example.com/note": "{\"nested\": [1, 2]}"}
		obj.Finalizers = []string{"example.com/hold"}
		obj.Immutable = new(bool)
	case 3:
		obj.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: "v1", Kind: "ConfigMap", Name: "cm-00000", UID: "11111111-2222-3333-4444-555555555555",
		}}
	}
	return obj
}

func pod(i int) *corev1.Pod {
	obj := oracle.NewPod(namespace, i)
	if i == 0 {
		obj.Spec.NodeName = "" // pending
		return obj
	}
	main := &obj.Spec.Containers[0]
	main.Env = []corev1.EnvVar{
		{Name: "PLAIN", Value: "value"},
		{Name: "NODE", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "spec.nodeName"}}},
	}
	main.Ports = []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}}
	main.Resources = corev1.ResourceRequirements{
		Requests: corev1.ResourceList{"cpu": resource.MustParse("250m"), "memory": resource.MustParse("64Mi")},
		Limits:   corev1.ResourceList{"memory": resource.MustParse("0.5Gi")},
	}
	main.ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{
		HTTPGet: &corev1.HTTPGetAction{Path: "/ready", Port: intstr.FromString("http")},
	}}
	main.VolumeMounts = []corev1.VolumeMount{{Name: "scratch", MountPath: "/scratch"}}
	obj.Spec.Volumes = []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	return obj
}

// createPod creates the i-th pod. Unless the pod is pending, createPod also writes the status
// "running", as a kubelet would.
func (s *session) createPod(ctx context.Context, i int) error {
	obj, err := oracle.Create(ctx, s.api, podPath(""), pod(i))
	if err != nil || obj.Spec.NodeName == "" {
		return err
	}
	started := metav1.Date(2026, 1, 2, 3, 4, 5, 0, metav1.Now().UTC().Location())
	obj.Status = corev1.PodStatus{
		Phase:     corev1.PodRunning,
		HostIP:    "192.0.2.1",
		PodIP:     fmt.Sprintf("198.51.100.%d", i),
		PodIPs:    []corev1.PodIP{{IP: fmt.Sprintf("198.51.100.%d", i)}},
		StartTime: &started,
		Conditions: []corev1.PodCondition{
			{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: started},
		},
		ContainerStatuses: []corev1.ContainerStatus{{
			Name: "main", Ready: true, RestartCount: int32(i), Image: obj.Spec.Containers[0].Image,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: started}},
		}},
	}
	_, err = oracle.Update(ctx, s.api, podPath(obj.Name)+"/status", obj)
	return err
}

// change makes the changes that the watches record: a creation, updates and a deletion, of
// ConfigMaps and of Pods.
func (s *session) change(ctx context.Context) error {
	const i = 90 // its name sorts last
	for _, path := range []string{configMapPath(""), podPath("")} {
		var obj any = configMap(i)
		name := configMap(i).Name
		if path == podPath("") {
			obj, name = pod(i), pod(i).Name
		}
		label := func(value any) any {
			return map[string]any{"metadata": map[string]any{"labels": map[string]any{oracle.ShardLabel: value}}}
		}
		steps := []struct {
			method, path string
			body         any
		}{
			{http.MethodPost, path, obj},
			{http.MethodPatch, path + "/" + name, label("moved")},
			{http.MethodPatch, path + "/" + name, label("2")},
		}
		for _, step := range steps {
			if err := s.api.Do(ctx, step.method, step.path, step.body, nil); err != nil {
				return err
			}
		}
		if err := s.api.Delete(ctx, path+"/"+name); err != nil {
			return err
		}
	}
	return s.advance(ctx, "after-changes")
}

// advance creates a namespace, so that the server has a version that is newer than the last event.
// Otherwise a watch from a version has no bookmark.
func (s *session) advance(ctx context.Context, name string) error {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	_, err := oracle.Create(ctx, s.api, oracle.Path("namespaces", "", ""), ns)
	return err
}

// guard creates a disruption budget for all pods. No controller observes the budget, so the server
// refuses every eviction for now.
func (s *session) guard(ctx context.Context) error {
	one := intstr.FromInt32(1)
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "all", Namespace: namespace},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: &one,
			Selector:     &metav1.LabelSelector{MatchLabels: map[string]string{"app": "e2e"}},
		},
	}
	_, err := oracle.Create(ctx, s.api, "/apis/policy/v1/namespaces/"+namespace+"/poddisruptionbudgets", budget)
	return err
}
