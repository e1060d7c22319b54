package fakekube

import (
	"errors"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/with/kubernetes/openapi"
)

// New returns a server in the state of a cluster that has just begun: all kinds of [Register], the
// field selectors of an API server, its subresources that need neither kubelets nor other servers
// (logs of pods are empty), the namespaces default, kube-system, kube-public and kube-node-lease,
// the Service default/kubernetes, and the two PriorityClasses of the system. With
// [fake.Options.KeepNamespaces], objects are refused in namespaces that do not exist. An error
// would be a defect of this package.
func New(opts fake.Options) (*fake.Server, error) {
	server := fake.New(opts)
	if err := Register(server); err != nil {
		return nil, err
	}
	if err := errors.Join(defineSubresources(server, opts.Strategy != nil), addFields(server)); err != nil {
		return nil, err
	}
	return server, begin(server)
}

// register registers a kind with its schema.
func register[T metav1.Object](server *fake.Server, k *kind.Kind[T]) error {
	return fake.Register(server, k, openapi.Rules(k))
}

// begin creates the objects that an API server itself creates.
func begin(server *fake.Server) error {
	var errs []error
	for _, name := range []string{"default", "kube-system", "kube-public", "kube-node-lease"} {
		_, err := fake.Create(server, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
		errs = append(errs, err)
	}
	_, err := fake.Create(server, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "kubernetes",
			Labels: map[string]string{"component": "apiserver", "provider": "kubernetes"},
		},
		Spec: corev1.ServiceSpec{
			Type:            corev1.ServiceTypeClusterIP,
			ClusterIP:       "10.0.0.1",
			ClusterIPs:      []string{"10.0.0.1"},
			IPFamilies:      []corev1.IPFamily{corev1.IPv4Protocol},
			SessionAffinity: corev1.ServiceAffinityNone,
			Ports:           []corev1.ServicePort{{Name: "https", Port: 443, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromInt32(6443)}},
		},
	})
	return errors.Join(append(errs, err, systemPriorities(server))...)
}

// systemPriorities creates the PriorityClasses of the system.
func systemPriorities(server *fake.Server) error {
	var errs []error
	for _, c := range []struct {
		name  string
		value int32
		about string
	}{
		{"system-node-critical", 2_000_001_000, "Used for system critical pods that must not be moved from their current node."},
		{"system-cluster-critical", 2_000_000_000, "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary."},
	} {
		_, err := fake.Create(server, &schedulingv1.PriorityClass{
			ObjectMeta: metav1.ObjectMeta{Name: c.name}, Value: c.value, Description: c.about, PreemptionPolicy: new(corev1.PreemptLowerPriority),
		})
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
