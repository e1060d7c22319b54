package fake

import (
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/fake/internal/wire"
)

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

// readDeleteOptions reads the optional body of a delete.
func readDeleteOptions(r *http.Request, body []byte, opts *metav1.DeleteOptions) error {
	if len(body) == 0 {
		return nil
	}
	format, err := wire.BodyFormat(r, true)
	if err != nil {
		return err
	}
	err = wire.Unmarshal(format, body, opts, func(kind metav1.TypeMeta) error {
		if kind.Kind != "" && kind.Kind != "DeleteOptions" {
			return fmt.Errorf("unable to decode %q as DeleteOptions", kind.Kind)
		}
		return nil
	})
	var none wire.KindError
	switch {
	case errors.As(err, &none):
		return apierrors.NewBadRequest("couldn't get version/kind; json parse error: " + none.Error())
	case err != nil:
		return apierrors.NewBadRequest(err.Error())
	}
	return nil
}
