// Package metadatainformer is the factory of k8s.io/client-go/metadata/metadatainformer with
// Kinform's informers. A program changes one import:
//
//	"github.com/kinform/kinform/with/clientgo/metadatainformer" // was "k8s.io/client-go/metadata/metadatainformer"
//
// Package with/clientgo says what differs in the informers.
package metadatainformer

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/metadata/metadatalister"
	"k8s.io/client-go/tools/cache"

	"github.com/kinform/kinform/with/clientgo"
	"github.com/kinform/kinform/with/clientgo/internal/group"
)

// SharedInformerFactory is the interface of client-go.
type SharedInformerFactory = metadatainformer.SharedInformerFactory

// TweakListOptionsFunc changes the options of each list and watch.
type TweakListOptionsFunc = metadatainformer.TweakListOptionsFunc

// SharedInformerOption is an option of [NewSharedInformerFactoryWithOptions]. It is not the type of
// the same name in client-go, whose options cannot be read.
type SharedInformerOption func(*factory)

// WithTransform sets a function that changes each object before it is stored.
func WithTransform(transform cache.TransformFunc) SharedInformerOption {
	return func(f *factory) { f.transform = transform }
}

// NewSharedInformerFactory returns a factory for all namespaces. resync is the period of handlers
// that are added without one; zero means never.
func NewSharedInformerFactory(clients metadata.Interface, resync time.Duration) SharedInformerFactory {
	return NewSharedInformerFactoryWithOptions(clients, resync)
}

// NewFilteredSharedInformerFactory returns a factory for one namespace, or for all if it is "".
// tweak may be nil.
func NewFilteredSharedInformerFactory(clients metadata.Interface, resync time.Duration, namespace string, tweak TweakListOptionsFunc) SharedInformerFactory {
	return &factory{clients: clients, resync: resync, namespace: namespace, tweak: tweak}
}

// NewSharedInformerFactoryWithOptions returns a factory with options. See
// [NewSharedInformerFactory].
func NewSharedInformerFactoryWithOptions(clients metadata.Interface, resync time.Duration, opts ...SharedInformerOption) SharedInformerFactory {
	f := &factory{clients: clients, resync: resync, namespace: metav1.NamespaceAll}
	for _, opt := range opts {
		opt(f)
	}
	return f
}

type factory struct {
	group.Group[schema.GroupVersionResource]
	clients   metadata.Interface
	resync    time.Duration
	namespace string
	tweak     TweakListOptionsFunc
	transform cache.TransformFunc
}

// ForResource implements SharedInformerFactory.
func (f *factory) ForResource(resource schema.GroupVersionResource) informers.GenericInformer {
	return generic(resource, f.Informer(resource, func() cache.SharedIndexInformer {
		indexers := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
		inf := NewFilteredMetadataInformer(f.clients, resource, f.namespace, f.resync, indexers, f.tweak).Informer()
		_ = inf.SetTransform(f.transform) // fails only after the start
		return inf
	}))
}

// NewFilteredMetadataInformer returns one informer, which nobody shares.
func NewFilteredMetadataInformer(clients metadata.Interface, resource schema.GroupVersionResource, namespace string, resync time.Duration, indexers cache.Indexers, tweak TweakListOptionsFunc) informers.GenericInformer {
	stock := metadatainformer.NewFilteredMetadataInformer(clients, resource, namespace, resync, indexers, tweak)
	return generic(resource, clientgo.InsteadOf(stock.Informer()))
}

func generic(resource schema.GroupVersionResource, inf cache.SharedIndexInformer) informers.GenericInformer {
	return group.Generic{Shared: inf, List: metadatalister.NewRuntimeObjectShim(metadatalister.New(inf.GetIndexer(), resource))}
}
