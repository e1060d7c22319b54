package discovery

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// aggregatedType is the Content-Type by which clients recognize an aggregated answer.
const aggregatedType = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

// The types of apidiscovery.k8s.io/v2 describe all groups, versions and resources in one
// document. They are written out here because k8s.io/api is for nested modules only.
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

// aggregated describes the core group, or all other groups.
func aggregated(all []metav1.APIResource, core bool) groupDiscoveryList {
	list := groupDiscoveryList{
		TypeMeta: metav1.TypeMeta{Kind: "APIGroupDiscoveryList", APIVersion: "apidiscovery.k8s.io/v2"},
		Items:    []groupDiscovery{},
	}
	if core { // it always exists
		list.Items = append(list.Items, groupDiscovery{Versions: []versionDiscovery{{Version: "v1", Freshness: "Current", Resources: []resourceDiscovery{}}}})
	}
	for home, r := range Located(all) {
		if core != (home.Group == "") {
			continue
		}
		v, kind := list.version(home), metav1.GroupVersionKind{Group: r.Group, Version: r.Version, Kind: r.Kind}
		if _, sub, ok := strings.Cut(r.Name, "/"); ok {
			last := &v.Resources[len(v.Resources)-1]
			last.Subresources = append(last.Subresources, subresourceDiscovery{Subresource: sub, ResponseKind: kind, Verbs: r.Verbs})
			continue
		}
		d := resourceDiscovery{
			Resource: r.Name, ResponseKind: kind, Scope: "Namespaced", SingularResource: r.SingularName, Verbs: r.Verbs,
			ShortNames: r.ShortNames, Categories: r.Categories,
		}
		if !r.Namespaced {
			d.Scope = "Cluster"
		}
		v.Resources = append(v.Resources, d)
	}
	for _, g := range list.Items {
		slices.SortStableFunc(g.Versions, func(a, b versionDiscovery) int { return byAge(a.Version, b.Version) })
	}
	return list
}

// version finds a version in the list, or adds it.
func (l *groupDiscoveryList) version(r schema.GroupVersion) *versionDiscovery {
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
