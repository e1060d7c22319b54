package fakecrd

import (
	"encoding/json"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	generated "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/builder3/util"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

const refPrefix = "#/components/schemas/"

// models returns the schema of a kind and those that it refers to.
func (s *objectSchema) models() map[string]*spec.Schema {
	models := generatedModels(metav1.ObjectMeta{}.OpenAPIModelName())
	doc := s.structural.ToKubeOpenAPI()
	typeMeta(doc)
	addKind(doc, s.kind)
	group := strings.Split(s.kind.Group, ".")
	slices.Reverse(group)
	models[strings.Join(append(group, s.kind.Version, s.kind.Kind), ".")] = doc
	return models
}

// converter returns the schema as a server-side apply needs it.
func (s *objectSchema) converter() (managedfields.TypeConverter, error) {
	return managedfields.NewTypeConverter(s.models(), false)
}

// openAPI returns the models as documents below /openapi have it.
func (s *objectSchema) openAPI() map[string]any { return plain(s.models()) }

// definitionOpenAPI is openAPI for CustomResourceDefinitions themselves.
func definitionOpenAPI() map[string]any {
	name := apiextensionsv1.CustomResourceDefinition{}.OpenAPIModelName()
	models := generatedModels(name)
	addKind(models[name], apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	return plain(models)
}

// plain turns schemas into JSON's types. They are of types that encode themselves, and always can.
func plain(models map[string]*spec.Schema) map[string]any {
	out := map[string]any{}
	for name, model := range models {
		b, err := json.Marshal(util.WrapRefs(model)) // version 3 has nothing beside a $ref
		if err != nil {
			continue
		}
		var doc map[string]any
		if err := json.Unmarshal(b, &doc); err == nil {
			out[name] = doc
		}
	}
	return out
}

func addKind(doc *spec.Schema, kind schema.GroupVersionKind) {
	doc.AddExtension("x-kubernetes-group-version-kind", []any{
		map[string]any{"group": kind.Group, "version": kind.Version, "kind": kind.Kind},
	})
}

// typeMeta adds the fields that every object has.
func typeMeta(doc *spec.Schema) {
	if doc.Properties == nil {
		doc.Properties = map[string]spec.Schema{}
	}
	for field, text := range (metav1.TypeMeta{}).SwaggerDoc() {
		if field != "" {
			doc.Properties[field] = *spec.StringProperty().WithDescription(text)
		}
	}
	meta := spec.RefSchema(refPrefix + metav1.ObjectMeta{}.OpenAPIModelName())
	doc.Properties["metadata"] = *meta.WithDescription(metav1.PartialObjectMetadata{}.SwaggerDoc()["metadata"])
}

// generatedModels returns a generated schema and those that it refers to.
func generatedModels(root string) map[string]*spec.Schema {
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
	add(root)
	return out
}
