package deltafifo

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"strconv"
	"sync"
	"testing"
)

// name is a key as the caches of objects with namespaces have it.
type name struct{ Namespace, Name string }

type object struct{ name name }

func names(n int) []name {
	keys := make([]name, n)
	for i := range keys {
		keys[i] = name{"namespace-" + strconv.Itoa(i%50), "pod-" + strconv.Itoa(i)}
	}
	return keys
}

func drain(b Batch[name, *object]) (n int) {
	for _, deltas := range b.All() {
		n += len(deltas)
	}
	return n
}

// BenchmarkAddPop is one event in and out, with a consumer that comes when there are so
// many. Reported per event.
func BenchmarkAddPop(b *testing.B) {
	for _, size := range []int{1, 16, 256, 1024, 4096} {
		for _, perKey := range []int{1, 2} {
			b.Run(fmt.Sprintf("batch=%d/perKey=%d", size, perKey), func(b *testing.B) {
				ctx, keys, obj := context.Background(), names(size), &object{}
				f := New[name, *object](nil, Options{Limit: 2 * size})
				b.ReportAllocs()
				for n := 0; n < b.N; n += size * perKey {
					for range perKey {
						for _, key := range keys {
							_ = f.Add(ctx, key, obj, "1")
						}
					}
					batch, _ := f.Pop(ctx)
					drain(batch)
				}
			})
		}
	}
}

// BenchmarkSmallAfterLarge is one event in and out of a queue that was once full.
func BenchmarkSmallAfterLarge(b *testing.B) {
	ctx, keys, obj := context.Background(), names(defaultLimit), &object{}
	f := New[name, *object](nil, Options{})
	for range 2 {
		for _, key := range keys {
			_ = f.Add(ctx, key, obj, "1")
		}
		_, _ = f.Pop(ctx)
	}
	b.ReportAllocs()
	for b.Loop() {
		_ = f.Add(ctx, keys[0], obj, "1")
		batch, _ := f.Pop(ctx)
		drain(batch)
	}
}

// BenchmarkHandOver is one event between two goroutines, in batches as they come.
func BenchmarkHandOver(b *testing.B) {
	ctx, keys, obj := context.Background(), names(100_000), &object{}
	f := New[name, *object](nil, Options{})
	b.ReportAllocs()
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			batch, err := f.Pop(ctx)
			if err != nil {
				return
			}
			drain(batch)
		}
	})
	i := 0
	for b.Loop() {
		_ = f.Update(ctx, keys[i], obj, "1")
		if i++; i == len(keys) {
			i = 0
		}
	}
	f.Close()
	wg.Wait()
}

// BenchmarkPingPong is one event between two goroutines, each of which waits for the
// other: the idle informer's way.
func BenchmarkPingPong(b *testing.B) {
	ctx, keys, obj := context.Background(), names(1), &object{}
	f := New[name, *object](nil, Options{Limit: 1})
	back := make(chan struct{})
	go func() {
		defer close(back)
		for {
			batch, err := f.Pop(ctx)
			if err != nil {
				return
			}
			drain(batch)
			back <- struct{}{}
		}
	}()
	b.ReportAllocs()
	for b.Loop() {
		_ = f.Update(ctx, keys[0], obj, "1")
		<-back
	}
	f.Close()
	<-back
}

// BenchmarkProcess is one event in and out, key by key. A fixed share of the keys fails the first
// time. Reported per event.
func BenchmarkProcess(b *testing.B) {
	const size = 256
	for _, failing := range []int{0, 16} {
		b.Run(fmt.Sprintf("failing=%d", failing), func(b *testing.B) {
			ctx, keys, obj := context.Background(), names(size), &object{}
			f := New[name, *object](nil, Options{})
			n := 0
			process := func(name, []Delta[*object]) error {
				if n++; failing > 0 && n%failing == 0 {
					return errFails
				}
				return nil
			}
			b.ReportAllocs()
			for done := 0; done < b.N; done += size {
				for _, key := range keys {
					_ = f.Add(ctx, key, obj, "1")
				}
				_ = f.Process(ctx, process)
			}
		})
	}
}

// BenchmarkResync is a Resync of 100,000 known objects, and its way out.
func BenchmarkResync(b *testing.B) {
	const n = 100_000
	ctx, known := context.Background(), knownObjects{}
	for _, key := range names(n) {
		known[key] = &object{key}
	}
	f := New[name, *object](known, Options{})
	b.ReportAllocs()
	for b.Loop() {
		_ = f.Resync(ctx)
		batch, _ := f.Pop(ctx)
		if drain(batch) != n {
			b.Fatal("deltas are missing")
		}
		_, _ = f.Pop(never) // processed
	}
}

// knownObjects is a store that has what a relist finds.
type knownObjects map[name]*object

func (k knownObjects) Get(key name) (*object, bool) { obj, ok := k[key]; return obj, ok }
func (k knownObjects) Len() int                     { return len(k) }

func (k knownObjects) All() iter.Seq2[name, *object] { return maps.All(k) }

// BenchmarkReplace is a list of 100,000 with as many known, and its way out.
func BenchmarkReplace(b *testing.B) {
	const n = 100_000
	ctx, known := context.Background(), knownObjects{}
	whole, half := &Objects[name, *object]{}, &Objects[name, *object]{}
	for i, key := range names(n) {
		known[key] = &object{key}
		whole.Set(key, known[key], "")
		if i < n/2 {
			half.Set(key, known[key], "")
		}
	}
	for missing, items := range map[string]*Objects[name, *object]{"none": whole, "half": half} {
		b.Run("missing="+missing, func(b *testing.B) {
			f := New[name, *object](known, Options{})
			b.ReportAllocs()
			for b.Loop() {
				_ = f.Replace(ctx, Replacement[name, *object]{Objects: items})
				batch, _ := f.Pop(ctx)
				if drain(batch) != n {
					b.Fatal("deltas are missing")
				}
				_, _ = f.Pop(never) // processed
			}
		})
	}
}
