package fieldmanager

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
)

// Versions are all versions of a resource, in which managers own fields. The zero value stands for
// one version. As in the API server, a manager that wrote in another group loses its fields.
type Versions struct {
	Kinds []schema.GroupVersionKind
	// Manager returns the manager of one of Kinds.
	Manager func(schema.GroupVersionKind) (*Manager, error)
	// Convert returns an object in another of Kinds. It may change u.
	Convert func(u *unstructured.Unstructured, to schema.GroupVersionKind) (*unstructured.Unstructured, error)
	// Custom says that the resource is a custom one. A manager of a version that a custom resource
	// no longer has keeps its fields, and makes applies fail; that of another resource loses them.
	Custom bool
	// Empty is an object without values. Nobody owns the members that it has.
	Empty map[string]any
}

// typesFor returns the converter for an object, which may be of another version.
func (m *Manager) typesFor(o runtime.Object) (managedfields.TypeConverter, error) {
	if o == nil {
		return m.types, nil
	}
	kind := o.GetObjectKind().GroupVersionKind()
	if kind == m.kind || !slices.Contains(m.versions.Kinds, kind) {
		return m.types, nil
	}
	other, err := m.versions.Manager(kind)
	if err != nil {
		return nil, err
	}
	return other.types, nil
}

// converter converts the objects of a manager's resource between its versions. It sets no defaults.
type converter struct{ *Manager }

// ConvertToVersion implements runtime.ObjectConvertor.
func (c converter) ConvertToVersion(in runtime.Object, to runtime.GroupVersioner) (runtime.Object, error) {
	u, ok := in.(*unstructured.Unstructured)
	if !ok {
		return nil, runtime.NewNotRegisteredErrForTarget("fake", nil, to)
	}
	from := u.GroupVersionKind()
	if from == (schema.GroupVersionKind{}) {
		from = c.kind
	}
	want, ok := to.KindForGroupVersionKinds([]schema.GroupVersionKind{from})
	switch {
	case c.versions.Custom && ok && !c.knows(want):
		return nil, fmt.Errorf("request to convert CR to an invalid group/version: %s", want.GroupVersion())
	case !ok || !c.knows(want):
		return nil, runtime.NewNotRegisteredErrForTarget("fake", nil, to)
	case want == from:
		return in, nil
	}
	own := u.DeepCopy()
	own.SetGroupVersionKind(from)
	return c.versions.Convert(own, want)
}

func (c converter) knows(kind schema.GroupVersionKind) bool {
	return kind == c.kind || slices.Contains(c.versions.Kinds, kind)
}

// Convert implements runtime.ObjectConvertor.
func (c converter) Convert(_, _, _ any) error {
	return runtime.NewNotRegisteredErrForKind("fake", c.kind)
}

// ConvertFieldLabel implements runtime.ObjectConvertor.
func (converter) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}

// Default implements runtime.ObjectDefaulter.
func (converter) Default(runtime.Object) {}

// New implements runtime.ObjectCreater.
func (c converter) New(schema.GroupVersionKind) (runtime.Object, error) {
	if len(c.versions.Empty) == 0 {
		return &unstructured.Unstructured{Object: map[string]any{}}, nil
	}
	return &unstructured.Unstructured{Object: runtime.DeepCopyJSON(c.versions.Empty)}, nil
}
