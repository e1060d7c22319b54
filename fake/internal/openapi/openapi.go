// Package openapi makes the documents below /openapi. A kind without a schema is an object with any
// fields. The operations are stubs, in version 3 alone: they state only what clients look for
// before they send a strategic merge patch, or use server-side dry run and field validation.
package openapi

import (
	"fmt"
	"maps"
	"mime"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/fake/internal/discovery"
	"github.com/kinform/kinform/fake/internal/wire"
)

// kubectl and client-go ask for version 2 by protobufType. An at sign is not valid in a media
// type, so the answer has a dot instead.
const (
	protobufType   = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
	protobufAnswer = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
)

// Schemas are the known schemas of kinds.
type Schemas map[schema.GroupVersionKind]Schema

// Schema is the schema of a kind, with the patches that its resource takes.
type Schema struct {
	// All returns the schema of the kind and those that it refers to, by name, as OpenAPI v3 has
	// them in JSON. They are read-only.
	All func() map[string]any
	// Patches are the types of patches that the resource takes.
	Patches []types.PatchType
}

// Find returns the document at path, the part of the URL's path below /openapi, split at its
// slashes; nil for none. Its Body is []byte for protobuf, and encoded as JSON otherwise. all are
// the resources, as for [discovery.Find], and schemas are the schemas of some of their kinds.
func Find(all []metav1.APIResource, schemas Schemas, r *http.Request, path []string) *discovery.Document {
	switch {
	case len(path) == 1 && path[0] == "v2" && accepts(r, protobufType):
		return &discovery.Document{ContentType: protobufAnswer, Body: version2Protobuf(schemas.definitions())}
	case len(path) == 1 && path[0] == "v2":
		return document(map[string]any{
			"swagger": "2.0", "info": info(), "paths": map[string]any{}, "definitions": schemas.definitions(),
		})
	case len(path) == 1 && path[0] == "v3":
		return document(index(all))
	case len(path) == 3 && path[0] == "v3" && path[1] == "api":
		return version3(all, schemas, schema.GroupVersion{Version: path[2]})
	case len(path) == 4 && path[0] == "v3" && path[1] == "apis":
		return version3(all, schemas, schema.GroupVersion{Group: path[2], Version: path[3]})
	}
	return nil
}

func document(body any) *discovery.Document {
	return &discovery.Document{ContentType: wire.JSON, Body: body}
}

func accepts(r *http.Request, want string) bool {
	for _, header := range r.Header.Values("Accept") {
		for option := range strings.SplitSeq(header, ",") {
			kind, _, err := mime.ParseMediaType(option)
			// A media type with an at sign does not parse.
			if err == nil && kind == want || err != nil && strings.TrimSpace(option) == want {
				return true
			}
		}
	}
	return false
}

func info() map[string]string {
	return map[string]string{"title": "Kubernetes", "version": discovery.Version}
}

func versionPath(gv schema.GroupVersion) string {
	if gv.Group == "" {
		return "api/" + gv.Version
	}
	return "apis/" + gv.Group + "/" + gv.Version
}

func index(all []metav1.APIResource) any {
	paths := map[string]map[string]string{}
	for home := range discovery.Located(all) {
		p := versionPath(home)
		paths[p] = map[string]string{"serverRelativeURL": "/openapi/v3/" + p}
	}
	return map[string]any{"paths": paths}
}

// version3 describes one version of a group; nil if it has no resources.
func version3(all []metav1.APIResource, known Schemas, gv schema.GroupVersion) *discovery.Document {
	paths, schemas := map[string]any{}, map[string]any{}
	for _, r := range all {
		if r.Group != gv.Group || r.Version != gv.Version || strings.Contains(r.Name, "/") {
			continue
		}
		kind := metav1.GroupVersionKind{Group: r.Group, Version: r.Version, Kind: r.Kind}
		collection := "/" + versionPath(gv) + "/"
		if r.Namespaced {
			collection += "namespaces/{namespace}/"
		}
		collection += r.Name
		paths[collection] = map[string]any{"get": operation("list", kind), "post": operation("post", kind)}
		patch := operation("patch", kind)
		patch["requestBody"] = map[string]any{"content": known.patches(kind)}
		paths[collection+"/{name}"] = map[string]any{
			"get": operation("get", kind), "put": operation("put", kind), "patch": patch, "delete": operation("delete", kind),
		}
		known.add(schemas, kind)
	}
	if len(paths) == 0 {
		return nil
	}
	return document(map[string]any{
		"openapi": "3.0.0", "info": info(), "paths": paths, "components": map[string]any{"schemas": schemas},
	})
}

// add adds the schema of a kind and those that it refers to. A kind that is not known is an object
// with any fields.
func (s Schemas) add(to map[string]any, kind metav1.GroupVersionKind) {
	if own, ok := s[schema.GroupVersionKind(kind)]; ok {
		maps.Copy(to, own.All())
		return
	}
	to[fmt.Sprintf("%s.%s.%s", kind.Group, kind.Version, kind.Kind)] = map[string]any{
		"type": "object", "x-kubernetes-preserve-unknown-fields": true, "x-kubernetes-group-version-kind": []any{kind},
	}
}

// patches are the media types of patches. The patches of a kind without a schema are not stated:
// clients would take them for a promise that the schema says how to merge.
func (s Schemas) patches(kind metav1.GroupVersionKind) map[string]any {
	content := map[string]any{}
	for _, p := range s[schema.GroupVersionKind(kind)].Patches {
		content[string(p)] = map[string]any{}
	}
	return content
}

func operation(action string, kind metav1.GroupVersionKind) map[string]any {
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
