package fake

import (
	"net/http"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/fake/internal/answer"
	"github.com/kinform/kinform/fake/internal/discovery"
	"github.com/kinform/kinform/fake/internal/openapi"
	"github.com/kinform/kinform/fake/internal/refusal"
	"github.com/kinform/kinform/fake/internal/wire"
)

// discover answers the paths above the resources.
func (s *Server) discover(w *answer.Writer, r *http.Request, path []string) error {
	var doc *discovery.Document
	if path[0] == "openapi" {
		doc = openapi.Find(s.apiResources(), s.schemas(), r, path[1:])
	} else {
		doc = discovery.Find(s.apiResources(), r, path)
	}
	switch {
	case doc == nil:
		return answer.ErrNoPath
	case r.Method != http.MethodGet && headless(path[0]): // the others have all methods
		return refusal.Method()
	}
	if form, err := discoveryForm(r, path[0]); err != nil {
		return err
	} else if form == wire.YAML && doc.ContentType == wire.JSON {
		doc.ContentType = form
	}
	switch body := doc.Body.(type) {
	case string:
		return w.Bytes(http.StatusOK, doc.ContentType, []byte(body))
	case []byte:
		return w.Bytes(http.StatusOK, doc.ContentType, body)
	}
	return w.JSON(http.StatusOK, doc.ContentType, doc.Body)
}

// discoveryForm returns the media type of a document that is encoded as JSON: this, or YAML.
func discoveryForm(r *http.Request, root string) (string, error) {
	offered := []string{wire.JSON, wire.YAML, wire.Protobuf}
	switch {
	case root == "version":
		offered = offered[:1]
	case !headless(root):
		return wire.JSON, nil
	}
	form, ok := wire.Preferred(r.Header["Accept"], offered...)
	switch {
	case !ok:
		return "", refusal.NotAcceptable(offered...)
	case form == wire.Protobuf:
		return wire.JSON, nil // the clients of Kubernetes can read it
	}
	return form, nil
}

// headless reports whether the documents below a path have no HEAD in the API server.
func headless(root string) bool { return root == "api" || root == "apis" || root == "version" }

// apiResources describes all resources, in the order of their groups, and within a group in the
// order of registration.
func (s *Server) apiResources() (all []metav1.APIResource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var served []*table
	for _, c := range s.order {
		served = append(served, c.served()...)
	}
	slices.SortStableFunc(served, func(a, b *table) int { return discovery.CompareGroups(a.res.Group, b.res.Group) })
	for _, v := range served {
		all = append(all, v.res.describe()...)
	}
	return all
}

// schemas returns the OpenAPI schemas of the kinds that have one.
func (s *Server) schemas() openapi.Schemas {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := openapi.Schemas{}
	for _, c := range s.order {
		for _, v := range c.served() {
			if v.res.OpenAPI != nil {
				all[v.res.GroupVersionKind()] = openapi.Schema{All: v.res.OpenAPI, Patches: v.patches()}
			}
		}
	}
	return all
}

// hasVersion reports whether a resource of the version is registered.
func (s *Server) hasVersion(gv schema.GroupVersion) bool {
	for home := range discovery.Located(s.apiResources()) {
		if home == gv {
			return true
		}
	}
	return false
}
