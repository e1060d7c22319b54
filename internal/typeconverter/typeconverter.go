// Package typeconverter makes TypeConverters of server-side apply that leave the work to others.
//
// The methods of a TypeConverter take and return types of structured-merge-diff, whose import path
// changes with the version of apimachinery. Type parameters stand for these types here. The compiler
// infers them from managedfields.TypeConverter, so the package compiles with each version.
package typeconverter

import (
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
)

// converter is managedfields.TypeConverter.
type converter[Option, Value any] interface {
	ObjectToTyped(runtime.Object, ...Option) (*Value, error)
	TypedToObject(*Value) (runtime.Object, error)
}

// choice returns the converter that does a call. The object is nil in TypedToObject.
type choice[C converter[Option, Value], Option, Value any] func(runtime.Object) (C, error)

// Choose returns a converter that calls choose with each object, and with nil for each TypedToObject, and
// leaves the call to the result. If choose returns an error, so does the call. The converter can be used
// concurrently if choose and its results can.
func Choose(choose func(runtime.Object) (managedfields.TypeConverter, error)) managedfields.TypeConverter {
	return newChoice(choose)
}

func newChoice[C converter[Option, Value], Option, Value any](choose func(runtime.Object) (C, error)) choice[C, Option, Value] {
	return choose
}

// Lazy returns a converter that calls create once, at its first use, and then uses the result. If create
// returns an error, every method returns that error. It can be used concurrently if the result can.
//
// Most kinds of a server are never applied, and a converter takes more memory than everything else
// that a kind needs.
func Lazy(create func() (managedfields.TypeConverter, error)) managedfields.TypeConverter {
	created := sync.OnceValues(create)
	return Choose(func(runtime.Object) (managedfields.TypeConverter, error) { return created() })
}

// ObjectToTyped implements managedfields.TypeConverter.
func (c choice[C, Option, Value]) ObjectToTyped(obj runtime.Object, opts ...Option) (*Value, error) {
	chosen, err := c(obj)
	if err != nil {
		return nil, err
	}
	return chosen.ObjectToTyped(obj, opts...)
}

// TypedToObject implements managedfields.TypeConverter.
func (c choice[C, Option, Value]) TypedToObject(value *Value) (runtime.Object, error) {
	chosen, err := c(nil)
	if err != nil {
		return nil, err
	}
	return chosen.TypedToObject(value)
}
