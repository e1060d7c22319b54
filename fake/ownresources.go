package fake

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/fake/internal/fieldmanager"
)

// nameRule returns the check for names of the resource.
func (r *definedResource) nameRule() validation.ValidateNameFunc {
	if r.CheckName != nil {
		return r.CheckName
	}
	switch r.Group {
	case "rbac.authorization.k8s.io":
		return func(name string, _ bool) []string { return content.IsPathSegmentName(name) }
	case "":
		if r.Name == "namespaces" || r.Name == "services" {
			return validation.NameIsDNSLabel
		}
	case "apps":
		if r.Name == "statefulsets" {
			return validation.NameIsDNSLabel
		}
	}
	return validation.NameIsDNSSubdomain
}

// ownResources maps Kubernetes' own groups to names of their resources; nil means all of the group.
type ownResources map[string][]string

func (rs ownResources) hold(r *definedResource) bool {
	names, ok := rs[r.Group]
	return ok && (names == nil || slices.Contains(names, r.Name))
}

// The deviations of Kubernetes' own resources from the usual rules. They come from the API server's
// strategies for these resources.
var (
	// withoutGeneration have none, though some of them have a spec.
	withoutGeneration = ownResources{
		"": {"configmaps", "endpoints", "events", "limitranges", "namespaces", "nodes", "persistentvolumeclaims", "persistentvolumes",
			"resourcequotas", "secrets", "serviceaccounts", "services"},
		"apiregistration.k8s.io":    {"apiservices"},
		"apps":                      {"controllerrevisions"},
		"certificates.k8s.io":       {"certificatesigningrequests", "clustertrustbundles", "podcertificaterequests"},
		"coordination.k8s.io":       {"leasecandidates", "leases"},
		"events.k8s.io":             {"events"},
		"internal.apiserver.k8s.io": {"storageversions"},
		"networking.k8s.io":         {"ipaddresses", "servicecidrs"},
		"node.k8s.io":               {"runtimeclasses"},
		"rbac.authorization.k8s.io": nil,
		"resource.k8s.io":           {"resourceclaims", "resourceclaimtemplates", "resourcepoolstatusrequests"},
		"scheduling.k8s.io":         {"compositepodgroups", "podgroups", "workloads"},
		"storage.k8s.io":            {"csinodes", "csistoragecapacities", "storageclasses", "volumeattachments", "volumeattributesclasses"},
		"storagemigration.k8s.io":   {"storageversionmigrations"},
	}
	// withGeneration have a generation, and no spec: all but the metadata counts.
	withGeneration = ownResources{
		"":                             {"podtemplates"},
		"admissionregistration.k8s.io": {"mutatingwebhookconfigurations", "validatingwebhookconfigurations"},
		"discovery.k8s.io":             {"endpointslices"},
		"scheduling.k8s.io":            {"priorityclasses"},
	}
	// generationStays keep their first generation.
	generationStays = ownResources{"scheduling.k8s.io": {"priorityclasses"}}
	// generationFromZero get their first generation from the first change.
	generationFromZero = ownResources{"storage.k8s.io": {"csidrivers"}}
	// statusOnly have a status subresource that leaves the metadata alone.
	statusOnly = ownResources{
		"admissionregistration.k8s.io": {"validatingadmissionpolicies"},
		"apiregistration.k8s.io":       {"apiservices"},
		"certificates.k8s.io":          {"podcertificaterequests"},
		"internal.apiserver.k8s.io":    {"storageversions"},
		"flowcontrol.apiserver.k8s.io": {"flowschemas", "prioritylevelconfigurations"},
		"networking.k8s.io":            {"servicecidrs"},
		"resource.k8s.io":              {"devicetaintrules", "resourceclaims", "resourcepoolstatusrequests"},
		"scheduling.k8s.io":            {"compositepodgroups", "podgroups"},
		"storage.k8s.io":               {"csinodes", "volumeattachments"},
		"storagemigration.k8s.io":      {"storageversionmigrations"},
	}
	// createdByUpdate come into being by an update of an absent object.
	createdByUpdate = ownResources{
		"":                          {"endpoints", "events", "limitranges", "services"},
		"coordination.k8s.io":       {"leasecandidates", "leases"},
		"events.k8s.io":             {"events"},
		"node.k8s.io":               {"runtimeclasses"},
		"rbac.authorization.k8s.io": {"clusterrolebindings", "clusterroles", "rolebindings", "roles"},
	}
	// blindless must state a resourceVersion in updates: AllowUnconditionalUpdate of their
	// strategies is false.
	blindless = ownResources{
		"admissionregistration.k8s.io": nil,
		"apiextensions.k8s.io":         nil,
		"apiregistration.k8s.io":       nil,
		"certificates.k8s.io":          {"clustertrustbundles", "podcertificaterequests"},
		"coordination.k8s.io":          nil,
		"internal.apiserver.k8s.io":    nil,
		"node.k8s.io":                  nil,
		"policy":                       {"poddisruptionbudgets"},
		"scheduling.k8s.io":            {"compositepodgroups", "podgroups", "workloads"},
		"storage.k8s.io":               {"csidrivers", "csinodes", "csistoragecapacities", "volumeattachments"},
		"storagemigration.k8s.io":      nil,
	}
	// answersDeleted answer a deletion with the last state of the object instead of a Status.
	answersDeleted = ownResources{
		"": {"namespaces", "persistentvolumeclaims", "persistentvolumes", "podtemplates", "pods", "resourcequotas", "serviceaccounts",
			"services"},
		"resource.k8s.io": {"deviceclasses", "resourceclaims", "resourceclaimtemplates", "resourcepoolstatusrequests", "resourceslices"},
		"storage.k8s.io":  {"csidrivers", "csinodes", "storageclasses", "volumeattachments", "volumeattributesclasses"},
	}
	// orphansDependents leave their dependents alone when a deletion states no policy.
	orphansDependents = ownResources{
		"":      {"replicationcontrollers"},
		"batch": {"jobs"},
	}
	certificateRequests = ownResources{"certificates.k8s.io": {"certificatesigningrequests"}}
	deployments         = ownResources{"apps": {"deployments"}}
	jobs                = ownResources{"batch": {"jobs"}}
	endpointSlices      = ownResources{"discovery.k8s.io": {"endpointslices"}}
	pods                = ownResources{"": {"pods"}}
)

