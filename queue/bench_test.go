package queue

import (
	"context"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

func benchKeys(n int) []types.NamespacedName {
	keys := make([]types.NamespacedName, n)
	for i := range keys {
		keys[i] = types.NamespacedName{Namespace: fmt.Sprintf("namespace-%d", i%100), Name: fmt.Sprintf("deployment-7d9c6b8f5-%05d", i)}
	}
	return keys
}

// BenchmarkCycle is Add, Get and Done of one key in an empty queue.
func BenchmarkCycle(b *testing.B) {
	keys := benchKeys(1024)
	q := New(Options[types.NamespacedName]{})
	ctx := context.Background()
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		q.Add(keys[i&1023])
		i++
		it, _ := q.Get(ctx)
		it.Done()
	}
}

// BenchmarkDuplicate adds a key that is queued already.
func BenchmarkDuplicate(b *testing.B) {
	keys := benchKeys(1024)
	q := New(Options[types.NamespacedName]{})
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		q.Add(keys[i&1023])
		i++
	}
}

// BenchmarkBurst adds 100,000 keys and then handles them.
func BenchmarkBurst(b *testing.B) {
	keys := benchKeys(100_000)
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		q := New(Options[types.NamespacedName]{})
		for _, k := range keys {
			q.Add(k)
		}
		for range keys {
			it, _ := q.Get(ctx)
			it.Done()
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(keys)), "ns/key")
}

// BenchmarkPriorities is the cycle with three priorities in use and some keys queued in each.
func BenchmarkPriorities(b *testing.B) {
	keys := benchKeys(1024)
	q := New(Options[types.NamespacedName]{})
	ctx := context.Background()
	priorities := [4]int{-100, 0, 10, 0}
	for i, k := range keys[:64] {
		q.AddWith(k, AddOptions{Priority: priorities[i&3]})
	}
	b.ReportAllocs()
	i := 64
	for b.Loop() {
		q.AddWith(keys[i&1023], AddOptions{Priority: priorities[i&3]})
		i++
		it, _ := q.Get(ctx)
		it.Done()
	}
}
