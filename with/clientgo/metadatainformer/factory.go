// Package metadatainformer is the factory of k8s.io/client-go/metadata/metadatainformer with
// Kinform's informers. A program changes one import:
//
//	"github.com/kinform/kinform/with/clientgo/metadatainformer" // was "k8s.io/client-go/metadata/metadatainformer"
//
// Package with/clientgo says what differs in the informers.
package metadatainformer

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/sharding"
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
type SharedInformerOption func(*options)

// WithTransform sets a function that changes each object before it is stored.
func WithTransform(transform cache.TransformFunc) SharedInformerOption {
	return func(o *options) { o.transform = transform }
}

// WithShardSelector limits the informers to the objects that selector selects, as reflector.Shard
// describes; nil means all. Requests with a selector that reflector.Shard refuses fail. client-go has
// it from 0.38 on.
func WithShardSelector(selector sharding.Selector) SharedInformerOption {
	return func(o *options) { o.shard = selector }
}

// NewSharedInformerFactory returns a factory for all namespaces. resync is the period of handlers
// that are added without one; zero means never.
func NewSharedInformerFactory(clients metadata.Interface, resync time.Duration) SharedInformerFactory {
	return NewSharedInformerFactoryWithOptions(clients, resync)
}

// NewFilteredSharedInformerFactory returns a factory for one namespace, or for all if it is "".
// tweak may be nil.
func NewFilteredSharedInformerFactory(clients metadata.Interface, resync time.Duration, namespace string, tweak TweakListOptionsFunc) SharedInformerFactory {
	return newFactory(clients, resync, options{namespace: namespace, tweak: tweak})
}

// NewSharedInformerFactoryWithOptions returns a factory with options. See
// [NewSharedInformerFactory].
func NewSharedInformerFactoryWithOptions(clients metadata.Interface, resync time.Duration, opts ...SharedInformerOption) SharedInformerFactory {
	o := options{namespace: metav1.NamespaceAll}
	for _, opt := range opts {
		opt(&o)
	}
	return newFactory(clients, resync, o)
}

// options are the options of a factory.
type options struct {
	namespace string
	tweak     TweakListOptionsFunc
	transform cache.TransformFunc
	shard     sharding.Selector
}

// newFactory finds out which result this client-go wants: see group.Older.
func newFactory(clients metadata.Interface, resync time.Duration, opts options) SharedInformerFactory {
	stock := struct {
		SharedInformerFactory
		group.Older
	}{SharedInformerFactory: metadatainformer.NewSharedInformerFactory(clients, resync)}
	return newFactoryOf(stock.WaitForCacheSyncWithContext(context.Background()), clients, resync, opts)
}

// newFactoryOf returns a factory for the type of result, group.Synced or cache.GVRSyncResult.
func newFactoryOf[R group.Result](_ R, clients metadata.Interface, resync time.Duration, opts options) *factory[R] {
	return &factory[R]{clients: clients, resync: resync, options: opts}
}

type factory[R group.Result] struct {
	group.Group[R]
	clients metadata.Interface
	resync  time.Duration
	options
}

// ForResource implements SharedInformerFactory.
func (f *factory[R]) ForResource(resource schema.GroupVersionResource) informers.GenericInformer {
	return generic(resource, f.Informer(resource, f.shard, func() cache.SharedIndexInformer {
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
