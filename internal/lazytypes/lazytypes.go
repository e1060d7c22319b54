// Package lazytypes makes the TypeConverters of server-side apply when they are first needed. Most
// kinds of a server are never applied, and a converter takes more memory than everything else that
// a kind needs.
package lazytypes

import (
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

type converter func() (managedfields.TypeConverter, error)

// New returns a converter that calls create once, at its first use, and then uses the result. If
// create returns an error, every method returns that error. It can be used concurrently if the
// result can.
func New(create func() (managedfields.TypeConverter, error)) managedfields.TypeConverter {
	return converter(sync.OnceValues(create))
}

// ObjectToTyped implements managedfields.TypeConverter.
func (c converter) ObjectToTyped(obj runtime.Object, opts ...typed.ValidationOptions) (*typed.TypedValue, error) {
	types, err := c()
	if err != nil {
		return nil, err
	}
	return types.ObjectToTyped(obj, opts...)
}

// TypedToObject implements managedfields.TypeConverter.
func (c converter) TypedToObject(value *typed.TypedValue) (runtime.Object, error) {
	types, err := c()
	if err != nil {
		return nil, err
	}
	return types.TypedToObject(value)
}
