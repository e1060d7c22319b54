package apiserver

import (
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"

	"github.com/kinform/kinform/fake"
)

// versions tells the API server's own code in which versions a write can be seen. The embedded
// value has the methods that checks do not call, such as GetObjectDefaulter.
type versions struct {
	admission.ObjectInterfaces
	write *fake.Admission
}

func versionsOf(a *fake.Admission) versions {
	return versions{admission.NewObjectInterfacesFromScheme(runtime.NewScheme()), a}
}

// GetEquivalentResourceMapper implements admission.ObjectInterfaces.
func (v versions) GetEquivalentResourceMapper() runtime.EquivalentResourceMapper { return v }

// EquivalentResourcesFor implements runtime.EquivalentResourceMapper.
func (v versions) EquivalentResourcesFor(schema.GroupVersionResource, string) []schema.GroupVersionResource {
	return v.write.Versions()
}

// KindFor implements runtime.EquivalentResourceMapper.
func (v versions) KindFor(resource schema.GroupVersionResource, _ string) schema.GroupVersionKind {
	if a, err := v.write.In(resource); err == nil {
		return a.Kind
	}
	return schema.GroupVersionKind{}
}

// GetObjectCreater implements admission.ObjectInterfaces.
func (v versions) GetObjectCreater() runtime.ObjectCreater { return creater{v.write} }

// GetObjectConvertor implements admission.ObjectInterfaces.
func (v versions) GetObjectConvertor() runtime.ObjectConvertor {
	return convertor{v.ObjectInterfaces.GetObjectConvertor(), v.write}
}

// in returns the write in the version of a kind.
func in(a *fake.Admission, kind schema.GroupVersionKind) (*fake.Admission, error) {
	for _, version := range a.Versions() {
		if version.GroupVersion() == kind.GroupVersion() {
			return a.In(version)
		}
	}
	return nil, runtime.NewNotRegisteredErrForKind("fake", kind)
}

type creater struct{ write *fake.Admission }

// New implements runtime.ObjectCreater.
func (c creater) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	a, err := in(c.write, kind)
	if err != nil {
		return nil, err
	}
	sample := a.Object
	if sample == nil {
		sample = a.Old
	}
	out, ok := reflect.New(reflect.TypeOf(sample).Elem()).Interface().(runtime.Object)
	if !ok {
		return nil, fmt.Errorf("a %T is no runtime.Object", sample)
	}
	out.GetObjectKind().SetGroupVersionKind(kind)
	return out, nil
}

type convertor struct {
	runtime.ObjectConvertor
	write *fake.Admission
}

// Convert implements runtime.ObjectConvertor for the two objects of the write. It knows the old one
// by its pointer: the objects of package fake state their kind, so stated has made no copy.
func (c convertor) Convert(obj, out, _ any) error {
	a, err := in(c.write, out.(runtime.Object).GetObjectKind().GroupVersionKind())
	if err != nil {
		return err
	}
	to := a.Object
	if c.write.Old != nil && obj == any(c.write.Old) {
		to = a.Old
	}
	reflect.ValueOf(out).Elem().Set(reflect.ValueOf(to).Elem())
	return nil
}

// versionNamed returns the write in the version that one of the matching rules names: its own, if
// one does, or else, if equivalent says so, another one. It returns nil for none.
func versionNamed(a *fake.Admission, equivalent bool, matches func(schema.GroupVersionResource) bool) (*fake.Admission, error) {
	if matches(a.Resource) {
		return a, nil
	}
	if !equivalent {
		return nil, nil
	}
	i := slices.IndexFunc(a.Versions(), matches)
	if i < 0 {
		return nil, nil
	}
	return a.In(a.Versions()[i])
}
