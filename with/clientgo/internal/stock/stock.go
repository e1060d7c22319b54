// Package stock reads the parts from which an informer of client-go was made.
package stock

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"
	"unsafe"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/sharding"
	"k8s.io/client-go/tools/cache"
)

// errInUse is returned by Of for an informer that has started, or that has handlers or objects.
var errInUse = errors.New("clientgo: the informer is in use already")

// errUnknown is returned by Of for anything but an informer of client-go 0.37 or 0.38.
var errUnknown = errors.New("clientgo: it is no informer of a client-go that this package knows")

// Informer has the parts from which an informer of client-go was made.
type Informer struct {
	ListerWatcher cache.ListerWatcher
	Example       runtime.Object
	Options       cache.SharedIndexInformerOptions
	Transform     cache.TransformFunc
	Shard         sharding.Selector // from client-go 0.38 on
	OnError       cache.WatchErrorHandlerWithContext
}

// Untyped returns the informer that cache.NewTypedSharedIndexInformer has wrapped, or inf if it is
// no such wrapper.
func Untyped(inf cache.SharedIndexInformer) cache.SharedIndexInformer {
	for isCache(inf, "typedSharedIndexInformer[") {
		wrapped, ok := reflect.ValueOf(inf).Elem().FieldByName("SharedIndexInformer").Interface().(cache.SharedIndexInformer)
		if !ok {
			break
		}
		inf = wrapped
	}
	return inf
}

// Of returns the parts from which inf was made. Nothing may use inf at the same time.
//
// client-go has no method that returns the ListerWatcher of an informer, and generated constructors
// do not return it either. So Of reads unexported fields, each by its name and its exact type. If
// another version of client-go has other fields, it returns an error.
func Of(inf cache.SharedIndexInformer) (Informer, error) {
	inf = Untyped(inf)
	if !isCache(inf, "sharedIndexInformer") {
		return Informer{}, fmt.Errorf("%T: %w", inf, errUnknown)
	}
	f := fields{of: reflect.ValueOf(inf).Elem()}
	listeners := f.of.FieldByName("processor")
	if listeners.Kind() == reflect.Pointer && !listeners.IsNil() {
		listeners = listeners.Elem().FieldByName("listeners")
	}
	made := Informer{
		ListerWatcher: read[cache.ListerWatcher](&f, "listerWatcher"),
		Example:       read[runtime.Object](&f, "objectType"),
		Options: cache.SharedIndexInformerOptions{
			ResyncPeriod:            read[time.Duration](&f, "defaultEventHandlerResyncPeriod"),
			ObjectDescription:       read[string](&f, "objectDescription"),
			Identifier:              read[cache.InformerNameAndResource](&f, "identifier"),
			InformerMetricsProvider: read[cache.InformerMetricsProvider](&f, "informerMetricsProvider"),
			Indexers:                inf.GetIndexer().GetIndexers(),
		},
		Transform: read[cache.TransformFunc](&f, "transform"),
		OnError:   read[cache.WatchErrorHandlerWithContext](&f, "watchErrorHandler"),
	}
	if f.of.FieldByName("shardSelector").IsValid() {
		made.Shard = read[sharding.Selector](&f, "shardSelector")
	}
	started := read[bool](&f, "started")
	switch {
	case f.missing != "" || listeners.Kind() != reflect.Map:
		return Informer{}, fmt.Errorf("%T without %s: %w", inf, f.missing, errUnknown)
	case started || listeners.Len() > 0 || len(inf.GetIndexer().ListKeys()) > 0:
		return Informer{}, errInUse
	}
	return made, nil
}

// ShardOf returns opts.ShardSelector, which options have from client-go 0.38 on.
func ShardOf(opts cache.SharedIndexInformerOptions) sharding.Selector {
	f := reflect.ValueOf(opts).FieldByName("ShardSelector")
	if !f.IsValid() {
		return nil
	}
	selector, _ := f.Interface().(sharding.Selector)
	return selector
}

// isCache reports whether v is a pointer to a type of package cache, the name of which begins with
// name.
func isCache(v any, name string) bool {
	t := reflect.TypeOf(v)
	if t == nil || t.Kind() != reflect.Pointer {
		return false
	}
	t = t.Elem()
	return t.Kind() == reflect.Struct && t.PkgPath() == reflect.TypeFor[cache.Reflector]().PkgPath() && strings.HasPrefix(t.Name(), name)
}

// fields are the fields of a struct.
type fields struct {
	of      reflect.Value
	missing string // the first one that was read and is not there
}

// read returns the value of a field of exactly the type T.
func read[T any](f *fields, name string) T {
	v := f.of.FieldByName(name)
	if !v.IsValid() || v.Type() != reflect.TypeFor[T]() {
		if f.missing == "" {
			f.missing = fmt.Sprintf("%s of type %v", name, reflect.TypeFor[T]())
		}
		return *new(T)
	}
	return *(*T)(unsafe.Pointer(v.UnsafeAddr()))
}
