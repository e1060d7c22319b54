package pods

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// List returns n pods as an API server lists them, in its order, with all fields of a pod
// in a real cluster: 4.5 KB of JSON each. The same n gives the same list.
func List(n int) *corev1.PodList {
	all := slices.Clone(New(n, 1).Pods())
	slices.SortFunc(all, func(a, b *corev1.Pod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	list := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "100000"}}
	for i, p := range all {
		complete(p, i)
		list.Items = append(list.Items, *p)
	}
	return list
}

// Fat returns a list of n pods with ten times the containers, 31 KB of JSON each.
func Fat(n int) *corev1.PodList {
	list := List(n)
	for i := range list.Items {
		p := &list.Items[i]
		for at := range 9 {
			c := p.Spec.Containers[0].DeepCopy()
			c.Name = fmt.Sprintf("%s-%d", c.Name, at)
			status := p.Status.ContainerStatuses[0].DeepCopy()
			status.Name = c.Name
			p.Spec.Containers = append(p.Spec.Containers, *c)
			p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, *status)
		}
		p.Annotations["example.com/configuration"] = strings.Repeat("key = value of some length\n", 500)
	}
	return list
}

// complete adds the fields that pods of a real cluster have and that a benchmark of caches
// does not need: resources, probes, the volume of the service account, managedFields.
func complete(p *corev1.Pod, i int) {
	c := &p.Spec.Containers[0]
	c.Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("250m"), "memory": resource.MustParse("256Mi")}
	c.Resources.Limits = corev1.ResourceList{"memory": resource.MustParse("512Mi")}
	probe := &corev1.Probe{
		ProbeHandler:     corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.FromString("http"), Scheme: "HTTP"}},
		PeriodSeconds:    10,
		TimeoutSeconds:   1,
		SuccessThreshold: 1,
		FailureThreshold: 3,
	}
	c.LivenessProbe, c.ReadinessProbe = probe, probe.DeepCopy()
	c.Env = append(c.Env,
		corev1.EnvVar{Name: "POD_NAME", ValueFrom: fieldRef("metadata.name")},
		corev1.EnvVar{Name: "POD_NAMESPACE", ValueFrom: fieldRef("metadata.namespace")})
	volume := fmt.Sprintf("kube-api-access-%05x", i)
	c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{
		Name: volume, MountPath: "/var/run/secrets/kubernetes.io/serviceaccount", ReadOnly: true,
	})
	p.Spec.Volumes = []corev1.Volume{
		{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: c.Name}, DefaultMode: new(int32(0o644)),
		}}},
		{Name: volume, VolumeSource: corev1.VolumeSource{Projected: projected()}},
	}
	p.ManagedFields = []metav1.ManagedFieldsEntry{
		managed("kube-controller-manager", "", specFields, p.CreationTimestamp),
		managed("kubelet", "status", statusFields, p.CreationTimestamp),
	}
}

func fieldRef(path string) *corev1.EnvVarSource {
	return &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: path}}
}

func projected() *corev1.ProjectedVolumeSource {
	return &corev1.ProjectedVolumeSource{DefaultMode: new(int32(0o644)), Sources: []corev1.VolumeProjection{
		{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{ExpirationSeconds: new(int64(3607)), Path: "token"}},
		{ConfigMap: &corev1.ConfigMapProjection{
			LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"},
			Items:                []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}},
		}},
	}}
}

func managed(manager, subresource, fields string, at metav1.Time) metav1.ManagedFieldsEntry {
	at = metav1.NewTime(at.Add(time.Second).Local())
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Time: &at,
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields), Subresource: subresource,
	}
}

const (
	specFields = `{"f:metadata":{"f:annotations":{".":{},"f:checksum/config":{},"f:prometheus.io/scrape":{}},"f:generateName":{},` +
		`"f:labels":{".":{},"f:app.kubernetes.io/managed-by":{},"f:app.kubernetes.io/name":{},"f:pod-template-hash":{}},` +
		`"f:ownerReferences":{".":{},"k:{\"uid\":\"9ab4\"}":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"app\"}":{".":{},"f:args":{},` +
		`"f:env":{".":{},"k:{\"name\":\"LOG_LEVEL\"}":{".":{},"f:name":{},"f:value":{}}},"f:image":{},"f:imagePullPolicy":{},` +
		`"f:livenessProbe":{},"f:name":{},"f:ports":{},"f:readinessProbe":{},"f:resources":{"f:limits":{},"f:requests":{}}}},` +
		`"f:dnsPolicy":{},"f:enableServiceLinks":{},"f:restartPolicy":{},"f:schedulerName":{},"f:securityContext":{}}}`
	statusFields = `{"f:status":{"f:conditions":{"k:{\"type\":\"Ready\"}":{".":{},"f:lastTransitionTime":{},"f:status":{}}},` +
		`"f:containerStatuses":{},"f:hostIP":{},"f:phase":{},"f:podIP":{},"f:podIPs":{},"f:startTime":{}}}`
)
