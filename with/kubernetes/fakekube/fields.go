package fakekube

import (
	"errors"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/fake"
)

// addFields makes known the fields by which an API server selects objects of Kubernetes' own kinds,
// other than metadata.name and metadata.namespace.
func addFields(s *fake.Server) error {
	return errors.Join(
		add(s, map[string]func(*corev1.Pod) string{
			"spec.nodeName":            func(p *corev1.Pod) string { return p.Spec.NodeName },
			"spec.host":                func(p *corev1.Pod) string { return p.Spec.NodeName },
			"spec.restartPolicy":       func(p *corev1.Pod) string { return string(p.Spec.RestartPolicy) },
			"spec.schedulerName":       func(p *corev1.Pod) string { return p.Spec.SchedulerName },
			"spec.serviceAccountName":  func(p *corev1.Pod) string { return p.Spec.ServiceAccountName },
			"spec.hostNetwork":         func(p *corev1.Pod) string { return strconv.FormatBool(p.Spec.HostNetwork) },
			"status.phase":             func(p *corev1.Pod) string { return string(p.Status.Phase) },
			"status.podIP":             podIP,
			"status.podIPs":            func(*corev1.Pod) string { return "" }, // known to the API server, but never set
			"status.nominatedNodeName": func(p *corev1.Pod) string { return p.Status.NominatedNodeName },
		}),
		add(s, map[string]func(*corev1.Node) string{
			"spec.unschedulable": func(n *corev1.Node) string { return strconv.FormatBool(n.Spec.Unschedulable) },
		}),
		add(s, map[string]func(*corev1.ReplicationController) string{
			"status.replicas": func(c *corev1.ReplicationController) string { return strconv.Itoa(int(c.Status.Replicas)) },
		}),
		add(s, map[string]func(*corev1.Namespace) string{
			"status.phase": func(n *corev1.Namespace) string { return string(n.Status.Phase) },
		}),
		add(s, map[string]func(*corev1.Secret) string{
			"type": func(x *corev1.Secret) string { return string(x.Type) },
		}),
		add(s, map[string]func(*corev1.Service) string{
			"spec.clusterIP": func(x *corev1.Service) string { return x.Spec.ClusterIP },
			"spec.type":      func(x *corev1.Service) string { return string(x.Spec.Type) },
		}),
		add(s, map[string]func(*batchv1.Job) string{
			"status.successful": func(j *batchv1.Job) string { return strconv.Itoa(int(j.Status.Succeeded)) },
		}),
		add(s, map[string]func(*certificatesv1.CertificateSigningRequest) string{
			"spec.signerName": func(r *certificatesv1.CertificateSigningRequest) string { return r.Spec.SignerName },
		}),
		add(s, map[string]func(*resourcev1.ResourceSlice) string{
			resourcev1.ResourceSliceSelectorNodeName: func(x *resourcev1.ResourceSlice) string { return deref(x.Spec.NodeName) },
			resourcev1.ResourceSliceSelectorDriver:   func(x *resourcev1.ResourceSlice) string { return x.Spec.Driver },
			resourcev1.ResourceSliceSelectorPoolName: func(x *resourcev1.ResourceSlice) string { return x.Spec.Pool.Name },
		}),
		add(s, coreEventFields),
		add(s, eventFields),
	)
}

var coreEventFields = map[string]func(*corev1.Event) string{
	"involvedObject.kind":            func(e *corev1.Event) string { return e.InvolvedObject.Kind },
	"involvedObject.namespace":       func(e *corev1.Event) string { return e.InvolvedObject.Namespace },
	"involvedObject.name":            func(e *corev1.Event) string { return e.InvolvedObject.Name },
	"involvedObject.uid":             func(e *corev1.Event) string { return string(e.InvolvedObject.UID) },
	"involvedObject.apiVersion":      func(e *corev1.Event) string { return e.InvolvedObject.APIVersion },
	"involvedObject.resourceVersion": func(e *corev1.Event) string { return e.InvolvedObject.ResourceVersion },
	"involvedObject.fieldPath":       func(e *corev1.Event) string { return e.InvolvedObject.FieldPath },
	"reason":                         func(e *corev1.Event) string { return e.Reason },
	"reportingComponent":             func(e *corev1.Event) string { return e.ReportingController },
	"type":                           func(e *corev1.Event) string { return e.Type },
	"source": func(e *corev1.Event) string {
		if e.Source.Component != "" {
			return e.Source.Component
		}
		return e.ReportingController
	},
}

var eventFields = map[string]func(*eventsv1.Event) string{
	"regarding.kind":            func(e *eventsv1.Event) string { return e.Regarding.Kind },
	"regarding.namespace":       func(e *eventsv1.Event) string { return e.Regarding.Namespace },
	"regarding.name":            func(e *eventsv1.Event) string { return e.Regarding.Name },
	"regarding.uid":             func(e *eventsv1.Event) string { return string(e.Regarding.UID) },
	"regarding.apiVersion":      func(e *eventsv1.Event) string { return e.Regarding.APIVersion },
	"regarding.resourceVersion": func(e *eventsv1.Event) string { return e.Regarding.ResourceVersion },
	"regarding.fieldPath":       func(e *eventsv1.Event) string { return e.Regarding.FieldPath },
	"reason":                    func(e *eventsv1.Event) string { return e.Reason },
	"reportingController":       func(e *eventsv1.Event) string { return e.ReportingController },
	"type":                      func(e *eventsv1.Event) string { return e.Type },
}

func add[T metav1.Object](s *fake.Server, fields map[string]func(T) string) error {
	var errs []error
	for name, value := range fields {
		errs = append(errs, fake.AddField(s, name, value))
	}
	return errors.Join(errs...)
}

func podIP(p *corev1.Pod) string {
	if len(p.Status.PodIPs) > 0 {
		return p.Status.PodIPs[0].IP
	}
	return ""
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
