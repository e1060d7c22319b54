package group

import "k8s.io/client-go/tools/cache"

// Generic is an informers.GenericInformer.
type Generic struct {
	Shared cache.SharedIndexInformer
	List   cache.GenericLister
}

// Informer implements informers.GenericInformer.
func (g Generic) Informer() cache.SharedIndexInformer { return g.Shared }

// Lister implements informers.GenericInformer.
func (g Generic) Lister() cache.GenericLister { return g.List }
