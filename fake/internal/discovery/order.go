package discovery

import (
	"cmp"
	"slices"
)

// CompareGroups orders API groups as the API server does, which decides between resources of one
// name: the core group, Kubernetes' own groups by their priorities, and others by name.
func CompareGroups(a, b string) int {
	return cmp.Or(cmp.Compare(priority(a), priority(b)), cmp.Compare(a, b))
}

// priority returns the place of a group among Kubernetes' own groups; others come after them.
func priority(group string) int {
	own := [...]string{
		"", "apiregistration.k8s.io", "apps", "events.k8s.io", "authentication.k8s.io", "authorization.k8s.io", "autoscaling", "batch",
		"certificates.k8s.io", "networking.k8s.io", "policy", "rbac.authorization.k8s.io", "storage.k8s.io", "admissionregistration.k8s.io",
		"apiextensions.k8s.io", "scheduling.k8s.io", "coordination.k8s.io", "node.k8s.io", "discovery.k8s.io", "resource.k8s.io",
		"flowcontrol.apiserver.k8s.io", "storagemigration.k8s.io",
	}
	if i := slices.Index(own[:], group); i >= 0 {
		return i
	}
	return len(own)
}
