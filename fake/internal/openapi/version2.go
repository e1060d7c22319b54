package openapi

import (
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/kinform/kinform/fake/internal/discovery"
	"github.com/kinform/kinform/fake/internal/wire"
)

// definitions returns the known schemas in the form of version 2. Clients have their own rules for
// kinds that are not there.
func (s Schemas) definitions() map[string]any {
	schemas := map[string]any{}
	for _, one := range s {
		maps.Copy(schemas, one.All())
	}
	for name, one := range schemas {
		schemas[name] = version2(one, true)
	}
	return schemas
}

// version2 returns a schema, or a list of schemas, in the form of version 2, which has no defaults,
// no alternatives and no null. root says that it is no part of another one: those with alternatives
// are strings.
func version2(v any, root bool) any {
	s, ok := v.(map[string]any)
	if !ok {
		return v
	}
	out := map[string]any{}
	for field, v := range s {
		switch field {
		case "default", "anyOf", "not", "nullable":
		case "type":
			if s["nullable"] != true {
				out[field] = v
			}
		case "oneOf":
			if root {
				out["type"] = "string"
			}
		case "$ref":
			out[field] = strings.Replace(v.(string), "#/components/schemas/", "#/definitions/", 1)
		case "allOf":
			if all := v.([]any); len(all) == 1 {
				maps.Copy(out, version2(all[0], false).(map[string]any))
			}
		case "items", "additionalProperties":
			out[field] = version2(v, false)
		case "properties":
			properties := map[string]any{}
			for name, p := range v.(map[string]any) {
				properties[name] = version2(p, false)
			}
			out[field] = properties
		default:
			out[field] = v
		}
	}
	return out
}

// version2Protobuf is the document as an openapi.v2.Document: field 1 is swagger, 2 the info with
// its title and version, 8 the paths, 9 the definitions.
func version2Protobuf(definitions map[string]any) []byte {
	info := wire.AppendBytes(wire.AppendBytes(nil, 1, []byte("Kubernetes")), 2, []byte(discovery.Version))
	b := wire.AppendBytes(wire.AppendBytes(nil, 1, []byte("2.0")), 2, info)
	return wire.AppendBytes(wire.AppendBytes(b, 8, nil), 9, named(definitions))
}

// named is a message with schemas by name in its field 1.
func named(schemas map[string]any) (b []byte) {
	for _, name := range slices.Sorted(maps.Keys(schemas)) {
		pair := wire.AppendBytes(nil, 1, []byte(name))
		b = wire.AppendBytes(b, 1, wire.AppendBytes(pair, 2, protobuf(schemas[name])))
	}
	return b
}

// protobuf is a schema as an openapi.v2.Schema, with the fields that tell what an object may have.
// A value that is not a schema becomes an empty one.
func protobuf(v any) (b []byte) {
	s, _ := v.(map[string]any)
	for _, field := range slices.Sorted(maps.Keys(s)) {
		switch v := s[field]; {
		case field == "$ref":
			b = wire.AppendBytes(b, 1, []byte(v.(string)))
		case field == "format":
			b = wire.AppendBytes(b, 2, []byte(v.(string)))
		case field == "description":
			b = wire.AppendBytes(b, 4, []byte(v.(string)))
		case field == "required":
			for _, name := range v.([]any) {
				b = wire.AppendBytes(b, 19, []byte(name.(string)))
			}
		case field == "enum":
			for _, one := range v.([]any) {
				b = wire.AppendBytes(b, 20, anyMessage(one))
			}
		case field == "additionalProperties":
			b = wire.AppendBytes(b, 21, wire.AppendBytes(nil, 1, protobuf(v)))
		case field == "type":
			b = wire.AppendBytes(b, 22, wire.AppendBytes(nil, 1, []byte(v.(string))))
		case field == "items":
			b = wire.AppendBytes(b, 23, wire.AppendBytes(nil, 1, protobuf(v)))
		case field == "properties":
			b = wire.AppendBytes(b, 25, named(v.(map[string]any)))
		case strings.HasPrefix(field, "x-"):
			pair := wire.AppendBytes(nil, 1, []byte(field))
			b = wire.AppendBytes(b, 31, wire.AppendBytes(pair, 2, anyMessage(v)))
		}
	}
	return b
}

// anyMessage is a value as an openapi.v2.Any, whose field 2 is its YAML.
func anyMessage(v any) []byte {
	text, err := yaml.Marshal(v)
	if err != nil { // not of a value that was JSON
		text = []byte("null")
	}
	return wire.AppendBytes(nil, 2, text)
}
