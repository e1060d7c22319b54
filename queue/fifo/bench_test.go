package fifo

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"testing"
)

// name is a key as the caches of objects with namespaces have it.
type name struct{ Namespace, Name string }

type object struct{ priority int }

func names(n int) []name {
	keys := make([]name, n)
	for i := range keys {
		keys[i] = name{"namespace-" + strconv.Itoa(i%50), "pod-" + strconv.Itoa(i)}
	}
	return keys
}

// BenchmarkFIFO is one Add and one Pop at a steady length.
func BenchmarkFIFO(b *testing.B) {
	for _, size := range []int{1, 1000, 100_000} {
		b.Run(fmt.Sprint("length=", size), func(b *testing.B) {
			ctx, keys, obj := context.Background(), names(2*size), &object{}
			f := New[name, *object]()
			for _, key := range keys[:size] {
				_ = f.Add(key, obj)
			}
			b.ReportAllocs()
			i := size
			for b.Loop() {
				_ = f.Add(keys[i], obj)
				_, _ = f.Pop(ctx)
				if i++; i == len(keys) {
					i = 0
				}
			}
		})
	}
}

// BenchmarkFIFOUpdate is an Add of a key that is in the queue.
func BenchmarkFIFOUpdate(b *testing.B) {
	keys, obj := names(1000), &object{}
	f := New[name, *object]()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		_ = f.Add(keys[i%len(keys)], obj)
	}
}

// BenchmarkHeap is one Add and one Pop at a steady length.
func BenchmarkHeap(b *testing.B) {
	for _, size := range []int{1, 1000, 100_000} {
		b.Run(fmt.Sprint("length=", size), func(b *testing.B) {
			ctx, keys := context.Background(), names(2*size)
			h, _ := NewHeap[name](func(a, b *object) int { return cmp.Compare(a.priority, b.priority) })
			objs := make([]*object, len(keys))
			for i := range objs {
				objs[i] = &object{priority: i * 7919 % len(keys)}
			}
			for i, key := range keys[:size] {
				_ = h.Add(key, objs[i])
			}
			b.ReportAllocs()
			i := size
			for b.Loop() {
				_ = h.Add(keys[i], objs[i])
				_, _, _ = h.Pop(ctx)
				if i++; i == len(keys) {
					i = 0
				}
			}
		})
	}
}
