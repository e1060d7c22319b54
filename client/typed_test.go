package client

import (
	"errors"
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/reflector"
)

// Every field of an event reaches the caller, with the object as a T of any form: a pointer, a struct, a map or an
// interface.
func TestTypedEvents(t *testing.T) {
	object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "x"}}
	checkTyped(t, object, object)
	checkTyped(t, object, *object)
	checkTyped(t, object, metav1.Object(object))
	fields := map[string]any{"a": "b"}
	checkTyped(t, &fields, fields)
}

// checkTyped checks an event of an object of the core that is want as a T.
func checkTyped[T any](t *testing.T, object any, want T) {
	t.Helper()
	in := event{Object: object}
	from := reflect.ValueOf(&in).Elem()
	for i := range from.NumField() {
		switch field := from.Field(i); field.Kind() {
		case reflect.Bool:
			field.SetBool(true)
		case reflect.String:
			field.SetString("1")
		case reflect.Uint64, reflect.Uint8:
			field.SetUint(1)
		case reflect.Int8, reflect.Int:
			field.SetInt(1)
		}
	}
	problem := errors.New("problem")
	yielded := typedYield(func(ev reflector.Event[T], err error) bool {
		if err != problem || !reflect.DeepEqual(ev.Object, want) {
			t.Errorf("%T: %v, %v", want, ev.Object, err)
		}
		to := reflect.ValueOf(ev)
		for i := range to.NumField() {
			name := to.Type().Field(i).Name
			if to.Field(i).IsZero() || name != "Object" && !to.Field(i).Equal(from.FieldByName(name)) {
				t.Errorf("%T: %s is %v", want, name, to.Field(i))
			}
		}
		return true
	})
	if !yielded(in, problem) {
		t.Errorf("%T: stopped", want)
	}
	if none := typed[T](nil); !reflect.ValueOf(&none).Elem().IsZero() {
		t.Errorf("%T: no object is %v", want, none)
	}
}
