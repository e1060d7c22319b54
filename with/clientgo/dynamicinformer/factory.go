// Package dynamicinformer is the factory of k8s.io/client-go/dynamic/dynamicinformer with
// Kinform's informers. A program changes one import:
//
//	"github.com/kinform/kinform/with/clientgo/dynamicinformer" // was "k8s.io/client-go/dynamic/dynamicinformer"
//
// Package with/clientgo says what differs in the informers.
package dynamicinformer

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/sharding"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/dynamic/dynamiclister"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/kinform/kinform/with/clientgo"
	"github.com/kinform/kinform/with/clientgo/internal/group"
)

// DynamicSharedInformerFactory is the interface of client-go.
type DynamicSharedInformerFactory = dynamicinformer.DynamicSharedInformerFactory

// TweakListOptionsFunc changes the options of each list and watch.
type TweakListOptionsFunc = dynamicinformer.TweakListOptionsFunc

// NewDynamicSharedInformerFactory returns a factory for all namespaces. resync is the period of
// handlers that are added without one; zero means never.
func NewDynamicSharedInformerFactory(clients dynamic.Interface, resync time.Duration) DynamicSharedInformerFactory {
	return NewFilteredDynamicSharedInformerFactory(clients, resync, metav1.NamespaceAll, nil)
}

// NewFilteredDynamicSharedInformerFactory returns a factory for one namespace, or for all if it is
// "". tweak may be nil.
func NewFilteredDynamicSharedInformerFactory(clients dynamic.Interface, resync time.Duration, namespace string, tweak TweakListOptionsFunc) DynamicSharedInformerFactory {
	return newFactory(clients, resync, options{namespace: namespace, tweak: tweak})
}

// DynamicSharedInformerOption is an option of [NewDynamicSharedInformerFactoryWithOptions]. It is not
// the type of the same name in client-go, whose options cannot be read.
type DynamicSharedInformerOption func(*options)

// WithShardSelector limits the informers to the objects that selector selects, as reflector.Shard
// describes; nil means all. Requests with a selector that reflector.Shard refuses fail.
func WithShardSelector(selector sharding.Selector) DynamicSharedInformerOption {
	return func(o *options) { o.shard = selector }
}

// NewDynamicSharedInformerFactoryWithOptions returns a factory for all namespaces with options.
// client-go has it from 0.38 on. See [NewDynamicSharedInformerFactory].
func NewDynamicSharedInformerFactoryWithOptions(clients dynamic.Interface, resync time.Duration, opts ...DynamicSharedInformerOption) DynamicSharedInformerFactory {
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
	shard     sharding.Selector
}

// newFactory finds out which result this client-go wants: see group.Older.
func newFactory(clients dynamic.Interface, resync time.Duration, opts options) DynamicSharedInformerFactory {
	stock := struct {
		DynamicSharedInformerFactory
		group.Older
	}{DynamicSharedInformerFactory: dynamicinformer.NewDynamicSharedInformerFactory(clients, resync)}
	return newFactoryOf(stock.WaitForCacheSyncWithContext(context.Background()), clients, resync, opts)
}

// newFactoryOf returns a factory for the type of result, group.Synced or cache.GVRSyncResult.
func newFactoryOf[R group.Result](_ R, clients dynamic.Interface, resync time.Duration, opts options) *factory[R] {
	return &factory[R]{clients: clients, resync: resync, options: opts}
}

type factory[R group.Result] struct {
	group.Group[R]
	clients dynamic.Interface
	resync  time.Duration
	options
}

// ForResource implements DynamicSharedInformerFactory.
func (f *factory[R]) ForResource(resource schema.GroupVersionResource) informers.GenericInformer {
	return generic(resource, f.Informer(resource, f.shard, func() cache.SharedIndexInformer {
		indexers := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
		return NewFilteredDynamicInformer(f.clients, resource, f.namespace, f.resync, indexers, f.tweak).Informer()
	}))
}

// NewFilteredDynamicInformer returns one informer, which nobody shares.
func NewFilteredDynamicInformer(clients dynamic.Interface, resource schema.GroupVersionResource, namespace string, resync time.Duration, indexers cache.Indexers, tweak TweakListOptionsFunc) informers.GenericInformer {
	stock := dynamicinformer.NewFilteredDynamicInformer(clients, resource, namespace, resync, indexers, tweak)
	return generic(resource, clientgo.InsteadOf(stock.Informer()))
}

func generic(resource schema.GroupVersionResource, inf cache.SharedIndexInformer) informers.GenericInformer {
	return group.Generic{Shared: inf, List: dynamiclister.NewRuntimeObjectShim(dynamiclister.New(inf.GetIndexer(), resource))}
}
