// Package discovery makes the documents by which clients find out what an API server serves:
// /version, the health checks, /api, /apis and the versions below them.
package discovery

import (
	"iter"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	k8sversion "k8s.io/apimachinery/pkg/version"
)

// Version is the release that the server claims to be.
const Version = "v1.37.0+kinform-fake"

// Minor is the minor version of Kubernetes 1 that servers are like.
const Minor = 37

// Document is the answer to a request. Body is a string for plain text, and encoded as JSON
// otherwise.
type Document struct {
	ContentType string
	Body        any
}

// Located returns all with the group and version in which each is served. A subresource, which is
// named RESOURCE/NAME, follows its resource, and is served where that is, though its kind may be of
// another group, as a Scale is.
func Located(all []metav1.APIResource) iter.Seq2[schema.GroupVersion, metav1.APIResource] {
	return func(yield func(schema.GroupVersion, metav1.APIResource) bool) {
		var home schema.GroupVersion
		for _, r := range all {
			if !strings.Contains(r.Name, "/") {
				home = schema.GroupVersion{Group: r.Group, Version: r.Version}
			}
			if !yield(home, r) {
				return
			}
		}
	}
}

// Find returns the document at path, the URL's path split at its slashes; nil for none. all
// are the resources, each with the group and version of its kind, as [Located] takes them.
func Find(all []metav1.APIResource, r *http.Request, path []string) *Document {
	body := find(all, path)
	if body == nil {
		return nil
	}
	if _, ok := body.(string); ok {
		return &Document{"text/plain; charset=utf-8", body}
	}
	if root := path[0]; len(path) == 1 && (root == "api" || root == "apis") && wantsAggregated(r) {
		return &Document{aggregatedType, aggregated(all, root == "api")}
	}
	return &Document{"application/json", body}
}

func find(all []metav1.APIResource, parts []string) any {
	switch path := strings.Join(parts, "/"); {
	case path == "" || path == "index.html":
		return metav1.RootPaths{Paths: paths(all)}
	case path == "version":
		return k8sversion.Info{Major: "1", Minor: strconv.Itoa(Minor), GitVersion: Version, Platform: "go/memory"}
	case isHealth(parts):
		return "ok"
	case path == "api":
		return metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}}
	case path == "apis":
		return metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: groups(all, "")}
	case parts[0] == "api" && len(parts) == 2:
		return resources(all, schema.GroupVersion{Version: parts[1]})
	case parts[0] == "apis" && len(parts) == 2:
		if found := groups(all, parts[1]); len(found) == 1 {
			found[0].TypeMeta = metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}
			return found[0]
		}
	case parts[0] == "apis" && len(parts) == 3:
		return resources(all, schema.GroupVersion{Group: parts[1], Version: parts[2]})
	}
	return nil
}

// paths lists the documents that the server has, in the order of their names.
func paths(all []metav1.APIResource) []string {
	out := []string{"/api", "/api/v1", "/apis", "/apis/", "/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/openapi/v3/", "/readyz", "/version"}
	for _, g := range groups(all, "") {
		out = append(out, "/apis/"+g.Name)
		for _, v := range g.Versions {
			out = append(out, "/apis/"+v.GroupVersion)
		}
	}
	slices.Sort(out)
	return out
}

// isHealth reports whether parts are /healthz, /livez or /readyz, or one check of them. The
// server has no part that can fail.
func isHealth(parts []string) bool {
	return slices.Contains([]string{"healthz", "livez", "readyz"}, parts[0]) && len(parts) <= 2
}

// byAge orders versions as the API server prefers them: v2, v1, v1beta1.
func byAge(a, b string) int { return k8sversion.CompareKubeAwareVersionStrings(b, a) }

// groups returns the named API groups with their versions, in the order of all, the preferred
// version first. A name restricts to one group.
func groups(all []metav1.APIResource, name string) []metav1.APIGroup {
	out := []metav1.APIGroup{}
	for home := range Located(all) {
		if home.Group == "" || name != "" && name != home.Group {
			continue
		}
		i := slices.IndexFunc(out, func(g metav1.APIGroup) bool { return g.Name == home.Group })
		v := metav1.GroupVersionForDiscovery{GroupVersion: home.String(), Version: home.Version}
		if i < 0 {
			out = append(out, metav1.APIGroup{Name: home.Group, Versions: []metav1.GroupVersionForDiscovery{v}})
		} else if !slices.Contains(out[i].Versions, v) {
			out[i].Versions = append(out[i].Versions, v)
		}
	}
	for i := range out {
		slices.SortStableFunc(out[i].Versions, func(a, b metav1.GroupVersionForDiscovery) int { return byAge(a.Version, b.Version) })
		out[i].PreferredVersion = out[i].Versions[0]
	}
	return out
}

// resources returns the resources of one version, or nil if it has none. The core group
// always exists.
func resources(all []metav1.APIResource, gv schema.GroupVersion) any {
	list := metav1.APIResourceList{
		TypeMeta:     metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"},
		GroupVersion: gv.String(),
		APIResources: []metav1.APIResource{},
	}
	for home, r := range Located(all) {
		if home == gv {
			if r.Group == gv.Group && r.Version == gv.Version {
				r.Group, r.Version = "", "" // the list states them
			}
			list.APIResources = append(list.APIResources, r)
		}
	}
	if len(list.APIResources) == 0 && gv != (schema.GroupVersion{Version: "v1"}) {
		return nil
	}
	return list
}

// wantsAggregated reports whether the client's first choice is aggregated discovery.
func wantsAggregated(r *http.Request) bool {
	for _, header := range r.Header.Values("Accept") {
		for option := range strings.SplitSeq(header, ",") {
			kind, params, err := mime.ParseMediaType(option)
			if err != nil || kind != "application/json" {
				continue
			}
			switch {
			case params["as"] == "APIGroupDiscoveryList" && params["g"] == "apidiscovery.k8s.io" && params["v"] == "v2":
				return true
			case params["as"] == "":
				return false
			}
		}
	}
	return false
}
