package informers

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/informers/admissionregistration"
	"k8s.io/client-go/informers/apiserverinternal"
	"k8s.io/client-go/informers/apps"
	"k8s.io/client-go/informers/autoscaling"
	"k8s.io/client-go/informers/batch"
	"k8s.io/client-go/informers/certificates"
	"k8s.io/client-go/informers/coordination"
	"k8s.io/client-go/informers/core"
	"k8s.io/client-go/informers/discovery"
	"k8s.io/client-go/informers/events"
	"k8s.io/client-go/informers/extensions"
	"k8s.io/client-go/informers/flowcontrol"
	"k8s.io/client-go/informers/internalinterfaces"
	"k8s.io/client-go/informers/lifecycle"
	"k8s.io/client-go/informers/networking"
	"k8s.io/client-go/informers/node"
	"k8s.io/client-go/informers/policy"
	"k8s.io/client-go/informers/rbac"
	"k8s.io/client-go/informers/resource"
	"k8s.io/client-go/informers/scheduling"
	"k8s.io/client-go/informers/storage"
	"k8s.io/client-go/informers/storagemigration"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/kinform/kinform/with/clientgo"
	"github.com/kinform/kinform/with/clientgo/internal/group"
	"github.com/kinform/kinform/with/clientgo/internal/stock"
)

// SharedInformerFactory is the interface of client-go.
type SharedInformerFactory = informers.SharedInformerFactory

// GenericInformer is the interface of client-go.
type GenericInformer = informers.GenericInformer

// NewSharedInformerFactory returns a factory for all namespaces. resync is the period of handlers
// that are added without one; zero means never.
func NewSharedInformerFactory(clients kubernetes.Interface, resync time.Duration) SharedInformerFactory {
	return NewSharedInformerFactoryWithOptions(clients, resync)
}

// NewFilteredSharedInformerFactory returns a factory for one namespace, or for all if it is "".
//
// Deprecated: as in client-go, use NewSharedInformerFactoryWithOptions.
func NewFilteredSharedInformerFactory(clients kubernetes.Interface, resync time.Duration, namespace string, tweak internalinterfaces.TweakListOptionsFunc) SharedInformerFactory {
	return NewSharedInformerFactoryWithOptions(clients, resync, WithNamespace(namespace), WithTweakListOptions(tweak))
}

// NewSharedInformerFactoryWithOptions returns a factory with options. See
// [NewSharedInformerFactory].
func NewSharedInformerFactoryWithOptions(clients kubernetes.Interface, resync time.Duration, opts ...SharedInformerOption) SharedInformerFactory {
	f := &factory{clients: clients, resync: resync}
	for _, opt := range opts {
		opt(&f.options)
	}
	named := append(f.options.stock[:len(f.options.stock):len(f.options.stock)], informers.WithInformerName(f.options.name))
	f.SharedInformerFactory = informers.NewSharedInformerFactoryWithOptions(clients, resync, named...)
	return f
}

// factory is client-go's factory, which starts, awaits and ends the informers. Only InformerFor
// makes other ones, and the groups ask it for them.
type factory struct {
	informers.SharedInformerFactory
	clients kubernetes.Interface
	resync  time.Duration
	options options
}

// InformerFor implements SharedInformerFactory.
func (f *factory) InformerFor(obj runtime.Object, newFunc internalinterfaces.NewInformerFunc) cache.SharedIndexInformer {
	return f.SharedInformerFactory.InformerFor(obj, func(clients kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
		inf := clientgo.InsteadOf(newFunc(clients, resync))
		group.SetShard(inf, f.options.shard)
		return inf
	})
}

// ForResource implements SharedInformerFactory. Only client-go's factory knows the informers of all
// resources, and it would make its own. So another one makes it, and this factory gives it up for
// one of Kinform.
func (f *factory) ForResource(resource schema.GroupVersionResource) (GenericInformer, error) {
	given, err := informers.NewSharedInformerFactoryWithOptions(f.clients, f.resync, f.options.stock...).ForResource(resource)
	if err != nil {
		return nil, err
	}
	made, err := stock.Of(given.Informer())
	if err != nil {
		if given, err = f.SharedInformerFactory.ForResource(resource); err == nil {
			group.SetShard(given.Informer(), f.options.shard)
		}
		return given, err
	}
	inf := f.InformerFor(made.Example, func(kubernetes.Interface, time.Duration) cache.SharedIndexInformer { return given.Informer() })
	return group.Generic{Shared: inf, List: cache.NewGenericLister(inf.GetIndexer(), resource.GroupResource())}, nil
}

