package clientgo

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"k8s.io/client-go/tools/cache"

	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/internal/logs"
	"github.com/kinform/kinform/internal/usercode"
	"github.com/kinform/kinform/store"
)

// indexer is the cache.Indexer of a store.
type indexer struct {
	store *store.Store[string, any]
	key   cache.KeyFunc
	log   logs.Log

	mu       sync.Mutex
	indexers cache.Indexers
}

var _ cache.Indexer = (*indexer)(nil)

// Add implements cache.Store.
func (x *indexer) Add(obj any) error {
	key, err := x.key(obj)
	if err != nil {
		return cache.KeyError{Obj: obj, Err: err}
	}
	return x.commit(store.Op[string, any]{Key: key, Object: obj})
}

// Update implements cache.Store.
func (x *indexer) Update(obj any) error { return x.Add(obj) }

// Delete implements cache.Store.
func (x *indexer) Delete(obj any) error {
	key, err := x.key(obj)
	if err != nil {
		return cache.KeyError{Obj: obj, Err: err}
	}
	return x.commit(store.Op[string, any]{Key: key, Delete: true})
}

func (x *indexer) commit(op store.Op[string, any]) error {
	ops := []store.Op[string, any]{op}
	if err := x.store.Commit("", ops); err != nil {
		return err
	}
	return ops[0].Err
}

// List implements cache.Store.
func (x *indexer) List() []any { return x.store.List() }

// ListKeys implements cache.Store.
func (x *indexer) ListKeys() []string {
	return slices.AppendSeq(make([]string, 0, x.store.Len()), x.store.Keys())
}

// LastStoreSyncResourceVersion implements cache.Store.
func (x *indexer) LastStoreSyncResourceVersion() string { return x.store.ResourceVersion() }

// Bookmark implements cache.Store.
func (x *indexer) Bookmark(rv string) {
	if err := x.store.Commit(rv, nil); err != nil {
		x.log.Error(err)
	}
}

// Get implements cache.Store.
func (x *indexer) Get(obj any) (item any, exists bool, err error) {
	key, err := x.key(obj)
	if err != nil {
		return nil, false, cache.KeyError{Obj: obj, Err: err}
	}
	return x.GetByKey(key)
}

// GetByKey implements cache.Store.
func (x *indexer) GetByKey(key string) (item any, exists bool, err error) {
	item, exists = x.store.Get(key)
	return item, exists, nil
}

// Replace implements cache.Store.
func (x *indexer) Replace(list []any, rv string) error {
	for _, obj := range list {
		if _, err := x.key(obj); err != nil {
			return cache.KeyError{Obj: obj, Err: err}
		}
	}
	return x.store.Replace(list, rv)
}

// Resync implements cache.Store.
func (x *indexer) Resync() error { return nil }

// Index implements cache.Indexer.
func (x *indexer) Index(name string, obj any) ([]any, error) {
	fn, ok := x.function(name)
	if !ok {
		return nil, errNoIndex(name)
	}
	values, err := fn(obj)
	if err != nil {
		return nil, err
	}
	if len(values) == 1 {
		return x.store.ByIndex(name, values[0])
	}
	var all []any
	seen := map[string]struct{}{}
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
			if obj, ok := x.store.Get(key); ok {
				all = append(all, obj)
			}
		}
	}
	return all, nil
}

// IndexKeys implements cache.Indexer.
func (x *indexer) IndexKeys(name, value string) ([]string, error) {
	if _, ok := x.function(name); !ok {
		return nil, errNoIndex(name)
	}
	return x.store.IndexKeys(name, value)
}

// ListIndexFuncValues implements cache.Indexer.
func (x *indexer) ListIndexFuncValues(name string) []string {
	values, err := x.store.IndexValues(name)
	if err != nil {
		return nil
	}
	return values
}

// ByIndex implements cache.Indexer.
func (x *indexer) ByIndex(name, value string) ([]any, error) {
	if _, ok := x.function(name); !ok {
		return nil, errNoIndex(name)
	}
	return x.store.ByIndex(name, value)
}

// GetIndexers implements cache.Indexer. It returns a copy.
func (x *indexer) GetIndexers() cache.Indexers {
	x.mu.Lock()
	defer x.mu.Unlock()
	return maps.Clone(x.indexers)
}

// AddIndexers implements cache.Indexer: all of them, or none after an error.
func (x *indexer) AddIndexers(more cache.Indexers) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	for name := range more {
		if _, ok := x.indexers[name]; ok {
			return fmt.Errorf("clientgo: indexer conflict: there is an index %q already", name)
		}
	}
	if err := x.store.AddIndexes(x.definitions(more)...); err != nil {
		return err
	}
	if x.indexers == nil {
		x.indexers = cache.Indexers{}
	}
	maps.Copy(x.indexers, more)
	return nil
}

// definitions returns the indexes of indexers.
func (x *indexer) definitions(indexers cache.Indexers) []index.Definition[any] {
	var all []index.Definition[any]
	for name, fn := range indexers {
		all = append(all, index.New(name, func(dst []string, obj any) []string {
			values, err := valuesOf(fn, obj)
			if err != nil {
				key, _ := x.key(obj)
				x.log.KeyError(key, "index function failed", fmt.Errorf("index %q: %w", name, err))
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

func (x *indexer) function(name string) (cache.IndexFunc, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	fn, ok := x.indexers[name]
	return fn, ok
}

func errNoIndex(name string) error { return fmt.Errorf("clientgo: there is no index %q", name) }
