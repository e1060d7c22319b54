package kubeproto

import (
	"fmt"
	"reflect"
	"testing"
)

// memory calls visit for the memory that v refers to, other than strings, which nobody can write to.
// at is the address, and one byte stands for a pointer's target.
func memory(v reflect.Value, visit func(at uintptr, n int, what string)) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			visit(v.Pointer(), int(v.Type().Elem().Size()), v.Type().String())
			memory(v.Elem(), visit)
		}
	case reflect.Slice:
		if v.Cap() > 0 {
			visit(v.Pointer(), v.Cap()*int(v.Type().Elem().Size()), v.Type().String())
		}
		for i := range v.Len() {
			memory(v.Index(i), visit)
		}
	case reflect.Map:
		if !v.IsNil() {
			visit(v.Pointer(), 1, v.Type().String())
		}
		for i := v.MapRange(); i.Next(); {
			memory(i.Value(), visit)
		}
	case reflect.Struct:
		if path := v.Type().PkgPath(); path == "time" || path == "unique" {
			return // all times share their location, and nobody can write to the target of a unique.Handle
		}
		for i := range v.NumField() {
			memory(v.Field(i), visit)
		}
	}
}

// alike decodes data several times with one Strings. The objects must equal one that is decoded
// without, and must not share memory that can be written to.
func alike(t *testing.T, plan *Plan, data []byte) {
	t.Helper()
	var want everything
	if plan.Decode(data, &want, Options{}) != nil || hasNaN(&want) {
		return
	}
	s := NewStrings(4)
	users := map[uintptr]string{}
	var all []*everything
	for i := range 4 {
		got := new(everything)
		if err := plan.Decode(data, got, Options{Strings: s}); err != nil {
			t.Fatal(err)
		}
		memory(reflect.ValueOf(got), func(at uintptr, n int, what string) {
			what = fmt.Sprintf("object %d: %s", i, what)
			for at, end := at, at+uintptr(n); at < end; at++ {
				if other, used := users[at]; used {
					t.Fatalf("%s has memory of %s", what, other)
				}
				users[at] = what
			}
		})
		all = append(all, got)
	}
	for i, got := range all {
		if !reflect.DeepEqual(*got, want) {
			t.Errorf("object %d: got\n%+v\nwant\n%+v", i, *got, want)
		}
	}
}

// TestObjectsShareNoMemory: what a Strings keeps from object to object belongs to none of them.
func TestObjectsShareNoMemory(t *testing.T) {
	plan := mustCompile[everything](t)
	for _, test := range decodeTests {
		alike(t, plan, []byte(test.in))
	}
	var large []byte
	for _, amount := range []string{"1", "1", "9223372036854775808", "9223372036854775808", "0.000000000000000000001"} {
		large = append(large, textField(37, string(textField(1, amount)))...)
	}
	alike(t, plan, join(large, textField(36, string(textField(1, "9223372036854775808"))), numberField(10, 1), numberField(16, 7)))
}
