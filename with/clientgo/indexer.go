package clientgo

import (
	"fmt"
	"maps"
	"reflect"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/internal/logs"
	"github.com/kinform/kinform/internal/usercode"
	"github.com/kinform/kinform/store"
)

// indexer is the cache.Indexer of a store.
type indexer[K comparable, T any] struct {
	store *store.Store[K, T]
	names names[K]
	log   logs.Log

	mu       sync.Mutex
	indexers cache.Indexers
}

// names converts between the keys of a store and client-go's.
type names[K comparable] struct {
	of    func(obj any) (K, error) // the key of an object or a cache.DeletedFinalStateUnknown
	text  func(K) string
	parse func(string) (K, error)
}

// key returns the key of an object, or a cache.KeyError.
func (x *indexer[K, T]) key(obj any) (K, error) {
	key, err := x.names.of(obj)
	if err != nil {
		return key, cache.KeyError{Obj: obj, Err: err}
	}
	return key, nil
}

// Add implements cache.Store.
func (x *indexer[K, T]) Add(obj any) error {
	key, err := x.key(obj)
	if err != nil {
		return err
	}
	typed, err := typed[T](obj)
	if err != nil {
		return err
	}
	return x.commit(store.Op[K, T]{Key: key, Object: typed})
}

func typed[T any](obj any) (T, error) {
	typed, ok := obj.(T)
	if !ok {
		return typed, fmt.Errorf("clientgo: it is a %T and no %v", obj, reflect.TypeFor[T]())
	}
	return typed, nil
}

// Update implements cache.Store.
func (x *indexer[K, T]) Update(obj any) error { return x.Add(obj) }

// Delete implements cache.Store.
func (x *indexer[K, T]) Delete(obj any) error {
	key, err := x.key(obj)
	if err != nil {
		return err
	}
	return x.commit(store.Op[K, T]{Key: key, Delete: true})
}

func (x *indexer[K, T]) commit(op store.Op[K, T]) error {
	ops := []store.Op[K, T]{op}
	if err := x.store.Commit("", ops); err != nil {
		return err
	}
	return ops[0].Err
}

// List implements cache.Store.
func (x *indexer[K, T]) List() []any { return untyped(x.store.List()) }

// untyped returns the objects of a list as such. It may be the list itself.
func untyped[T any](list []T) []any {
	if all, ok := any(list).([]any); ok {
		return all
	}
	all := make([]any, len(list))
	for i, obj := range list {
		all[i] = obj
	}
	return all
}

// ListKeys implements cache.Store.
func (x *indexer[K, T]) ListKeys() []string {
	all := make([]string, 0, x.store.Len())
	for key := range x.store.Keys() {
		all = append(all, x.names.text(key))
	}
	return all
}

// LastStoreSyncResourceVersion implements cache.Store.
func (x *indexer[K, T]) LastStoreSyncResourceVersion() string { return x.store.ResourceVersion() }

// Bookmark implements cache.Store.
func (x *indexer[K, T]) Bookmark(rv string) {
	if err := x.store.Commit(rv, nil); err != nil {
		x.log.Error(err)
	}
}

// Get implements cache.Store.
func (x *indexer[K, T]) Get(obj any) (item any, exists bool, err error) {
	key, err := x.key(obj)
	if err != nil {
		return nil, false, err
	}
	item, exists = x.get(key)
	return item, exists, nil
}

// GetByKey implements cache.Store. Text that is no key is under no object.
func (x *indexer[K, T]) GetByKey(key string) (item any, exists bool, err error) {
	parsed, err := x.names.parse(key)
	if err != nil {
		return nil, false, nil
	}
	item, exists = x.get(parsed)
	return item, exists, nil
}

// get returns the object under a key, nil if there is none.
func (x *indexer[K, T]) get(key K) (any, bool) {
	obj, ok := x.store.Get(key)
	if !ok {
		return nil, false
	}
	return obj, true
}

// Replace implements cache.Store.
func (x *indexer[K, T]) Replace(list []any, rv string) error {
	all := make([]T, len(list))
	for i, obj := range list {
		_, err := x.key(obj)
		if err != nil {
			return err
		}
		if all[i], err = typed[T](obj); err != nil {
			return err
		}
	}
	return x.store.Replace(all, rv)
}

// Resync implements cache.Store.
func (x *indexer[K, T]) Resync() error { return nil }

// Index implements cache.Indexer.
func (x *indexer[K, T]) Index(name string, obj any) ([]any, error) {
	fn, name, err := x.function(name)
	if err != nil {
		return nil, err
	}
	values, err := fn(obj)
	if err != nil {
		return nil, err
	}
	if len(values) == 1 {
		return x.byIndex(name, values[0])
	}
	var all []any
	seen := map[K]struct{}{}
	for _, value := range values {
		keys, err := x.store.IndexKeys(name, value)
		if err != nil {
			return nil, err
		}
		for _, key := range keys {
			if _, again := seen[key]; again {
				continue
			}
			seen[key] = struct{}{}
			if obj, ok := x.get(key); ok {
				all = append(all, obj)
			}
		}
	}
	return all, nil
}

