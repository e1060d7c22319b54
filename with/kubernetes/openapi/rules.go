package openapi

import (
	"encoding/json"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/internal/typeconverter"
	"github.com/kinform/kinform/kind"
)

// Rules returns rules with the schema of a kind: its OpenAPI and its TypeConverter. All other
// fields are zero; set what you need. Schemas have the names of their Go types, so no two kinds of
// a server may have one T and such rules. The first apply makes the converter, which the rules
// keep.
func Rules[T metav1.Object](k *kind.Kind[T]) fake.Rules {
	if k == nil {
		return fake.Rules{} // Register refuses nil
	}
	d := description{kind: k.GroupVersionKind, typ: reflect.TypeFor[T]()}
	return fake.Rules{OpenAPI: d.schemas, TypeConverter: typeconverter.Lazy(d.converter)}
}

// description is what a server knows about a kind. Its methods can be called concurrently.
type description struct {
	kind schema.GroupVersionKind
	typ  reflect.Type
}

// schemas returns the schema of the kind and those that it refers to, by name.
func (d description) schemas() map[string]any {
	b := builder{}
	root := b.ref(d.typ)
	if name := nameOf(indirect(d.typ)); root["$ref"] != nil {
		b[name].(map[string]any)["x-kubernetes-group-version-kind"] = []any{
			map[string]any{"group": d.kind.Group, "version": d.kind.Version, "kind": d.kind.Kind},
		}
	}
	return b
}

func (d description) converter() (managedfields.TypeConverter, error) {
	all := d.schemas()
	dropTexts(all)
	text, err := json.Marshal(all)
	if err != nil {
		return nil, err
	}
	var models map[string]*spec.Schema
	if err := json.Unmarshal(text, &models); err != nil {
		return nil, err
	}
	return managedfields.NewTypeConverter(models, false)
}

// dropTexts drops the descriptions, which are most of a schema.
func dropTexts(schema map[string]any) {
	if _, ok := schema["description"].(string); ok { // not a field of that name
		delete(schema, "description")
	}
	for _, v := range schema {
		if inner, ok := v.(map[string]any); ok {
			dropTexts(inner)
		}
	}
}
