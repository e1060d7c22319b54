package fake

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// aggregatedType is the Content-Type by which clients know an aggregated answer.
const aggregatedType = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

// These are the types of apidiscovery.k8s.io/v2, which lie in k8s.io/api: all groups,
// versions and resources in one document.
type (
	groupDiscoveryList struct {
		metav1.TypeMeta
		Metadata metav1.ListMeta  `json:"metadata"`
		Items    []groupDiscovery `json:"items"`
	}
	groupDiscovery struct {
		Metadata groupName          `json:"metadata"`
		Versions []versionDiscovery `json:"versions"`
	}
	groupName struct {
		Name string `json:"name,omitempty"`
	}
	versionDiscovery struct {
		Version   string              `json:"version"`
		Resources []resourceDiscovery `json:"resources"`
		Freshness string              `json:"freshness"`
	}
	resourceDiscovery struct {
		Resource         string                  `json:"resource"`
		ResponseKind     metav1.GroupVersionKind `json:"responseKind"`
		Scope            string                  `json:"scope"`
		SingularResource string                  `json:"singularResource"`
		Verbs            []string                `json:"verbs"`
		ShortNames       []string                `json:"shortNames,omitempty"`
		Categories       []string                `json:"categories,omitempty"`
		Subresources     []subresourceDiscovery  `json:"subresources,omitempty"`
	}
	subresourceDiscovery struct {
		Subresource  string                  `json:"subresource"`
		ResponseKind metav1.GroupVersionKind `json:"responseKind"`
		Verbs        []string                `json:"verbs"`
	}
)

// aggregated describes the core group, or all others.
func (s *Server) aggregated(core bool) groupDiscoveryList {
	list := groupDiscoveryList{
		TypeMeta: metav1.TypeMeta{Kind: "APIGroupDiscoveryList", APIVersion: "apidiscovery.k8s.io/v2"},
		Items:    []groupDiscovery{},
	}
	if core { // always there
		list.Items = append(list.Items, groupDiscovery{Versions: []versionDiscovery{{Version: "v1", Freshness: "Current", Resources: []resourceDiscovery{}}}})
	}
	for _, r := range s.registered() {
		if core == (r.Group == "") {
			v := list.version(r)
			v.Resources = append(v.Resources, r.discovery())
		}
	}
	return list
}

// version finds r's version in the list, or adds it.
func (l *groupDiscoveryList) version(r Resource) *versionDiscovery {
	i := slices.IndexFunc(l.Items, func(g groupDiscovery) bool { return g.Metadata.Name == r.Group })
	if i < 0 {
		i = len(l.Items)
		l.Items = append(l.Items, groupDiscovery{Metadata: groupName{r.Group}})
	}
	g := &l.Items[i]
	j := slices.IndexFunc(g.Versions, func(v versionDiscovery) bool { return v.Version == r.Version })
	if j < 0 {
		j = len(g.Versions)
		g.Versions = append(g.Versions, versionDiscovery{Version: r.Version, Freshness: "Current"})
	}
	return &g.Versions[j]
}

func (r Resource) discovery() resourceDiscovery {
	kind := metav1.GroupVersionKind{Group: r.Group, Version: r.Version, Kind: r.Kind}
	d := resourceDiscovery{
		Resource: r.Name, ResponseKind: kind, Scope: "Namespaced", SingularResource: strings.ToLower(r.Kind), Verbs: r.verbs(),
		ShortNames: r.ShortNames, Categories: r.Categories,
	}
	if r.ClusterScoped {
		d.Scope = "Cluster"
	}
	for _, sub := range r.subresources() {
		d.Subresources = append(d.Subresources, subresourceDiscovery{
			Subresource: sub, ResponseKind: kind, Verbs: []string{"get", "patch", "update"},
		})
	}
	return d
}
