package fake

import (
	"mime"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	k8sversion "k8s.io/apimachinery/pkg/version"
)

// servedVersion is the release that the server claims to be.
const servedVersion = "v1.37.0+kinform-fake"

// discover answers the paths above the resources.
func (s *Server) discover(w *response, r *http.Request, parts []string) error {
	if parts[0] == "openapi" {
		return s.serveOpenAPI(w, r, parts[1:])
	}
	answer := s.discovery(parts)
	if answer == nil {
		return errNoPath
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return errMethod()
	}
	if len(parts) == 1 && (parts[0] == "api" || parts[0] == "apis") && wantsAggregated(r) {
		w.contentType = aggregatedType
		return w.json(http.StatusOK, s.aggregated(parts[0] == "api"))
	}
	if text, ok := answer.(string); ok {
		return w.text(http.StatusOK, text)
	}
	return w.json(http.StatusOK, answer)
}

// discovery returns a text, a JSON object, or nil where there is nothing.
func (s *Server) discovery(parts []string) any {
	switch path := strings.Join(parts, "/"); {
	case path == "version":
		return k8sversion.Info{Major: "1", Minor: "37", GitVersion: servedVersion, Platform: "go/memory"}
	case isHealth(parts):
		return "ok"
	case path == "api":
		return metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}}
	case path == "apis":
		return metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: s.groups("")}
	case parts[0] == "api" && len(parts) == 2:
		return s.resources(schema.GroupVersion{Version: parts[1]})
	case parts[0] == "apis" && len(parts) == 2:
		if found := s.groups(parts[1]); len(found) == 1 {
			found[0].TypeMeta = metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}
			return found[0]
		}
	case parts[0] == "apis" && len(parts) == 3:
		return s.resources(schema.GroupVersion{Group: parts[1], Version: parts[2]})
	}
	return nil
}

// isHealth knows /healthz, /livez and /readyz, and their parts: nothing here can fail.
func isHealth(parts []string) bool {
	return slices.Contains([]string{"healthz", "livez", "readyz"}, parts[0]) && len(parts) <= 2
}

func (s *Server) registered() []Resource {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Resource, len(s.order))
	for i, c := range s.order {
		out[i] = *c.info()
	}
	return out
}

// groups returns the named API groups with their versions, by time of registration; only
// the group called name unless that is empty.
func (s *Server) groups(name string) []metav1.APIGroup {
	out := []metav1.APIGroup{}
	for _, r := range s.registered() {
		if r.Group == "" || name != "" && name != r.Group {
			continue
		}
		i := slices.IndexFunc(out, func(g metav1.APIGroup) bool { return g.Name == r.Group })
		v := metav1.GroupVersionForDiscovery{GroupVersion: r.groupVersion().String(), Version: r.Version}
		if i < 0 {
			out = append(out, metav1.APIGroup{Name: r.Group, Versions: []metav1.GroupVersionForDiscovery{v}, PreferredVersion: v})
		} else if !slices.Contains(out[i].Versions, v) {
			out[i].Versions = append(out[i].Versions, v)
		}
	}
	return out
}

// resources returns the resources of one version, nil for a version that has none. The
// core group is always there.
func (s *Server) resources(gv schema.GroupVersion) any {
	list := metav1.APIResourceList{
		TypeMeta:     metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"},
		GroupVersion: gv.String(),
		APIResources: []metav1.APIResource{},
	}
	for _, r := range s.registered() {
		if r.groupVersion() == gv {
			list.APIResources = append(list.APIResources, r.describe()...)
		}
	}
	if len(list.APIResources) == 0 && gv != (schema.GroupVersion{Version: "v1"}) {
		return nil
	}
	return list
}

// describe returns the resource and its subresources.
func (r Resource) describe() []metav1.APIResource {
	whole := metav1.APIResource{
		Name: r.Name, SingularName: strings.ToLower(r.Kind), Namespaced: !r.ClusterScoped, Kind: r.Kind, Verbs: r.verbs(),
		ShortNames: r.ShortNames, Categories: r.Categories,
	}
	out := []metav1.APIResource{whole}
	for _, sub := range r.subresources() {
		out = append(out, metav1.APIResource{
			Name: r.Name + "/" + sub, Namespaced: !r.ClusterScoped, Kind: r.Kind, Verbs: metav1.Verbs{"get", "patch", "update"},
		})
	}
	return out
}

func (r Resource) verbs() metav1.Verbs {
	return metav1.Verbs{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
}

// subresources names what lies below the path of an object.
func (r Resource) subresources() []string {
	if r.Status {
		return []string{statusField}
	}
	return nil
}

// wantsAggregated reports whether the client's first choice is aggregated discovery.
func wantsAggregated(r *http.Request) bool {
	for _, header := range r.Header.Values("Accept") {
		for option := range strings.SplitSeq(header, ",") {
			kind, params, err := mime.ParseMediaType(option)
			if err != nil || kind != jsonType {
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
