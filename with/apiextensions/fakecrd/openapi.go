package fakecrd

import (
	"encoding/json"
	"strings"

	generated "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

const refPrefix = "#/components/schemas/"

// openAPI returns the schema as documents below /openapi have it, and what a server-side apply makes of
// it.
func (s *objectSchema) openAPI(kind schema.GroupVersionKind) (map[string]any, managedfields.TypeConverter, error) {
	doc := s.structural.ToKubeOpenAPI()
	typeMeta(doc)
	b, err := json.Marshal(doc)
	if err != nil {
		return nil, nil, err
	}
	var plain map[string]any
	if err := json.Unmarshal(b, &plain); err != nil {
		return nil, nil, err
	}
	models := metadataModels()
	doc.Properties["metadata"] = *spec.RefSchema(refPrefix + metav1.ObjectMeta{}.OpenAPIModelName())
	doc.AddExtension("x-kubernetes-group-version-kind", []any{
		map[string]any{"group": kind.Group, "version": kind.Version, "kind": kind.Kind},
	})
	models[strings.Join([]string{kind.Group, kind.Version, kind.Kind}, ".")] = doc
	types, err := managedfields.NewTypeConverter(models, false)
	return plain, types, err
}

// typeMeta adds the fields that every object has.
func typeMeta(doc *spec.Schema) {
	if doc.Properties == nil {
		doc.Properties = map[string]spec.Schema{}
	}
	doc.Properties["apiVersion"] = *spec.StringProperty().WithDescription("The group and the version of the schema of this object.")
	doc.Properties["kind"] = *spec.StringProperty().WithDescription("The kind of this object, in CamelCase.")
	meta := spec.Schema{}
	doc.Properties["metadata"] = *meta.Typed("object", "").WithDescription("Standard metadata of an object.")
}

// metadataModels returns the schemas of ObjectMeta and of the types that it refers to.
func metadataModels() map[string]*spec.Schema {
	all := generated.GetOpenAPIDefinitions(func(name string) spec.Ref { return spec.MustCreateRef(refPrefix + name) })
	out := map[string]*spec.Schema{}
	var add func(name string)
	add = func(name string) {
		if out[name] != nil {
			return
		}
		model := all[name]
		out[name] = &model.Schema
		for _, dependency := range model.Dependencies {
			add(dependency)
		}
	}
	add(metav1.ObjectMeta{}.OpenAPIModelName())
	return out
}
