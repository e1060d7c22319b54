package packed

import (
	"errors"
	"reflect"
	"testing"
	"unsafe"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinform/kinform/internal/usercode"
)

// inside reports whether text is a part of bytes in memory.
func inside(bytes, text string) bool {
	from, at := uintptr(unsafe.Pointer(unsafe.StringData(bytes))), uintptr(unsafe.Pointer(unsafe.StringData(text)))
	return from <= at && at < from+uintptr(len(bytes))
}

// FuzzUnpack: no bytes make Unpack panic. An object that it makes of them can be packed and comes back.
func FuzzUnpack(f *testing.F) {
	codecs := []*cache{
		cacheOf(reflect.TypeFor[*metav1.PartialObjectMetadata]()), cacheOf(reflect.TypeFor[*unstructured.Unstructured]()),
		cacheOf(reflect.TypeFor[*widget]()), cacheOf(reflect.TypeFor[map[string]plain]()),
	}
	partial := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: meta("p")}
	for n, obj := range []any{partial, &unstructured.Unstructured{Object: aTree()}, aWidget(), map[string]plain{"a": {1, "b"}}} {
		bytes, err := codecs[n].Pack(obj)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(n, bytes)
		f.Add(n, bytes[:len(bytes)/2])
		f.Add(n, bytes[1:])
	}
	f.Fuzz(func(t *testing.T, n int, bytes string) {
		codec := codecs[uint(n)%uint(len(codecs))]
		to := reflect.New(codec.of)
		var panicked *usercode.PanicError
		err := codec.Unpack(bytes, to.Interface())
		if errors.As(err, &panicked) || codec.of != codec.elem && to.Elem().IsNil() {
			t.Fatalf("%v, %v", to.Elem(), err)
		}
		if err != nil {
			return
		}
		first, err := codec.Pack(to.Elem().Interface())
		if err != nil {
			t.Fatal(err)
		}
		if err := codec.Unpack(first, to.Interface()); err != nil {
			t.Fatal(err)
		}
		if second, err := codec.Pack(to.Elem().Interface()); err != nil || !codec.Same(first, second) {
			t.Fatalf("%v: %q, then %q", err, first, second)
		}
	})
}