// refusesBlind reports whether an update must state the version from which it was made.
func (r *definedResource) refusesBlind() bool {
	return !r.BlindUpdates && (r.custom() || blindless.hold(r))
}

// statusHasMetadata reports whether a write of the status writes the metadata as well.
func (r *definedResource) statusHasMetadata() bool { return !r.custom() && !statusOnly.hold(r) }

// resets returns the fields that a write of the object, or of its status, leaves as they are.
func (r *definedResource) resets() fieldmanager.Resets {
	if !r.Status {
		return fieldmanager.Resets{}
	}
	out := fieldmanager.Resets{Object: `{"f:status":{}}`, Status: `{"f:spec":{}}`}
	switch {
	case certificateRequests.hold(r):
		out.Object = `{"f:spec":{},"f:status":{}}`
		out.Status = `{"f:spec":{},"f:status":{"f:conditions":{}}}`
	case deployments.hold(r):
		out.Status = `{"f:metadata":{"f:labels":{}},"f:spec":{}}`
	case pods.hold(r):
		out.Status = `{"f:metadata":{"f:deletionTimestamp":{},"f:ownerReferences":{}},"f:spec":{}}`
	case !r.statusHasMetadata():
		out.Status = `{"f:metadata":{},"f:spec":{}}`
	}
	return out
}

// verbs are the verbs of requests for the whole resource.
func (r *definedResource) verbs() metav1.Verbs {
	switch {
	case r.Verbs != nil:
		return r.Verbs
	case r.namespaces():
		return metav1.Verbs{"create", "delete", "get", "list", "patch", "update", "watch"}
	}
	return metav1.Verbs{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
}

// describe returns the resource and its subresources.
func (r *definedResource) describe() []metav1.APIResource {
	whole := metav1.APIResource{
		Name: r.Name, SingularName: r.Singular, Namespaced: !r.ClusterScoped, Group: r.Group, Version: r.Version, Kind: r.Kind,
		Verbs:      r.verbs(),
		ShortNames: r.ShortNames, Categories: r.Categories,
	}
	all := []metav1.APIResource{whole}
	for _, name := range slices.Sorted(maps.Keys(r.subresources)) {
		sub := r.subresources[name]
		all = append(all, metav1.APIResource{
			Name: r.Name + "/" + name, Namespaced: whole.Namespaced,
			Group: sub.kind.Group, Version: sub.kind.Version, Kind: sub.kind.Kind, Verbs: sub.verbs,
		})
	}
	return all
}
