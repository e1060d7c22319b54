// Package group starts, awaits and ends informers together, as the factories of client-go do.
package group

import (
	"context"
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/sharding"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"

	"github.com/kinform/kinform/with/clientgo/internal/stock"
)

// Synced is the cache.GVRSyncResult of client-go 0.38 and later. Err is the cause of the context that
// ended before all informers had their first list.
type Synced struct {
	Err    error
	Synced map[schema.GroupVersionResource]bool
}

// Older has the method that a factory of client-go has from 0.38 on. A struct that embeds both has the
// method of the factory, if there is one, because Older's lies deeper. So a program is compiled with
// either client-go, and the result has the type that its client-go wants.
type Older struct{ older }

type older struct{}

// WaitForCacheSyncWithContext returns nothing.
func (older) WaitForCacheSyncWithContext(context.Context) Synced { return Synced{} }

// Result is Synced or cache.GVRSyncResult.
type Result interface {
	~struct {
		Err    error
		Synced map[schema.GroupVersionResource]bool
	}
}

// Group is a group of informers, one for each resource. The zero Group is empty.
type Group[R Result] struct {
	running sync.WaitGroup

	mu        sync.Mutex
	informers map[schema.GroupVersionResource]cache.SharedIndexInformer
	started   map[schema.GroupVersionResource]cache.SharedIndexInformer
	ended     bool
}

// Informer returns the informer of resource. The first call makes it, of the objects that shard selects.
func (g *Group[R]) Informer(resource schema.GroupVersionResource, shard sharding.Selector, create func() cache.SharedIndexInformer) cache.SharedIndexInformer {
	g.mu.Lock()
	defer g.mu.Unlock()
	inf, ok := g.informers[resource]
	if !ok {
		if g.informers == nil {
			g.informers, g.started = map[schema.GroupVersionResource]cache.SharedIndexInformer{}, map[schema.GroupVersionResource]cache.SharedIndexInformer{}
		}
		inf = create()
		SetShard(inf, shard)
		g.informers[resource] = inf
	}
	return inf
}

// Start is StartWithContext for callers with a channel.
func (g *Group[R]) Start(stop <-chan struct{}) { g.StartWithContext(wait.ContextForChannel(stop)) }

// StartWithContext runs the informers that do not run yet, until ctx is done. After Shutdown it
// does nothing.
func (g *Group[R]) StartWithContext(ctx context.Context) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ended {
		return
	}
	for resource, inf := range g.informers {
		if _, runs := g.started[resource]; !runs {
			g.started[resource] = inf
			g.running.Go(func() { inf.RunWithContext(ctx) })
		}
	}
}

// WaitForCacheSync is WaitForCacheSyncWithContext for callers with a channel.
func (g *Group[R]) WaitForCacheSync(stop <-chan struct{}) map[schema.GroupVersionResource]bool {
	return g.wait(wait.ContextForChannel(stop)).Synced
}

// WaitForCacheSyncWithContext waits until all informers that were started have their first list, or
// until ctx is done. It returns which of them have it.
func (g *Group[R]) WaitForCacheSyncWithContext(ctx context.Context) R { return R(g.wait(ctx)) }

func (g *Group[R]) wait(ctx context.Context) Synced {
	g.mu.Lock()
	started := maps.Clone(g.started)
	g.mu.Unlock()
	all := Synced{Synced: map[schema.GroupVersionResource]bool{}}
	for resource, inf := range started {
		synced := cache.WaitFor(ctx, "", inf.HasSyncedChecker())
		all.Synced[resource] = synced
		if !synced {
			all.Err = context.Cause(ctx)
		}
	}
	return all
}

// Shutdown waits for the end of all informers that were started. Their contexts end them.
func (g *Group[R]) Shutdown() {
	g.mu.Lock()
	g.ended = true
	g.mu.Unlock()
	g.running.Wait()
}

// SetShard limits inf to the objects that selector selects; nil means all. The informers of client-go
// have the method from 0.38 on. As in its factories, an error is dropped: it fails each request.
func SetShard(inf cache.SharedIndexInformer, selector sharding.Selector) {
	if s, ok := stock.Untyped(inf).(interface {
		SetShardSelector(sharding.Selector) error
	}); ok && selector != nil {
		_ = s.SetShardSelector(selector)
	}
}
