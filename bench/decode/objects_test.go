package decode

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiserverinternalv1alpha1 "k8s.io/api/apiserverinternal/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	appsv1beta2 "k8s.io/api/apps/v1beta2"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	coordinationv1beta1 "k8s.io/api/coordination/v1beta1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	extensionsv1beta1 "k8s.io/api/extensions/v1beta1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	lifecyclev1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1alpha3 "k8s.io/api/resource/v1alpha3"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	storagev1 "k8s.io/api/storage/v1"
	storagemigrationv1 "k8s.io/api/storagemigration/v1"
)

// objectTypes are all types of client-go's scheme that have metadata, as the clients of them are
// typed, each in its newest version: a client is long to compile, and TestRandomObjects decodes all
// versions. TestObjectTypesAreAll keeps it so.
var objectTypes = []objectType{
	of[*admissionregistrationv1.MutatingAdmissionPolicyBinding](),
	of[*admissionregistrationv1.MutatingAdmissionPolicy](),
	of[*admissionregistrationv1.MutatingWebhookConfiguration](),
	of[*admissionregistrationv1.ValidatingAdmissionPolicyBinding](),
	of[*admissionregistrationv1.ValidatingAdmissionPolicy](),
	of[*admissionregistrationv1.ValidatingWebhookConfiguration](),
	of[*apiserverinternalv1alpha1.StorageVersion](),
	of[*appsv1.ControllerRevision](),
	of[*appsv1.DaemonSet](),
	of[*appsv1.Deployment](),
	of[*appsv1.ReplicaSet](),
	of[*appsv1.StatefulSet](),
	of[*appsv1beta2.Scale](),
	of[*authenticationv1.SelfSubjectReview](),
	of[*authenticationv1.TokenRequest](),
	of[*authenticationv1.TokenReview](),
	of[*authorizationv1.LocalSubjectAccessReview](),
	of[*authorizationv1.SelfSubjectAccessReview](),
	of[*authorizationv1.SelfSubjectRulesReview](),
	of[*authorizationv1.SubjectAccessReview](),
	of[*autoscalingv1.Scale](),
	of[*autoscalingv2.HorizontalPodAutoscaler](),
	of[*batchv1.CronJob](),
	of[*batchv1.Job](),
	of[*certificatesv1.CertificateSigningRequest](),
	of[*certificatesv1.ClusterTrustBundle](),
	of[*certificatesv1.PodCertificateRequest](),
	of[*coordinationv1.Lease](),
	of[*coordinationv1beta1.LeaseCandidate](),
	of[*corev1.Binding](),
	of[*corev1.ComponentStatus](),
	of[*corev1.ConfigMap](),
	//lint:ignore SA1019 API servers still have it
	of[*corev1.Endpoints](),
	of[*corev1.Event](),
	of[*corev1.LimitRange](),
	of[*corev1.Namespace](),
	of[*corev1.Node](),
	of[*corev1.PersistentVolumeClaim](),
	of[*corev1.PersistentVolume](),
	of[*corev1.PodTemplate](),
	of[*corev1.Pod](),
	of[*corev1.RangeAllocation](),
	of[*corev1.ReplicationController](),
	of[*corev1.ResourceQuota](),
	of[*corev1.Secret](),
	of[*corev1.ServiceAccount](),
	of[*corev1.Service](),
	of[*discoveryv1.EndpointSlice](),
	of[*eventsv1.Event](),
	of[*extensionsv1beta1.DaemonSet](),
	of[*extensionsv1beta1.Deployment](),
	of[*extensionsv1beta1.Ingress](),
	of[*extensionsv1beta1.NetworkPolicy](),
	of[*extensionsv1beta1.ReplicaSet](),
	of[*extensionsv1beta1.Scale](),
	of[*flowcontrolv1.FlowSchema](),
	of[*flowcontrolv1.PriorityLevelConfiguration](),
	of[*lifecyclev1alpha1.EvictionRequest](),
	of[*lifecyclev1alpha1.Eviction](),
	of[*networkingv1.IPAddress](),
	of[*networkingv1.IngressClass](),
	of[*networkingv1.Ingress](),
	of[*networkingv1.NetworkPolicy](),
	of[*networkingv1.ServiceCIDR](),
	of[*nodev1.RuntimeClass](),
	of[*policyv1.Eviction](),
	of[*policyv1.PodDisruptionBudget](),
	of[*rbacv1.ClusterRoleBinding](),
	of[*rbacv1.ClusterRole](),
	of[*rbacv1.RoleBinding](),
	of[*rbacv1.Role](),
	of[*resourcev1.DeviceClass](),
	of[*resourcev1.DeviceTaintRule](),
	of[*resourcev1.ResourceClaimTemplate](),
	of[*resourcev1.ResourceClaim](),
	of[*resourcev1.ResourceSlice](),
	of[*resourcev1alpha3.ResourcePoolStatusRequest](),
	of[*schedulingv1.PriorityClass](),
	of[*schedulingv1alpha3.CompositePodGroup](),
	of[*schedulingv1beta1.PodGroup](),
	of[*schedulingv1beta1.Workload](),
	of[*storagemigrationv1.StorageVersionMigration](),
	of[*storagev1.CSIDriver](),
	of[*storagev1.CSINode](),
	of[*storagev1.CSIStorageCapacity](),
	of[*storagev1.StorageClass](),
	of[*storagev1.VolumeAttachment](),
	of[*storagev1.VolumeAttributesClass](),
}
