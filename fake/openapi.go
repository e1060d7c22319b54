package fake

import (
	"fmt"
	"mime"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// openAPIProtobuf is the media type in which kubectl and client-go ask for version 2. The
// at sign is no valid part of one, so the answer has a dot instead.
const (
	openAPIProtobuf       = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
	openAPIProtobufAnswer = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
)

// serveOpenAPI answers below /openapi. The documents are stubs: every kind is an object
// with any fields, and the operations state no more than the parameters that clients look
// for before they use server-side dry run and field validation.
func (s *Server) serveOpenAPI(w *response, r *http.Request, parts []string) error {
	if r.Method != http.MethodGet {
		return errMethod()
	}
	switch {
	case len(parts) == 1 && parts[0] == "v2":
		if accepts(r, openAPIProtobuf) {
			return w.bytes(http.StatusOK, openAPIProtobufAnswer, openAPIv2Protobuf())
		}
		return w.json(http.StatusOK, map[string]any{
			"swagger": "2.0", "info": openAPIInfo(), "paths": map[string]any{}, "definitions": map[string]any{},
		})
	case len(parts) == 1 && parts[0] == "v3":
		return w.json(http.StatusOK, s.openAPIIndex())
	case len(parts) == 3 && parts[0] == "v3" && parts[1] == "api":
		return s.openAPIVersion(w, schema.GroupVersion{Version: parts[2]})
	case len(parts) == 4 && parts[0] == "v3" && parts[1] == "apis":
		return s.openAPIVersion(w, schema.GroupVersion{Group: parts[2], Version: parts[3]})
	}
	return errNoPath
}

func accepts(r *http.Request, want string) bool {
	for _, header := range r.Header.Values("Accept") {
		for option := range strings.SplitSeq(header, ",") {
			kind, _, err := mime.ParseMediaType(option)
			// Not every media type of OpenAPI parses: it has an @ in it.
			if err == nil && kind == want || err != nil && strings.TrimSpace(option) == want {
				return true
			}
		}
	}
	return false
}

func openAPIInfo() map[string]string {
	return map[string]string{"title": "Kubernetes", "version": servedVersion}
}

// openAPIv2Protobuf is the same stub as an openapi.v2.Document: 1 is swagger, 2 the
// info with its title and version, 8 the paths.
func openAPIv2Protobuf() []byte {
	info := appendBytes(appendBytes(nil, 1, []byte("Kubernetes")), 2, []byte(servedVersion))
	b := appendBytes(appendBytes(nil, 1, []byte("2.0")), 2, info)
	return appendBytes(b, 8, nil)
}

func gvPath(gv schema.GroupVersion) string {
	if gv.Group == "" {
		return "api/" + gv.Version
	}
	return "apis/" + gv.Group + "/" + gv.Version
}

func (s *Server) openAPIIndex() any {
	paths := map[string]map[string]string{}
	for _, r := range s.registered() {
		p := gvPath(r.groupVersion())
		paths[p] = map[string]string{"serverRelativeURL": "/openapi/v3/" + p}
	}
	return map[string]any{"paths": paths}
}

func (s *Server) openAPIVersion(w *response, gv schema.GroupVersion) error {
	paths, schemas := map[string]any{}, map[string]any{}
	for _, r := range s.registered() {
		if r.groupVersion() != gv {
			continue
		}
		kind := metav1.GroupVersionKind{Group: r.Group, Version: r.Version, Kind: r.Kind}
		collection := "/" + gvPath(gv) + "/"
		if !r.ClusterScoped {
			collection += "namespaces/{namespace}/"
		}
		collection += r.Name
		paths[collection] = map[string]any{"get": operation("list", kind), "post": operation("post", kind)}
		paths[collection+"/{name}"] = map[string]any{
			"get": operation("get", kind), "put": operation("put", kind), "patch": operation("patch", kind), "delete": operation("delete", kind),
		}
		schemas[fmt.Sprintf("%s.%s.%s", r.Group, r.Version, r.Kind)] = map[string]any{
			"type": "object", "x-kubernetes-preserve-unknown-fields": true, "x-kubernetes-group-version-kind": []any{kind},
		}
	}
	if len(paths) == 0 {
		return errNoPath
	}
	return w.json(http.StatusOK, map[string]any{
		"openapi": "3.0.0", "info": openAPIInfo(), "paths": paths, "components": map[string]any{"schemas": schemas},
	})
}

func operation(action string, kind metav1.GroupVersionKind) any {
	op := map[string]any{
		"x-kubernetes-action":             action,
		"x-kubernetes-group-version-kind": kind,
		"responses":                       map[string]any{"200": map[string]any{"description": "OK"}},
	}
	if action == "post" || action == "put" || action == "patch" {
		op["parameters"] = []any{queryParameter("dryRun"), queryParameter("fieldManager"), queryParameter("fieldValidation")}
	}
	return op
}

func queryParameter(name string) any {
	return map[string]any{"name": name, "in": "query", "schema": map[string]any{"type": "string", "uniqueItems": true}}
}
