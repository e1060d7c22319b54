package fake

import (
	"encoding/json"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	"github.com/kinform/kinform/fake/internal/patch"
)

// checkStrict refuses unknown members of T and duplicate members.
func (t *table[T]) checkStrict(body []byte) error {
	faults, err := t.strictFaults(body)
	if err == nil && len(faults) > 0 {
		err = runtime.NewStrictDecodingError(faults)
	}
	if err != nil {
		return badBody(&t.res, err)
	}
	return nil
}

// checkStrictPatch refuses a patch with duplicate members, or one whose result has members that T
// has not.
func (t *table[T]) checkStrictPatch(kind types.PatchType, data, result []byte) error {
	faults := patch.Faults(kind, data)
	more, err := t.strictFaults(result)
	if err != nil {
		return badBody(&t.res, err)
	}
	if faults = append(faults, more...); len(faults) == 0 {
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

// strictFaults returns the duplicate members of an object's JSON and those that T has not.
func (t *table[T]) strictFaults(body []byte) ([]error, error) {
	if t.untyped() {
		return untypedFaults(body)
	}
	obj := newObject[T]()
	faults, err := kjson.UnmarshalStrict(body, obj)
	if _, ok := any(obj).(interface{ GetObjectKind() schema.ObjectKind }); !ok {
		faults = slices.DeleteFunc(faults, func(err error) bool {
			return err.Error() == `unknown field "kind"` || err.Error() == `unknown field "apiVersion"`
		})
	}
	return faults, err
}

// untypedFaults returns duplicate members and those that metadata has not.
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
