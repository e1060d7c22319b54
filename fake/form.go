package fake

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/fake/internal/wire"
)

// decodeForm reads what a client has sent. The body may leave its kind out, but not state another
// one; another version of the same kind passes, but for the core group and for a Scale, which have one.
func (t *table) decodeForm(h subresourceHook, format string, body []byte) (metav1.Object, error) {
	sent := h.fresh()
	var wrong error
	err := wire.Unmarshal(format, body, sent, func(kind metav1.TypeMeta) error {
		got := kind.GroupVersionKind()
		elsewhere := got.Group != h.kind.Group || (got.Group == "" || h.scales()) && got.Version != h.kind.Version
		if kind.APIVersion != "" && elsewhere || kind.Kind != "" && kind.Kind != h.kind.Kind {
			wrong = t.server.errOtherKind(got, h.kind)
		}
		return wrong
	})
	var none wire.KindError
	var noYAML wire.YAMLError
	switch {
	case wrong != nil:
		return nil, wrong
	case errors.As(err, &noYAML):
		return nil, errUnrecognized(h.kind.Kind, noYAML, body)
	case errors.As(err, &none):
		return nil, errNoKind(h.kind.Kind, none.Err, body)
	case err != nil:
		return nil, h.badBody(err)
	}
	return sent, nil
}

// strictFaults returns the duplicate members of a form's JSON, and the unknown ones.
func (h subresourceHook) strictFaults(body []byte) ([]error, error) {
	return membersFaults(body, h.fresh())
}

// badBody is the 400 of a body that does not fit the kind of the subresource.
func (h subresourceHook) badBody(err error) error {
	return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", h.kind.Kind, h.kind.Version, h.kind.Kind, err))
}

// encode returns the body of an answer.
func (h subresourceHook) encode(out metav1.Object, protobuf bool) ([]byte, error) {
	if protobuf {
		return wire.Envelope(h.typeMeta(), func() ([]byte, error) { return wire.MarshalProtobuf(out) })
	}
	k, ok := out.(interface{ GetObjectKind() schema.ObjectKind })
	if ok && k.GetObjectKind().GroupVersionKind() != h.kind {
		out = copied(out) // it may be the server's own
		out.(interface{ GetObjectKind() schema.ObjectKind }).GetObjectKind().SetGroupVersionKind(h.kind)
	}
	return json.Marshal(out)
}

// copied returns a copy of obj that can state another kind.
func copied(obj metav1.Object) metav1.Object {
	if o, ok := obj.(runtime.Object); ok {
		if c, ok := o.DeepCopyObject().(metav1.Object); ok {
			return c
		}
	}
	c := reflect.New(reflect.TypeOf(obj).Elem())
	c.Elem().Set(reflect.ValueOf(obj).Elem())
	return c.Interface().(metav1.Object)
}
