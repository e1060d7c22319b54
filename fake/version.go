package fake

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// version is one state of one object. It never changes once a table holds it, so it is
// shared without a lock by the table, the history and every reader.
type version[T metav1.Object] struct {
	key types.NamespacedName
	rv  uint64
	obj T
	// encoded is obj as JSON, made when HTTP first asks for it.
	encoded atomic.Pointer[[]byte]
}

// json returns the object's JSON, which nobody may change. Concurrent first calls may
// encode twice.
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

// clone returns a deep copy of obj. It fails where obj holds what JSON cannot: deep
// copies of unstructured objects panic on, say, an int.
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
