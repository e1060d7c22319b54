package fakecrd

import (
	"encoding/json"
	"strings"

	generated "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

const refPrefix = "#/components/schemas/"

// openAPI returns the schema as documents below /openapi have it.
func (s *objectSchema) openAPI() (map[string]any, error) {
	b, err := json.Marshal(s.document())
	if err != nil {
		return nil, err
	}
	var plain map[string]any
	return plain, json.Unmarshal(b, &plain)
}

func (s *objectSchema) document() *spec.Schema {
	doc := s.structural.ToKubeOpenAPI()
	typeMeta(doc)
	return doc
}

// converter returns what a server-side apply makes of the schema.
func (s *objectSchema) converter(kind schema.GroupVersionKind) (managedfields.TypeConverter, error) {
	doc, models := s.document(), metadataModels()
	doc.Properties["metadata"] = *spec.RefSchema(refPrefix + metav1.ObjectMeta{}.OpenAPIModelName())
	doc.AddExtension("x-kubernetes-group-version-kind", []any{
		map[string]any{"group": kind.Group, "version": kind.Version, "kind": kind.Kind},
	})
	models[strings.Join([]string{kind.Group, kind.Version, kind.Kind}, ".")] = doc
	return managedfields.NewTypeConverter(models, false)
}

// lazyTypes is a TypeConverter that is made when the first apply needs it: it takes more memory than all else of a
// definition.
type lazyTypes func() (managedfields.TypeConverter, error)

// ObjectToTyped implements managedfields.TypeConverter.
func (l lazyTypes) ObjectToTyped(obj runtime.Object, opts ...typed.ValidationOptions) (*typed.TypedValue, error) {
	types, err := l()
	if err != nil {
		return nil, err
	}
	return types.ObjectToTyped(obj, opts...)
}

// TypedToObject implements managedfields.TypeConverter.
func (l lazyTypes) TypedToObject(value *typed.TypedValue) (runtime.Object, error) {
	types, err := l()
	if err != nil {
		return nil, err
	}
	return types.TypedToObject(value)
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
