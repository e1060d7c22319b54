package fake

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kinform/kinform/fake/internal/refusal"
)

// newObject returns an empty object.
func newObject[T metav1.Object]() T { return reflect.New(reflect.TypeFor[T]().Elem()).Interface().(T) }

// isNil reports whether obj is a nil pointer.
func isNil[T metav1.Object](obj T) bool {
	v := reflect.ValueOf(obj)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}

// kindOf returns the kind that obj itself states, empty if it states none.
func kindOf(obj any) schema.GroupVersionKind {
	if k, ok := obj.(interface{ GetObjectKind() schema.ObjectKind }); ok {
		return k.GetObjectKind().GroupVersionKind()
	}
	return schema.GroupVersionKind{}
}

// encode returns obj as JSON that states its kind, even if T has no field for it.
func encode[T metav1.Object](obj T, r *resource) (b []byte, err error) {
	defer refusal.Recover(&err)
	b, err = json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	b = bytes.TrimSpace(b)
	if _, ok := any(obj).(interface{ GetObjectKind() schema.ObjectKind }); ok {
		return b, nil
	}
	head := fmt.Appendf(nil, `{"kind":%q,"apiVersion":%q`, r.Kind, r.groupVersion())
	if len(b) > 2 {
		head = append(head, ',')
	}
	return append(head, bytes.TrimPrefix(b, []byte("{"))...), nil
}

// clone returns a deep copy of obj. It fails if obj holds a value that JSON cannot: the deep
// copy of an unstructured object panics on an int, for example.
func clone[T metav1.Object](obj T) (c T, err error) {
	defer refusal.Recover(&err)
	if o, ok := any(obj).(runtime.Object); ok {
		c, ok := o.DeepCopyObject().(T)
		if !ok {
			return c, fmt.Errorf("%w: DeepCopyObject of %T returns another type", ErrType, obj)
		}
		return c, nil
	}
	b, err := json.Marshal(obj)
	if err != nil {
		return c, err
	}
	c = newObject[T]()
	return c, utiljson.Unmarshal(b, c)
}

// same compares two objects as the API server does before a write, where empty and absent
// lists are one. Types that the semantic comparison cannot read are compared exactly.
func same(a, b any) (equal bool) {
	defer func() {
		if recover() != nil {
			equal = reflect.DeepEqual(a, b)
		}
	}()
	return equality.Semantic.DeepEqual(a, b)
}
