// Package dynamicinformer is the factory of k8s.io/client-go/dynamic/dynamicinformer with
// Kinform's informers. A program changes one import:
//
//	"github.com/kinform/kinform/with/clientgo/dynamicinformer" // was "k8s.io/client-go/dynamic/dynamicinformer"
//
// Package with/clientgo says what differs in the informers.
package dynamicinformer

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
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
	return &factory{clients: clients, resync: resync, namespace: namespace, tweak: tweak}
}

type factory struct {
	group.Group[schema.GroupVersionResource]
	clients   dynamic.Interface
	resync    time.Duration
	namespace string
	tweak     TweakListOptionsFunc
}

// ForResource implements DynamicSharedInformerFactory.
func (f *factory) ForResource(resource schema.GroupVersionResource) informers.GenericInformer {
	return generic(resource, f.Informer(resource, func() cache.SharedIndexInformer {
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
