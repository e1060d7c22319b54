package fakecrd

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	definitions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// This file has the warnings of an API server, in its words.

// deprecation is the warning of a version, empty if it is not deprecated.
func deprecation(d *definition, v apiextensionsv1.CustomResourceDefinitionVersion) string {
	switch {
	case !v.Deprecated:
		return ""
	case v.DeprecationWarning != nil:
		return *v.DeprecationWarning
	}
	newest := v.Name
	for _, other := range d.Spec.Versions {
		if other.Served && !other.Deprecated && version.CompareKubeAwareVersionStrings(newest, other.Name) < 0 {
			newest = other.Name
		}
	}
	text := fmt.Sprintf("%s/%s %s is deprecated", d.Spec.Group, v.Name, d.Spec.Names.Kind)
	if newest != v.Name {
		text += fmt.Sprintf("; use %s/%s %s", d.Spec.Group, newest, d.Spec.Names.Kind)
	}
	return text
}

// warnOfFinalizers returns warnings of new finalizers whose names somebody else may use.
func warnOfFinalizers(o, old *object) (texts []string) {
	all := o.GetFinalizers()
	slices.Sort(all)
	for _, name := range slices.Compact(all) {
		if old != nil && slices.Contains(old.GetFinalizers(), name) {
			continue
		}
		warn := func(text string) { texts = append(texts, fmt.Sprintf("metadata.finalizers: %q: %s", name, text)) }
		switch {
		case strings.Contains(name, "/"), name == metav1.FinalizerOrphanDependents, name == metav1.FinalizerDeleteDependents, name == "kubernetes":
		case strings.Contains(name, "."):
			warn("prefer a domain-qualified finalizer name including a path (/) to avoid accidental conflicts with other finalizer writers")
		default:
			warn("prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers")
		}
	}
	return texts
}

// warnOfSchemas returns warnings of what is new in the schemas of a definition.
func warnOfSchemas(d, old *definition) []string {
	texts := oddities(d)
	if old == nil {
		return texts
	}
	before := oddities(old)
	return slices.DeleteFunc(texts, func(text string) bool { return slices.Contains(before, text) })
}

// oddities are texts about formats that nobody checks, and about sets whose elements are no scalars.
func oddities(d *definition) []string {
	in, err := internal(d)
	if err != nil {
		return nil // it was refused
	}
	schemas := []*apiextensions.CustomResourceValidation{in.Spec.Validation} // of all versions, if they have the same
	for _, v := range in.Spec.Versions {
		schemas = append(schemas, v.Schema)
	}
	var formats, sets []string
	for _, schema := range schemas {
		if schema == nil {
			continue
		}
		definitions.SchemaHas(schema.OpenAPIV3Schema, func(s *apiextensions.JSONSchemaProps) bool {
			of := &spec.Schema{SchemaProps: spec.SchemaProps{Format: s.Format, Type: []string{s.Type}}}
			for _, format := range validation.GetUnrecognizedFormats(of, environment.DefaultCompatibilityVersion()) {
				formats = append(formats, fmt.Sprintf("unrecognized format %q", format))
			}
			if s.XListType != nil && *s.XListType == "set" && s.Items != nil && s.Items.Schema != nil {
				if of := s.Items.Schema.Type; of == "object" || of == "array" {
					sets = append(sets, fmt.Sprintf("x-kubernetes-list-type: set for items of type %q is not supported by server-side apply or CEL validation rules", of))
				}
			}
			return false // look further
		})
	}
	slices.Sort(formats) // members come in any order
	slices.Sort(sets)
	return append(formats, sets...)
}
