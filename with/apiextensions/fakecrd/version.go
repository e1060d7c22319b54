package fakecrd

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/conversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/internal/typeconverter"
	"github.com/kinform/kinform/kind"
)

type object = unstructured.Unstructured

// definitionsOf returns the versions of d, the storage version first. stored is called after each
// write of an object.
func definitionsOf(d *definition, converters *conversion.CRConverterFactory, stored func()) ([]fake.Definition[*object], error) {
	convert, err := converterOf(d, converters)
	if err != nil {
		return nil, err
	}
	versions := slices.Clone(d.Spec.Versions)
	slices.SortStableFunc(versions, func(a, b apiextensionsv1.CustomResourceDefinitionVersion) int {
		switch {
		case a.Storage:
			return -1
		case b.Storage:
			return 1
		}
		return version.CompareKubeAwareVersionStrings(b.Name, a.Name)
	})
	var out []fake.Definition[*object]
	for _, v := range versions {
		one, err := definitionOf(d, v)
		if err != nil {
			return nil, fmt.Errorf("version %s: %w", v.Name, err)
		}
		one.Hooks.Stored = stored
		one.Hooks.Convert = func(o metav1.Object) (*object, error) {
			return convert(o.(*object), one.Kind.GroupVersionKind.GroupVersion())
		}
		out = append(out, one)
	}
	return out, nil
}

// converterOf returns the API server's converter of d's objects, which may call a webhook. It refuses
// an object that was stored in a version that d no longer has.
func converterOf(d *definition, converters *conversion.CRConverterFactory) (func(*object, schema.GroupVersion) (*object, error), error) {
	converter, _, err := converters.NewConverter(d.DeepCopy())
	if err != nil {
		return nil, err
	}
	return func(o *object, to schema.GroupVersion) (*object, error) {
		out, err := converter.ConvertToVersion(o, to)
		if err != nil {
			return nil, err
		}
		return out.(*object), nil
	}, nil
}

// definitionOf returns one version of d.
func definitionOf(d *definition, v apiextensionsv1.CustomResourceDefinitionVersion) (fake.Definition[*object], error) {
	names := d.Status.AcceptedNames
	k := kind.Of[*object](schema.GroupVersion{Group: d.Spec.Group, Version: v.Name}, names.Plural).Named(names.Kind).
		WithShortNames(names.ShortNames...).WithCategories(names.Categories...)
	if d.Spec.Scope == apiextensionsv1.ClusterScoped {
		k = k.Cluster()
	}
	sub := apiextensions.CustomResourceSubresources{}
	if v.Subresources != nil {
		if err := apiextensionsv1.Convert_v1_CustomResourceSubresources_To_apiextensions_CustomResourceSubresources(v.Subresources, &sub, nil); err != nil {
			return fake.Definition[*object]{}, err
		}
	}
	if sub.Status != nil {
		k = k.WithSubresources("status")
	}
	given, err := apihelpers.GetSchemaForVersion(d, v.Name)
	if err != nil {
		return fake.Definition[*object]{}, err
	}
	s, err := newSchema(k.GroupVersionKind, given, sub.Scale)
	if err != nil {
		return fake.Definition[*object]{}, err
	}
	rules := fake.Rules{
		ListKind: names.ListKind, Singular: names.Singular, Custom: true, OpenAPI: s.openAPI, Deprecation: deprecation(d, v),
		TypeConverter: typeconverter.Lazy(s.converter),
	}
	hooks := fake.Hooks[*object]{
		Prune: s.prune, Default: s.setDefaults, Validate: s.validate, ValidateStatus: s.validateStatus, Warn: warnOfFinalizers, Fields: fieldsOf(v.SelectableFields),
	}
	if hooks.Printer, err = printerOf(v.AdditionalPrinterColumns); err != nil {
		return fake.Definition[*object]{}, err
	}
	if v.Subresources != nil && v.Subresources.Scale != nil {
		hooks.Subresources = map[string]fake.SubresourceHook[*object]{"scale": scaleOf(v.Subresources.Scale)}
	}
	return fake.Definition[*object]{Kind: k, Rules: rules, Hooks: hooks, Hidden: !v.Served}, nil
}

// fieldsOf returns the fields by which objects can be selected. Their paths lead through no list.
func fieldsOf(selectable []apiextensionsv1.SelectableField) map[string]func(*object) string {
	if len(selectable) == 0 {
		return nil
	}
	out := map[string]func(*object) string{}
	for _, f := range selectable {
		name := strings.TrimPrefix(f.JSONPath, ".")
		path := strings.Split(name, ".")
		out[name] = func(o *object) string {
			if v, ok, err := unstructured.NestedFieldNoCopy(o.Object, path...); ok && err == nil && v != nil {
				return fmt.Sprint(v)
			}
			return ""
		}
	}
	return out
}
