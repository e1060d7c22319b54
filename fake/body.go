package fake

import (
	"errors"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/fake/internal/refusal"
	"github.com/kinform/kinform/fake/internal/wire"
)

// readObject decodes a whole object and settles its namespace with the URL's.
func (t *table) readObject(r *http.Request, req parsedRequest, body []byte) (obj metav1.Object, err error) {
	format, err := wire.BodyFormat(r, t.protobuf)
	if err != nil {
		return obj, err
	}
	obj = newObject(t.typ)
	if err := t.decodeObject(format, body, obj); err != nil {
		return obj, err
	}
	if err := validateFields(r, req, format, body, t.strictFaults, func(err error) error { return badBody(&t.res, err) }); err != nil {
		return obj, err
	}
	return obj, t.settleNamespace(obj, req)
}

// settleNamespace gives obj the namespace of the URL, and refuses an object of another one.
func (t *table) settleNamespace(obj metav1.Object, req parsedRequest) error {
	switch ns := obj.GetNamespace(); {
	case t.res.ClusterScoped, ns == req.namespace:
	case ns == "":
		if err := checkNamespace(obj); err != nil {
			return err
		}
		obj.SetNamespace(req.namespace)
	default:
		return refusal.OtherNamespace()
	}
	return nil
}

// checkNamespace refuses an unstructured object whose namespace is no text, which reads as none.
func checkNamespace(obj metav1.Object) error {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		if _, _, err := unstructured.NestedString(u.Object, "metadata", "namespace"); err != nil {
			return normalize(obj)
		}
	}
	return nil
}

// decodeObject reads a whole object. Bodies of Kubernetes' own resources can leave the kind out.
func (t *table) decodeObject(format string, body []byte, obj metav1.Object) error {
	var wrong error
	err := wire.Unmarshal(format, body, obj, func(kind metav1.TypeMeta) error {
		if wrong = t.checkKind(kind.GroupVersionKind()); wrong == nil && t.res.custom() {
			wrong = t.res.checkStated(kind, body)
		}
		return wrong
	})
	var none wire.KindError
	var noYAML wire.YAMLError
	switch {
	case wrong != nil:
		return wrong
	case errors.As(err, &noYAML):
		return errUnrecognized(t.res.Kind, noYAML, body)
	case errors.As(err, &none):
		return errNoKind(t.res.Kind, none.Err, body)
	case err != nil:
		return badBody(&t.res, err)
	}
	if k, ok := obj.(interface{ GetObjectKind() schema.ObjectKind }); ok && format == wire.Protobuf {
		k.GetObjectKind().SetGroupVersionKind(t.res.GroupVersionKind())
	}
	return nil
}