// Admissionregistration implements SharedInformerFactory.
func (f *factory) Admissionregistration() admissionregistration.Interface {
	return admissionregistration.New(f, f.options.namespace, f.options.tweak)
}

// Internal implements SharedInformerFactory.
func (f *factory) Internal() apiserverinternal.Interface {
	return apiserverinternal.New(f, f.options.namespace, f.options.tweak)
}

// Apps implements SharedInformerFactory.
func (f *factory) Apps() apps.Interface {
	return apps.New(f, f.options.namespace, f.options.tweak)
}

// Autoscaling implements SharedInformerFactory.
func (f *factory) Autoscaling() autoscaling.Interface {
	return autoscaling.New(f, f.options.namespace, f.options.tweak)
}

// Batch implements SharedInformerFactory.
func (f *factory) Batch() batch.Interface {
	return batch.New(f, f.options.namespace, f.options.tweak)
}

// Certificates implements SharedInformerFactory.
func (f *factory) Certificates() certificates.Interface {
	return certificates.New(f, f.options.namespace, f.options.tweak)
}

// Coordination implements SharedInformerFactory.
func (f *factory) Coordination() coordination.Interface {
	return coordination.New(f, f.options.namespace, f.options.tweak)
}

// Core implements SharedInformerFactory.
func (f *factory) Core() core.Interface {
	return core.New(f, f.options.namespace, f.options.tweak)
}

// Discovery implements SharedInformerFactory.
func (f *factory) Discovery() discovery.Interface {
	return discovery.New(f, f.options.namespace, f.options.tweak)
}

// Events implements SharedInformerFactory.
func (f *factory) Events() events.Interface {
	return events.New(f, f.options.namespace, f.options.tweak)
}

// Extensions implements SharedInformerFactory.
func (f *factory) Extensions() extensions.Interface {
	return extensions.New(f, f.options.namespace, f.options.tweak)
}

// Flowcontrol implements SharedInformerFactory.
func (f *factory) Flowcontrol() flowcontrol.Interface {
	return flowcontrol.New(f, f.options.namespace, f.options.tweak)
}

// Lifecycle implements SharedInformerFactory.
func (f *factory) Lifecycle() lifecycle.Interface {
	return lifecycle.New(f, f.options.namespace, f.options.tweak)
}

// Networking implements SharedInformerFactory.
func (f *factory) Networking() networking.Interface {
	return networking.New(f, f.options.namespace, f.options.tweak)
}

// Node implements SharedInformerFactory.
func (f *factory) Node() node.Interface {
	return node.New(f, f.options.namespace, f.options.tweak)
}

// Policy implements SharedInformerFactory.
func (f *factory) Policy() policy.Interface {
	return policy.New(f, f.options.namespace, f.options.tweak)
}

// Rbac implements SharedInformerFactory.
func (f *factory) Rbac() rbac.Interface {
	return rbac.New(f, f.options.namespace, f.options.tweak)
}

// Resource implements SharedInformerFactory.
func (f *factory) Resource() resource.Interface {
	return resource.New(f, f.options.namespace, f.options.tweak)
}

// Scheduling implements SharedInformerFactory.
func (f *factory) Scheduling() scheduling.Interface {
	return scheduling.New(f, f.options.namespace, f.options.tweak)
}

// Storage implements SharedInformerFactory.
func (f *factory) Storage() storage.Interface {
	return storage.New(f, f.options.namespace, f.options.tweak)
}

// Storagemigration implements SharedInformerFactory.
func (f *factory) Storagemigration() storagemigration.Interface {
	return storagemigration.New(f, f.options.namespace, f.options.tweak)
}
