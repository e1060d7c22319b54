package fake

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// nameRule returns the check for names of the resource.
func (r *Resource) nameRule() validation.ValidateNameFunc {
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

// blindless lists Kubernetes' own groups in which updates must state a resourceVersion, each
// with the resources that require it; nil means all. The API server's strategies of these
// resources return false from AllowUnconditionalUpdate.
var blindless = map[string][]string{
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

// refusesBlind reports whether an update must state the version from which it was made.
func (r *Resource) refusesBlind() bool {
	if r.BlindUpdates {
		return false
	}
	names, ok := blindless[r.Group]
	return r.custom() || ok && (names == nil || slices.Contains(names, r.Name))
}

// describe returns the resource and its subresources.
func (r *Resource) describe() []metav1.APIResource {
	whole := metav1.APIResource{
		Name: r.Name, SingularName: strings.ToLower(r.Kind), Namespaced: !r.ClusterScoped, Group: r.Group, Version: r.Version, Kind: r.Kind,
		Verbs:      metav1.Verbs{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"},
		ShortNames: r.ShortNames, Categories: r.Categories,
	}
	if !r.Status {
		return []metav1.APIResource{whole}
	}
	status := whole
	status.Name, status.SingularName, status.Verbs = r.Name+"/"+statusField, "", metav1.Verbs{"get", "patch", "update"}
	status.ShortNames, status.Categories = nil, nil
	return []metav1.APIResource{whole, status}
}
