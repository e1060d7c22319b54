package fake

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// fieldManager returns the keeper of managedFields for the object or for its status, made
// when it is first needed.
func (t *table[T]) fieldManager(status bool) (*managedfields.FieldManager, error) {
	t.managersOnce.Do(func() {
		if !t.untyped() {
			t.schema = schemaOf(t.typ)
		}
		t.managers[0], t.managersErr = t.newFieldManager("")
		if t.managersErr == nil && t.res.Status {
			t.managers[1], t.managersErr = t.newFieldManager(statusField)
		}
	})
	if status {
		return t.managers[1], t.managersErr
	}
	return t.managers[0], t.managersErr
}

func (t *table[T]) newFieldManager(subresource string) (*managedfields.FieldManager, error) {
	kind := t.res.GroupVersionKind()
	version := oneVersion{kind}
	types := managedfields.NewDeducedTypeConverter()
	if !t.untyped() {
		types = goTypes{t.schema}
	}
	// What a request cannot write it does not come to own.
	reset := map[fieldpath.APIVersion]fieldpath.Filter{}
	switch gv := fieldpath.APIVersion(kind.GroupVersion().String()); {
	case subresource == statusField:
		reset[gv] = fieldpath.NewIncludeMatcherFilter(fieldpath.MakePrefixMatcherOrDie(statusField))
	case t.res.Status:
		reset[gv] = fieldpath.NewExcludeSetFilter(fieldpath.NewSet(fieldpath.MakePathOrDie(statusField)))
	}
	return managedfields.NewDefaultCRDFieldManager(types, version, version, version, kind, kind.GroupVersion(), subresource, reset)
}

// oneVersion converts between the versions of a resource, of which there is one, and sets
// no defaults.
type oneVersion struct{ kind schema.GroupVersionKind }

func (oneVersion) Default(runtime.Object) {}

func (oneVersion) New(schema.GroupVersionKind) (runtime.Object, error) {
	return &unstructured.Unstructured{Object: map[string]any{}}, nil
}

func (v oneVersion) ConvertToVersion(in runtime.Object, to runtime.GroupVersioner) (runtime.Object, error) {
	if _, ok := to.KindForGroupVersionKinds([]schema.GroupVersionKind{v.kind}); !ok {
		return nil, runtime.NewNotRegisteredErrForTarget("fake", nil, to)
	}
	return in, nil
}

func (v oneVersion) Convert(in, out, _ any) error {
	return runtime.NewNotRegisteredErrForKind("fake", v.kind)
}

func (oneVersion) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}

// goTypes merges by the tags of a Go type.
type goTypes struct{ typ typed.ParseableType }

// ObjectToTyped implements managedfields.TypeConverter.
func (g goTypes) ObjectToTyped(o runtime.Object, opts ...typed.ValidationOptions) (*typed.TypedValue, error) {
	u, ok := o.(*unstructured.Unstructured)
	if !ok {
		return nil, runtime.NewNotRegisteredErrForKind("fake", o.GetObjectKind().GroupVersionKind())
	}
	return g.typ.FromUnstructured(u.Object, opts...)
}

// TypedToObject implements managedfields.TypeConverter.
func (g goTypes) TypedToObject(v *typed.TypedValue) (runtime.Object, error) {
	object, ok := v.AsValue().Unstructured().(map[string]any)
	if !ok {
		return nil, runtime.NewNotRegisteredErrForKind("fake", schema.GroupVersionKind{})
	}
	return &unstructured.Unstructured{Object: object}, nil
}
