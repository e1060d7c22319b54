package main

import (
	"context"
	"errors"
	"runtime"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/store"
)

// option is a way to cache a kind.
type option int

const (
	whole     option = iota // the zero client.Options
	noManaged               // client.Options.DropManagedFields
	packed                  // informer.Options.Packed, and DropManagedFields
	metadata                // metav1.PartialObjectMetadata, and DropManagedFields
	options
)

// cost is the memory that a kind takes.
type cost struct {
	resource string
	objects  int              // in the cluster
	sampled  int              // of them measured
	bytes    [options]float64 // heap per object
	err      error            // why it could not be measured
}

// total returns the bytes that all objects take.
func (c cost) total(o option) float64 { return c.bytes[o] * float64(c.objects) }

// measurer measures one kind with at most limit objects.
type measurer func(ctx context.Context, server client.Connection, limit int64) cost

// of returns the measurer of a kind.
func of[T metav1.Object](k *kind.Kind[T]) measurer {
	return func(ctx context.Context, server client.Connection, limit int64) cost {
		c := cost{resource: k.String()}
		type meta = *metav1.PartialObjectMetadata
		var failed [options]error
		c.bytes[whole], failed[whole] = heap(ctx, server, k, client.Options{}, false, limit, &c)
		if failed[whole] == nil {
			c.bytes[noManaged], failed[noManaged] = heap(ctx, server, k, client.Options{DropManagedFields: true}, false, limit, &c)
			c.bytes[packed], failed[packed] = heap(ctx, server, k, client.Options{DropManagedFields: true}, true, limit, &c)
			c.bytes[metadata], failed[metadata] = heap(ctx, server, kind.As[meta](k), client.Options{DropManagedFields: true}, false, limit, &c)
		}
		c.err = errors.Join(failed[:]...)
		return c
	}
}

// heap lists up to limit objects, as a cache does, and returns the memory that each takes: what the garbage collector gets
// back when they are dropped. It notes the numbers of objects in c.
func heap[T metav1.Object](ctx context.Context, server client.Connection, k *kind.Kind[T], opts client.Options, pack bool, limit int64, c *cost) (float64, error) {
	objects, err := client.New(server, k, opts)
	if err != nil {
		return 0, err
	}
	kept := make([]T, 0, limit)
	list, err := objects.Relist(objects, nil).List(ctx, metav1.ListOptions{Limit: limit}, func(ev reflector.Event[T], err error) bool {
		if err == nil { // an object that cannot be used is not cached
			kept = append(kept, ev.Object)
		}
		return true
	})
	if err != nil || len(kept) == 0 {
		return 0, err
	}
	c.sampled, c.objects = len(kept), len(kept)
	if list.RemainingItemCount != nil {
		c.objects += int(*list.RemainingItemCount)
	}
	cache, err := store.New(store.ObjectKey[T], store.Options[T]{Packed: true})
	if err == nil && pack {
		err = cache.Replace(kept, "")
		clear(kept)
	}
	if err != nil {
		return 0, err
	}
	with := live()
	runtime.KeepAlive(cache) // and not longer
	clear(kept)              // the slice itself is not measured
	without := live()
	runtime.KeepAlive(kept)
	runtime.KeepAlive(objects)
	return max(0, float64(with)-float64(without)) / float64(c.sampled), nil
}

// live returns the bytes of the heap that are in use.
func live() uint64 {
	runtime.GC()
	runtime.GC() // the first one may have begun before the last change
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
