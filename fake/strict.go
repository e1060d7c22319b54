package fake

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	"github.com/kinform/kinform/fake/internal/patch"
	"github.com/kinform/kinform/fake/internal/wire"
)

// validateFields looks for unknown and duplicate members, which strict finds in JSON, and refuses
// them, warns of them or ignores them as the query asks. The body is JSON or YAML, and has been
// decoded before.
func validateFields(r *http.Request, req parsedRequest, format string, body []byte, strict func(body []byte) ([]error, error), refuse func(error) error) error {
	how := r.URL.Query().Get("fieldValidation")
	if how == metav1.FieldValidationIgnore || format == wire.Protobuf {
		return nil
	}
	faults, err := bodyFaults(format, body, strict)
	switch {
	case err == nil && len(faults) == 0:
		return nil
	case how == metav1.FieldValidationStrict:
		if err == nil {
			err = runtime.NewStrictDecodingError(faults)
		}
		return refuse(err)
	}
	for _, fault := range faults {
		req.warn(fault.Error())
	}
	return nil
}

// bodyFaults returns the unknown and the duplicate members of a body.
func bodyFaults(format string, body []byte, strict func(body []byte) ([]error, error)) (faults []error, err error) {
	if format == wire.YAML {
		if err := wire.YAMLTwice(body); err != nil {
			faults = append(faults, errors.New(strings.TrimPrefix(err.Error(), "error converting YAML to JSON: ")))
		}
		if body, err = withoutTwins(body); err != nil {
			return nil, err
		}
	}
	more, err := strict(body)
	return append(faults, more...), err
}

// withoutTwins returns YAML as JSON that has no member twice.
func withoutTwins(body []byte) ([]byte, error) {
	b, err := wire.YAMLToJSON(body)
	if err != nil {
		return nil, err
	}
	var members map[string]any
	if err := utiljson.Unmarshal(b, &members); err != nil {
		return nil, err
	}
	return json.Marshal(members)
}

// checkStrictPatch refuses a patch with duplicate members, or one whose result has members that the
// type does not have, which strict finds, or warns of them, as w says.
func checkStrictPatch(kind types.PatchType, data, result []byte, w write, strict func([]byte) ([]error, error), refuse func(error) error) error {
	if !w.strict && !w.lenient {
		return nil
	}
	faults := patch.Faults(kind, data)
	more, err := strict(result)
	if err != nil && w.strict {
		return refuse(err)
	}
	if faults = append(faults, more...); len(faults) == 0 {
		return nil
	}
	if !w.strict {
		for _, fault := range faults {
			w.warn(fault.Error())
		}
		return nil
	}
	value := string(result)
	if kind == types.StrategicMergePatchType {
		var change map[string]any
		if err := json.Unmarshal(data, &change); err != nil {
			return apierrors.NewBadRequest(err.Error())
		}
		value = fmt.Sprint(change)
	}
	return apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{
		field.Invalid(field.NewPath("patch"), value, runtime.NewStrictDecodingError(faults).Error()),
	})
}

// strictFaults returns the duplicate members of an object's JSON, and the members that the type
// does not have.
func (t *table) strictFaults(body []byte) ([]error, error) {
	faults, err := t.typeFaults(body)
	if err != nil || t.hooks.prune == nil {
		return faults, err
	}
	obj := newObject(t.typ)
	if err := wire.UnmarshalJSON(body, obj); err != nil {
		return faults, err
	}
	removed, err := t.prune(obj)
	for _, path := range removed {
		faults = append(faults, fmt.Errorf("unknown field %q", path))
	}
	return faults, err
}

// typeFaults is strictFaults by the Go type alone: without the members that the hook Prune removes.
func (t *table) typeFaults(body []byte) ([]error, error) {
	if t.untyped() {
		return untypedFaults(body)
	}
	return membersFaults(body, newObject(t.typ))
}

// membersFaults returns the duplicate members of an object's JSON, and the members that obj, an
// empty object, does not have. Every body may state its kind.
func membersFaults(body []byte, obj metav1.Object) ([]error, error) {
	faults, err := kjson.UnmarshalStrict(body, obj)
	if _, ok := obj.(interface{ GetObjectKind() schema.ObjectKind }); !ok {
		faults = slices.DeleteFunc(faults, func(err error) bool {
			return err.Error() == `unknown field "kind"` || err.Error() == `unknown field "apiVersion"`
		})
	}
	return faults, err
}

// untypedFaults returns duplicate members, and the members that metadata does not have.
func untypedFaults(body []byte) ([]error, error) {
	members := map[string]any{}
	faults, err := kjson.UnmarshalStrict(body, &members)
	if err != nil {
		return nil, err
	}
	head, err := json.Marshal(map[string]any{"metadata": members["metadata"]})
	if err != nil {
		return nil, err
	}
	unknown, err := kjson.UnmarshalStrict(head, &struct {
		metav1.ObjectMeta `json:"metadata"`
	}{})
	return append(faults, unknown...), err
}
