// Package group starts, awaits and ends informers together, as the factories of client-go do.
package group

import (
	"context"
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
)

// Group is a group of informers, one for each key. The zero Group is empty.
type Group[K comparable] struct {
	running sync.WaitGroup

	mu        sync.Mutex
	informers map[K]cache.SharedIndexInformer
	started   map[K]cache.SharedIndexInformer
	ended     bool
}

// Informer returns the informer of key. The first call makes it.
func (g *Group[K]) Informer(key K, create func() cache.SharedIndexInformer) cache.SharedIndexInformer {
	g.mu.Lock()
	defer g.mu.Unlock()
	inf, ok := g.informers[key]
	if !ok {
		if g.informers == nil {
			g.informers, g.started = map[K]cache.SharedIndexInformer{}, map[K]cache.SharedIndexInformer{}
		}
		inf = create()
		g.informers[key] = inf
	}
	return inf
}

// Start is StartWithContext for callers with a channel.
func (g *Group[K]) Start(stop <-chan struct{}) { g.StartWithContext(wait.ContextForChannel(stop)) }

// StartWithContext runs the informers that do not run yet, until ctx is done. After Shutdown it
// does nothing.
func (g *Group[K]) StartWithContext(ctx context.Context) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ended {
		return
	}
	for key, inf := range g.informers {
		if _, runs := g.started[key]; !runs {
			g.started[key] = inf
			g.running.Go(func() { inf.RunWithContext(ctx) })
		}
	}
}

// WaitForCacheSync waits until all informers that were started have their first list, or until stop
// is closed. It returns which of them have it.
func (g *Group[K]) WaitForCacheSync(stop <-chan struct{}) map[K]bool {
	g.mu.Lock()
	started := maps.Clone(g.started)
	g.mu.Unlock()
	synced := map[K]bool{}
	for key, inf := range started {
		synced[key] = cache.WaitFor(wait.ContextForChannel(stop), "", inf.HasSyncedChecker())
	}
	return synced
}

// Shutdown waits for the end of all informers that were started. Their contexts end them.
func (g *Group[K]) Shutdown() {
	g.mu.Lock()
	g.ended = true
	g.mu.Unlock()
	g.running.Wait()
}
