package fake

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// version is one state of one object. It never changes once a table holds it, so the table,
// the history and every reader share it without a lock.
type version[T metav1.Object] struct {
	key types.NamespacedName
	rv  uint64
	obj T
	// encoded is obj as JSON, made when HTTP first asks for it.
	encoded atomic.Pointer[[]byte]
}

// json returns the object's JSON, which is read-only. Concurrent first calls may encode twice.
func (v *version[T]) json(r *Resource) ([]byte, error) {
	if b := v.encoded.Load(); b != nil {
		return *b, nil
	}
	b, err := encode(v.obj, r)
	if err != nil {
		return nil, err
	}
	v.encoded.Store(&b)
	return b, nil
}

// encode returns obj as JSON that states its kind, also where T has no field for that.
func encode[T metav1.Object](obj T, r *Resource) (b []byte, err error) {
	defer recoverTo(&err)
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
func (t *table[T]) clone(obj T) (c T, err error) {
	defer recoverTo(&err)
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
	c = t.newObject()
	return c, utiljson.Unmarshal(b, c)
}

// recoverTo turns a panic of user code into an error.
func recoverTo(err *error) {
	if v := recover(); v != nil {
		*err = errPanic{v}
	}
}

func formatRV(rv uint64) string { return strconv.FormatUint(rv, 10) }

func parseRV(text string) (uint64, error) {
	if text == "" {
		return 0, nil
	}
	rv, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		bad := field.Invalid(field.NewPath("resourceVersion"), text, err.Error())
		return 0, apierrors.NewBadRequest("invalid resource version: " + bad.Error())
	}
	return rv, nil
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
