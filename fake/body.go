package fake

import (
	"errors"
	"net/http"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"

	"github.com/kinform/kinform/fake/internal/refusal"
	"github.com/kinform/kinform/fake/internal/wire"
)

// readObject decodes a whole object and settles its namespace with the URL's.
func (t *table[T]) readObject(r *http.Request, req request, body []byte) (obj T, err error) {
	format, err := wire.BodyFormat(r, t.protobuf)
	if err != nil {
		return obj, err
	}
	obj = newObject[T]()
	if err := t.decodeObject(format, body, obj); err != nil {
		return obj, err
	}
	if format == wire.JSON && r.URL.Query().Get("fieldValidation") == metav1.FieldValidationStrict {
		if err := t.checkStrict(body); err != nil {
			return obj, err
		}
	}
	switch ns := obj.GetNamespace(); {
	case t.res.ClusterScoped, ns == req.namespace:
	case ns == "":
		obj.SetNamespace(req.namespace)
	default:
		return obj, refusal.OtherNamespace()
	}
	return obj, nil
}

// decodeObject reads a whole object, whose kind is known when the body leaves it out.
func (t *table[T]) decodeObject(format string, body []byte, obj T) error {
	var wrong error
	err := wire.Unmarshal(format, body, obj, func(kind metav1.TypeMeta) error {
		wrong = t.res.checkKind(kind.GroupVersionKind())
		return wrong
	})
	var none wire.KindError
	switch {
	case wrong != nil:
		return wrong
	case errors.As(err, &none):
		return errNoKind(&t.res, none.Err, body)
	case err != nil:
		return badBody(&t.res, err)
	}
	if k, ok := any(obj).(interface{ GetObjectKind() schema.ObjectKind }); ok && format == wire.Protobuf {
		k.GetObjectKind().SetGroupVersionKind(t.res.GroupVersionKind())
	}
	return nil
}

// checkStrict refuses unknown members of T and duplicate members.
func (t *table[T]) checkStrict(body []byte) error {
	obj := newObject[T]()
	var into any = obj
	if t.untyped() {
		into = &map[string]any{}
	}
	errs, err := kjson.UnmarshalStrict(body, into)
	if err != nil {
		return badBody(&t.res, err)
	}
	if _, ok := any(obj).(interface{ GetObjectKind() schema.ObjectKind }); !ok {
		errs = slices.DeleteFunc(errs, func(err error) bool {
			return err.Error() == `unknown field "kind"` || err.Error() == `unknown field "apiVersion"`
		})
	}
	if len(errs) > 0 {
		return badBody(&t.res, runtime.NewStrictDecodingError(errs))
	}
	return nil
}
