// Package strategies gives a fake server the defaults and the validation of Kubernetes' own
// kinds, by the API server's own code (k8s.io/kubernetes).
//
//	server, err := fakekube.New(fake.Options{Strategy: strategies.New()})
//
// It links much of the API server. It is a separate module, in no workspace, because the
// requirements of k8s.io/kubernetes do not resolve in one. The command cmd/kube-apiserver is the
// server of with/envtest with these strategies, for suites that use envtest.
//
// Requests pass the admission plugins that an API server has by default: LimitRanger,
// PodSecurity, Priority, ResourceQuota and others. These are missing: ServiceAccount, and the
// plugins that ask for a user's rights to a signer (CertificateApproval, CertificateSigning,
// ClusterTrustBundleAttest). Webhooks and policies are in with/envtest.
//
// Five kinds of fakekube have no strategy and stay as without this package: DeviceTaintRules,
// PodCertificateRequests, ResourceClaims, ResourceClaimTemplates and StorageVersionMigrations.
//
// Defaults apply to every object. Validation and the other work of a strategy, such as clearing a
// status or counting generations, apply to requests only. A test's own functions (fake.Create)
// store objects as they are.
package strategies