// IndexKeys implements cache.Indexer.
func (x *indexer[K, T]) IndexKeys(name, value string) ([]string, error) {
	_, name, err := x.function(name)
	if err != nil {
		return nil, err
	}
	keys, err := x.store.IndexKeys(name, value)
	if err != nil {
		return nil, err
	}
	all := make([]string, len(keys))
	for i, key := range keys {
		all[i] = x.names.text(key)
	}
	return all, nil
}

// ListIndexFuncValues implements cache.Indexer.
func (x *indexer[K, T]) ListIndexFuncValues(name string) []string {
	values, err := x.store.IndexValues(name)
	if err != nil {
		return nil
	}
	return values
}

// ByIndex implements cache.Indexer.
func (x *indexer[K, T]) ByIndex(name, value string) ([]any, error) {
	_, name, err := x.function(name)
	if err != nil {
		return nil, err
	}
	return x.byIndex(name, value)
}

func (x *indexer[K, T]) byIndex(name, value string) ([]any, error) {
	found, err := x.store.ByIndex(name, value)
	return untyped(found), err
}

// GetIndexers implements cache.Indexer. It returns a copy.
func (x *indexer[K, T]) GetIndexers() cache.Indexers {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.adopt()
	return maps.Clone(x.indexers)
}

// AddIndexers implements cache.Indexer: all of them, or none after an error.
func (x *indexer[K, T]) AddIndexers(more cache.Indexers) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.adopt()
	for name := range more {
		if _, ok := x.indexers[name]; ok {
			return fmt.Errorf("clientgo: indexer conflict: %w: %q", index.ErrDuplicate, name)
		}
	}
	if err := x.store.AddIndexes(x.definitions(more)...); err != nil {
		return err
	}
	maps.Copy(x.indexers, more)
	return nil
}

// adopt takes over the indexes of the store that were not added here and whose values are strings.
// Called with mu held.
func (x *indexer[K, T]) adopt() {
	if x.indexers == nil {
		x.indexers = cache.Indexers{}
	}
	for name, def := range x.store.Indexer().Definitions() {
		of, ok := def.(*index.Index[T, string])
		if x.indexers[name] != nil || !ok {
			continue
		}
		x.indexers[name] = func(obj any) ([]string, error) {
			if o, ok := obj.(T); ok {
				return of.ValuesOf(o)
			}
			if name == cache.NamespaceIndex { // listers ask with nothing but a namespace
				return cache.MetaNamespaceIndexFunc(obj)
			}
			return nil, fmt.Errorf("clientgo: index %q: it is a %T and no %v", name, obj, reflect.TypeFor[T]())
		}
	}
}

// definitions returns the indexes of indexers.
func (x *indexer[K, T]) definitions(indexers cache.Indexers) []index.Definition[T] {
	var all []index.Definition[T]
	for name, fn := range indexers {
		all = append(all, index.New(name, func(dst []string, obj T) []string {
			values, err := valuesOf(fn, obj)
			if err != nil {
				key, _ := x.key(obj)
				x.log.KeyError(x.names.text(key), "index function failed", fmt.Errorf("index %q: %w", name, err))
				return dst
			}
			return append(dst, values...)
		}))
	}
	return all
}

// valuesOf calls fn. Its panic is an error, so that the object is not left out of the cache.
func valuesOf(fn cache.IndexFunc, obj any) (values []string, err error) {
	if panicked := usercode.Call("index function", func() { values, err = fn(obj) }); panicked != nil {
		return nil, panicked
	}
	return values, err
}

// function returns the function of an index, and the name of the index in the store. If nobody has
// added an index of the namespaces, it uses the one of the store, which it adds if necessary, even in a
// small store: client-go logs each list without one.
func (x *indexer[K, T]) function(name string) (fn cache.IndexFunc, stored string, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.indexers[name] == nil {
		x.adopt()
	}
	if fn := x.indexers[name]; fn != nil {
		return fn, name, nil
	}
	if name != cache.NamespaceIndex {
		return nil, "", fmt.Errorf("clientgo: %w: %q", index.ErrUnknownIndex, name)
	}
	added, err := index.AddNamespace(x.store, namespaceOf[T])
	if err != nil {
		return nil, "", fmt.Errorf("clientgo: index %q: %w", name, err)
	}
	return cache.MetaNamespaceIndexFunc, added.Name(), nil
}

// namespaceOf returns the namespace of an object, and false if it has no metadata.
func namespaceOf[T any](obj T) (namespace string, ok bool) {
	o, ok := any(obj).(metav1.Object)
	if !ok {
		return "", false
	}
	return o.GetNamespace(), true
}
