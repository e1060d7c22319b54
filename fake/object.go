package fake

import (
	"encoding/json"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kinform/kinform/fake/internal/refusal"
)

// newObject returns an empty object of a type, which is a struct.
func newObject(typ reflect.Type) metav1.Object { return reflect.New(typ).Interface().(metav1.Object) }

// typed returns obj as the T that it is, nil for nil.
func typed[T metav1.Object](obj metav1.Object) T {
	t, _ := obj.(T)
	return t
}

// kindOf returns the kind that obj itself states, empty if it states none.
func kindOf(obj any) schema.GroupVersionKind {
	if k, ok := obj.(interface{ GetObjectKind() schema.ObjectKind }); ok {
		return k.GetObjectKind().GroupVersionKind()
	}
	return schema.GroupVersionKind{}
}

// keyFrom returns the key that obj states.
func keyFrom(obj metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

// clone returns a deep copy of obj. It fails if obj holds a value that JSON cannot: the deep
// copy of an unstructured object panics on an int, for example.
func clone(obj metav1.Object) (c metav1.Object, err error) {
	defer refusal.Recover(&err)
	if o, ok := obj.(runtime.Object); ok {
		c, ok := o.DeepCopyObject().(metav1.Object)
		if !ok || reflect.TypeOf(c) != reflect.TypeOf(obj) {
			return nil, fmt.Errorf("fake: %w: DeepCopyObject of %T returns another type", errType, obj)
		}
		return c, nil
	}
	b, err := json.Marshal(obj)
	if err != nil {
		return c, err
	}
	c = newObject(reflect.TypeOf(obj).Elem())
	return c, utiljson.Unmarshal(b, c)
}

// unchanged compares two objects as the API server does before a write: as they are stored. Unlike
// in a Go type, absent and empty members of an unstructured object differ.
func unchanged(a, b metav1.Object) bool {
	if u, ok := a.(*unstructured.Unstructured); ok {
		return equality.Semantic.DeepEqualWithNilDifferentFromEmpty(u.Object, b.(*unstructured.Unstructured).Object)
	}
	return same(a, b)
}

// same compares two values as the API server does, where empty and absent lists are one. Types that the
// semantic comparison cannot read are compared exactly.
func same(a, b any) (equal bool) {
	defer func() {
		if recover() != nil {
			equal = reflect.DeepEqual(a, b)
		}
	}()
	return semantic.DeepEqual(a, b)
}

// semantic is the semantic comparison, with times as they are stored.
var semantic = func() conversion.Equalities {
	e := equality.Semantic.Copy()
	if err := e.AddFuncs(
		func(a, b metav1.Time) bool { return a.Unix() == b.Unix() },
		func(a, b metav1.MicroTime) bool { return a.UnixMicro() == b.UnixMicro() },
	); err != nil {
		panic(err) // they are comparisons
	}
	return e
}()
