package fake

import (
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/api/validation"
)

// nameRule returns what names are checked by.
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
