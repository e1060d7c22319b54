// Package strategies gives a fake server the defaults and the validation of Kubernetes' own kinds:
// those of the API server itself, by its own code (k8s.io/kubernetes).
//
//	server, err := fakekube.New(fake.Options{Strategy: strategies.New()})
//
// It links much of the API server, and has a module of its own, which is in no workspace: what
// k8s.io/kubernetes requires does not resolve in one. The command cmd/kube-apiserver is that of
// with/envtest with these strategies.
//
// Requests pass the admission plugins that an API server has by default, but for ServiceAccount:
// LimitRanger, PodSecurity, Priority, ResourceQuota and others.
//
// Defaults apply to every object. Validation, and what else a strategy does, such as clearing a
// status or counting generations, is for requests: a test's own functions (fake.Create) store what
// they get.
package strategies
