package apiserver

import (
	"fmt"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
	if kind == a.Kind {
		return a, nil
	}
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

// Convert implements runtime.ObjectConvertor for the objects of the write and for what a policy has
// made of the new one. It knows the old one by its pointer: the objects of package fake state their
// kind, so stated has made no copy.
func (c convertor) Convert(obj, out, _ any) error {
	kind := out.(runtime.Object).GetObjectKind().GroupVersionKind()
	a, err := in(c.write, kind)
	if err != nil {
		return err
	}
	to := any(a.Object)
	switch {
	case c.write.Old != nil && obj == any(c.write.Old):
		to = a.Old
	case obj != any(c.write.Object):
		if to, err = c.as(obj.(runtime.Object), kind); err != nil {
			return err
		}
	}
	reflect.ValueOf(out).Elem().Set(reflect.ValueOf(to).Elem())
	return nil
}

// ConvertToVersion implements runtime.ObjectConvertor for what a policy has made of the new object.
func (c convertor) ConvertToVersion(obj runtime.Object, to runtime.GroupVersioner) (runtime.Object, error) {
	kind := obj.GetObjectKind().GroupVersionKind()
	want, ok := to.KindForGroupVersionKinds([]schema.GroupVersionKind{kind})
	if !ok {
		return nil, runtime.NewNotRegisteredErrForTarget("fake", reflect.TypeOf(obj), to)
	}
	return c.as(obj, want)
}

// as returns a state of the new object as one of another version, of the Go type of that.
func (c convertor) as(obj runtime.Object, kind schema.GroupVersionKind) (runtime.Object, error) {
	is := obj.GetObjectKind().GroupVersionKind()
	from, err := in(c.write, is)
	if err != nil {
		return nil, err
	}
	own, err := creater{c.write}.New(is)
	if err != nil {
		return nil, err
	}
	if u, ok := obj.(*unstructured.Unstructured); ok && reflect.TypeOf(own) != reflect.TypeOf(obj) {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, own); err != nil {
			return nil, err
		}
		obj = own
	}
	if is == kind {
		return obj, nil
	}
	state := *from
	state.Object = obj.(metav1.Object)
	other, err := in(&state, kind)
	if err != nil {
		return nil, err
	}
	return other.Object.(runtime.Object), nil
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
