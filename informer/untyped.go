package informer

import (
	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/internal/keytext"
	"github.com/kinform/kinform/internal/objmeta"
	"github.com/kinform/kinform/internal/tracing"
)

// Untyped is an [*Informer] of any type, for programs that look at all informers alike. Two are
// equal if they are the same informer.
type Untyped interface {
	Untyped() Untyped // itself
	Resource() string
	Started() bool
	Done() <-chan struct{}
	Stats() Stats
	Handlers() []HandlerStats
	Bytes() uint64
	IndexStats() []index.Stats
	Lookup(key string) tracing.Found
	Trace(n int)
	Traced(key string) []tracing.Event
}

// Untyped returns i. Handles on informers have this method too.
func (i *Informer[K, T]) Untyped() Untyped { return i }

// IndexStats returns the sizes of the indexes of the store, see index.Indexer.Stats.
func (i *Informer[K, T]) IndexStats() []index.Stats { return i.reader.Indexer().Stats() }

// Lookup returns what the informer knows about the key that has this text in logs and errors. Cost:
// O(1) for strings and types.NamespacedName, otherwise it looks at all keys of the store.
//
//go:noinline
func (i *Informer[K, T]) Lookup(key string) tracing.Found { return i.engine.Lookup(key) }

//go:noinline
func (i *core[K, T]) Lookup(key string) tracing.Found {
	var f tracing.Found
	k, ok := keytext.Find(key, i.store.Keys())
	if !ok {
		return f
	}
	if obj, cached := i.store.Get(k); cached {
		f.Object, f.Version, f.Cached = obj, objmeta.VersionOf(obj), true
	}
	f.PendingWrite, _ = i.PendingWrite(k)
	return f
}
